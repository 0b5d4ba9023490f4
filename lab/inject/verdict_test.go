package inject

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/fairlead-net/fairlead/test/host"
)

// under runs a command in a host of its own, or anywhere, under the filter, and
// gives what it prints.
func under(t *testing.T, h *host.Host, cmd *exec.Cmd, hook Hook) (out string, s *Session) {
	t.Helper()
	var both bytes.Buffer
	cmd.Stdout, cmd.Stderr = &both, &both
	s, err := Prepare(cmd, All(), hook)
	if err != nil {
		t.Fatal(err)
	}
	if h != nil {
		h.Do(func() { err = cmd.Start() })
	} else {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Attach(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		both.WriteString(err.Error() + "\n")
	}
	for _, p := range s.Alive() {
		t.Errorf("left: %+v", p)
	}
	if err := s.Wait(); err != nil {
		t.Error(err)
	}
	return both.String(), s
}

// once gives a verdict at the first event with this text, which must come.
func once(t *testing.T, text string, v Verdict) Hook {
	t.Helper()
	met := false
	t.Cleanup(func() {
		if !met {
			t.Errorf("there was no %q", text)
		}
	})
	return func(c *Call) Verdict {
		e, err := c.Event()
		if err != nil {
			t.Error(err)
		}
		if met || !strings.Contains(e.Text, text) {
			return Verdict{}
		}
		met = true
		return v
	}
}

func TestShortWrite(t *testing.T) {
	t.Parallel()
	for _, call := range []string{"write", "writev"} {
		file := filepath.Join(t.TempDir(), "file")
		if err := os.WriteFile(file, []byte("ab"), 0o600); err != nil {
			t.Fatal(err)
		}
		out, _ := under(t, nil, target("write", file, call, "cdefgh"), once(t, call+" "+file, Verdict{Short: 3}))
		if got, err := os.ReadFile(file); err != nil || string(got) != "abcde" || out != "3 <nil>\n" {
			t.Errorf("%s: %q, %v; the writer was told %q", call, got, err, out)
		}
	}
}

// TestShortWriteOfNoFile: what can't be is an error, and is made as it was meant.
func TestShortWriteOfNoFile(t *testing.T) {
	t.Parallel()
	cmd := exec.Command("echo", "abc")
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	cmd = exec.Command("echo", "abc")
	var got bytes.Buffer
	cmd.Stdout = &got
	err = Run(cmd, All(), once(t, "write pipe", Verdict{Short: 1}))
	if err == nil || got.String() != string(out) {
		t.Errorf("%v, %q", err, got.String())
	}
}

func TestForgedReply(t *testing.T) {
	t.Parallel()
	const told = "type 2 flags 0x0 seq 77 errno 16 echoed true control 0 msgflags 0x0 from 0\n"
	for _, c := range []struct{ how, want string }{
		{"plain", told}, {"peek", told}, {"recvfrom", told}, {"unbound", told},
		{"capped", strings.Replace(told, "flags 0x0", "flags 0x100", 1)},
		{"credentials", strings.Replace(told, "control 0", "control 32", 1)},
	} {
		t.Run(c.how, func(t *testing.T) {
			t.Parallel()
			out, s := under(t, host.New(t), target("ask", c.how),
				once(t, "route RTM_DELLINK name=nobody", Verdict{Reply: unix.EBUSY}))
			if out != c.want || len(s.Outstanding()) > 0 {
				t.Errorf("%q, want %q; %q", out, c.want, s.Outstanding())
			}
		})
	}
}

// TestForgedReplyIsAsTheKernels: but for the number, there is no difference.
func TestForgedReplyIsAsTheKernels(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"plain", "peek", "recvfrom", "unbound", "capped", "credentials"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			h := host.New(t)
			real, _ := under(t, h, target("ask", how), func(*Call) Verdict { return Verdict{} })
			forged, _ := under(t, h, target("ask", how),
				once(t, "route RTM_DELLINK name=nobody", Verdict{Reply: unix.ENODEV}))
			if real != forged {
				t.Errorf("%q, the kernel says %q", forged, real)
			}
		})
	}
}

// TestForgedReplyToTools: those that peek, and those that send batches and
// receive only what polls.
func TestForgedReplyToTools(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		command, at, want, look string
	}{
		{"ip link del v0", "RTM_DELLINK link=v0", "Device or resource busy", "ip link show v0"},
		{"iptables -w -t nat -N gone", "chain=gone", "Device or resource busy", "! iptables -w -t nat -S gone"},
		{"nft delete table ip old", "NFT_MSG_DELTABLE", "Device or resource busy", "nft list table ip old"},
	} {
		t.Run(c.command, func(t *testing.T) {
			t.Parallel()
			h := host.New(t)
			h.MustRun("ip", "link", "add", "v0", "type", "veth", "peer", "name", "v1")
			h.MustRun("nft", "add", "table", "ip", "old")
			words := strings.Fields(c.command)
			// Of iptables, not the look for the chain.
			hook := once(t, c.at, Verdict{Reply: unix.EBUSY})
			out, s := under(t, h, h.Command(words[0], words[1:]...).Cmd, func(k *Call) Verdict {
				if e, err := k.Event(); err != nil || e.Receive || strings.Contains(e.Text, "_GET") || e.Kind != KindNetlink {
					return Verdict{}
				}
				return hook(k)
			})
			if !strings.Contains(out, c.want) || len(s.Outstanding()) > 0 {
				t.Errorf("%q, want %q; %q", out, c.want, s.Outstanding())
			}
			h.MustRun("sh", "-c", c.look)
		})
	}
}

// TestForgedReplyOfGenericNetlink: and to a request that asks for no
// acknowledgement.
func TestForgedReplyOfGenericNetlink(t *testing.T) {
	t.Parallel()
	out, s := under(t, nil, target("family"), once(t, "generic CTRL_CMD_GETFAMILY", Verdict{Reply: unix.ENOENT}))
	if out != "ask for family 16: no such file or directory\nexit status 1\n" || len(s.Outstanding()) > 0 {
		t.Errorf("%q, %q", out, s.Outstanding())
	}
}

// TestForgedReplyThatNobodyReceives is told.
func TestForgedReplyThatNobodyReceives(t *testing.T) {
	t.Parallel()
	hook := once(t, "route RTM_DELLINK name=nobody", Verdict{Reply: unix.EBUSY})
	_, s := under(t, host.New(t), target("ask", "plain"), func(c *Call) Verdict {
		if e, err := c.Event(); err == nil && e.Receive {
			return Verdict{Errno: unix.ENOBUFS}
		}
		return hook(c)
	})
	if o := s.Outstanding(); len(o) != 1 {
		t.Errorf("%q", o)
	}
}

func TestDump(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		v    Verdict
		want string
	}{
		{"whole", Verdict{}, "links 3 interrupted false\n"},
		{"interrupted", Verdict{Interrupt: true}, "links 3 interrupted true\n"},
		{"truncated", Verdict{Truncate: true}, "links 2 interrupted true\n"}, // 1 of the 2 that come first
		{"overrun", Verdict{Errno: unix.ENOBUFS}, "no buffer space available\nexit status 1\n"},
	} {
		for _, how := range []string{"plain", "peek"} {
			t.Run(c.name+"/"+how, func(t *testing.T) {
				t.Parallel()
				h := host.New(t)
				h.MustRun("ip", "link", "add", "v0", "type", "veth", "peer", "name", "v1")
				out, s := under(t, h, target("dump", how), once(t, "receive route RTM_GETLINK dump", c.v))
				if out != c.want || len(s.Outstanding()) > 0 {
					t.Errorf("%q, want %q; %q", out, c.want, s.Outstanding())
				}
			})
		}
	}
}

// TestTruncateToNothing: of a single entry nothing is left but the end.
func TestTruncateToNothing(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"plain", "peek"} {
		out, _ := under(t, host.New(t), target("dump", how), once(t, "receive route RTM_GETLINK dump", Verdict{Truncate: true}))
		if want := "links 0 interrupted true\n"; out != want {
			t.Errorf("%s: %q, want %q", how, out, want)
		}
	}
}
