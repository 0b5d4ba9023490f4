package inject

import (
	"os/exec"
	"testing"

	"github.com/fairlead-net/fairlead/test/host"
)

// BenchmarkAttachment is an ADD and a DEL of a bridge, without and with all
// calls trapped and decoded.
func BenchmarkAttachment(b *testing.B) {
	dir := host.Build(b)
	for _, mode := range []string{"plain", "trapped", "decoded"} {
		b.Run(mode, func(b *testing.B) {
			h := host.New(b)
			env := host.Env{"CNI_CONTAINERID": "c1", "CNI_NETNS": h.Netns("c1"), "CNI_IFNAME": "eth0"}
			calls := 0
			for b.Loop() {
				for _, verb := range []string{"ADD", "DEL"} {
					cmd := h.Plugin(dir, "bridge", verb, env, network)
					if mode == "plain" {
						if err := cmd.Run(); err != nil {
							b.Fatal(err)
						}
						continue
					}
					trapped(b, h, cmd.Cmd, func(c *Call) Verdict {
						calls++
						if mode == "decoded" {
							if _, err := c.Event(); err != nil {
								b.Error(err)
							}
						}
						return Verdict{}
					})
				}
			}
			b.ReportMetric(float64(calls)/float64(b.N), "calls/op")
		})
	}
}

func trapped(b *testing.B, h *host.Host, cmd *exec.Cmd, hook Hook) {
	b.Helper()
	s, err := Prepare(cmd, All(), hook)
	if err != nil {
		b.Fatal(err)
	}
	h.Do(func() { err = cmd.Start() })
	if err == nil {
		err = s.Attach()
	}
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		b.Error(err)
	}
	if err := s.Wait(); err != nil {
		b.Error(err)
	}
}
