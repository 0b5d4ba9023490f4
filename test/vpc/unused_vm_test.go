//go:build vmtest

package vpc

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/fairlead-net/fairlead/test/host"
)

// TestRule18UnusedVRFs: the operator's collection takes the VRF of a VPC once
// nothing is in it and no attachment is recorded, and its routes with it.
func TestRule18UnusedVRFs(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, h *host.Host, c host.Config) {
		before := h.Snapshot()
		h.MustRun("ip", "link", "add", "vpc-red", "type", "vrf", "table", "77")
		a := attach(t, h, c)
		r := a.MustAdd(t)
		end := r.Interfaces()[0]["name"].(string)
		collect := func(want string) {
			t.Helper()
			if out := h.MustRun(filepath.Join(host.Build(t), "fairlead"), "gc", "--unused"); strings.TrimSpace(out) != want {
				t.Errorf("gc --unused printed %q, want %q", out, want)
			}
		}
		collect("kept VRF vpc-blue: " + end + " is in it")
		healthy(t, a, r)
		h.MustRun("ip", "link", "set", end, "nomaster")
		collect("kept VRF vpc-blue: an attachment of it is recorded")
		h.RemoveAll("/run/fairlead")
		collect("removed VRF vpc-blue")
		collect("")

		h.MustRun("ip", "link", "del", "vpc-red") // was another's
		a.MustDel(t)
		h.DeleteNetns(a.Netns)
		h.SameSoon(t, before, stays)
	})
}
