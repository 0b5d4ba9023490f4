package tool

import (
	"strings"
	"testing"

	"github.com/fairlead-net/fairlead/test/host"
)

const longAgo = "2001-01-01T00:00:00Z"

// abandon adds a container "c1" on br0, which nobody is in, attached so long ago.
func abandon(t *testing.T, when string) (h *host.Host, path, netns string) {
	t.Helper()
	h, path = host.New(t), host.Build(t)
	h.WriteFile("/run/net.conflist", listOf("1.1.0", "", oursAlone))
	netns = h.Netns("c1")
	h.MustRun(binary(t), "add", "/run/net.conflist", netns, "--path", path)
	h.MustRun("sh", "-c", `sed -i -E "s/\"created\":\"[^\"]*\"/\"created\":\"$1\"/" /run/fairlead/attachments/*/*`, "sh", when)
	return h, path, netns
}

// TestCase28AbandonedOutOfSight: from a PID namespace of its own not all can be
// seen, so nobody is known to be abandoned.
func TestCase28AbandonedOutOfSight(t *testing.T) {
	t.Parallel()
	h, path, netns := abandon(t, longAgo)
	for _, args := range [][]string{{"gc"}, {"gc", "/run/net.conflist"}} {
		args = append([]string{"--pid", "--fork", "--mount-proc", binary(t)}, append(args, "--path", path)...)
		if out := h.MustRun("unshare", args...); strings.Contains(out, "nobody is in it") {
			t.Errorf("%v knows what it can't: %s", args, out)
		}
		if said := fails(t, h.Command("unshare", append(args, "--abandoned")...)); !strings.Contains(said, "PID namespace") {
			t.Errorf("%v --abandoned does not say why: %s", args, said)
		}
		if list := h.MustRun(binary(t), "list"); !strings.Contains(list, "c1") {
			t.Fatalf("%v took it: %s", args, list)
		}
	}
	h.MustRunIn(netns, "ip", "link", "show", "eth0")
}
