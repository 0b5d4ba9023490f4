//go:build vmtest

package vpc

import (
	"strings"
	"testing"

	"github.com/fairlead-net/fairlead/cni"
	"github.com/fairlead-net/fairlead/test/host"
)

// refuses tells that ADD refuses by code 104 and STATUS by 50, each with what is
// in the way, and that ADD leaves nothing.
func refuses(t *testing.T, a host.Attachment, status bool, says string) {
	t.Helper()
	before := a.Host.Snapshot()
	if o := a.Call("ADD"); o.OK() || o.Error(t).Code != cni.CodeConflict || !strings.Contains(o.Error(t).Error(), says) {
		t.Errorf("ADD: %s", o.Stdout)
	}
	a.MustDel(t)
	a.Host.SameSoon(t, before, stays)
	if !status {
		return
	}
	if o := a.Status(); o.OK() || o.Error(t).Code != cni.CodeNotAvailable || !strings.Contains(o.Error(t).Error(), says) {
		t.Errorf("STATUS: %s", o.Stdout)
	}
}

// TestCase31RuleThatLetsOut: a rule that stands before that for VRFs is refused
// at ADD, whether it came before the first VPC or after; CHECK and STATUS tell.
// The loss of that for VRFs is told, and mended by the next ADD.
func TestCase31RuleThatLetsOut(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, h *host.Host, c host.Config) {
		rule := []string{"pref", "512", "to", "192.0.2.0/24", "lookup", "main"}
		h.MustRun("ip", append([]string{"rule", "add"}, rule...)...)
		a := attach(t, h, c)
		refuses(t, a, true, "512: to 192.0.2.0/24")
		h.MustRun("ip", append([]string{"rule", "del"}, rule...)...)

		r := a.MustAdd(t)
		healthy(t, a, r)
		told := func(says string) {
			t.Helper()
			if o := a.Check(r); o.OK() || o.Error(t).Code != cni.CodeCheck || !strings.Contains(o.Stdout, says) {
				t.Errorf("CHECK: %s", o.Stdout)
			}
			if o := a.Status(); o.OK() || o.Error(t).Code != cni.CodeNotAvailable || !strings.Contains(o.Stdout, says) {
				t.Errorf("STATUS: %s", o.Stdout)
			}
		}
		h.MustRun("ip", append([]string{"rule", "add"}, rule...)...)
		told("512: to 192.0.2.0/24")
		h.MustRun("ip", append([]string{"rule", "del"}, rule...)...)
		healthy(t, a, r)

		h.MustRun("ip", "rule", "del", "pref", "1000")
		h.MustRun("ip", "-6", "rule", "del", "pref", "1000")
		told("no IPv6 rule")
		told("no IPv4 rule")
		other := attach(t, h, c.With("attachment", "other", "ipam", addresses("10.1.1.77/24")))
		other.MustAdd(t)
		healthy(t, a, r)
		if o := a.Status(); !o.OK() {
			t.Errorf("STATUS: %s", o.Stdout)
		}
		other.MustDel(t)
		a.MustDel(t)
	})
}

// TestCase31NodeAnswersForPod: a pod can't have an address that the node has, too.
func TestCase31NodeAnswersForPod(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, h *host.Host, c host.Config) {
		a := attach(t, h, c)
		r := a.MustAdd(t)
		healthy(t, a, r)
		h.MustRun("ip", "link", "set", "lo", "up")
		h.MustRun("ip", "address", "add", "10.1.0.5/32", "dev", "lo")
		if o := a.Check(r); o.OK() || !strings.Contains(o.Stdout, "10.1.0.5") {
			t.Errorf("CHECK: %s", o.Stdout)
		}
		a.MustDel(t)
		refuses(t, a, false, "10.1.0.5")
	})
}
