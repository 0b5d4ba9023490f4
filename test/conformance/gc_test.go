package conformance

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/containernetworking/cni/libcni"
	"github.com/containernetworking/cni/pkg/types"
	"golang.org/x/sys/unix"

	"github.com/fairlead-net/fairlead/test/host"
)

// stale adds an attachment and takes its namespace away, as a runtime does
// that forgets to call DEL, and waits until the kernel has destroyed it.
func (tr *trial) stale(a host.Attachment) {
	tr.Helper()
	before := tr.before()
	r := a.MustAdd(tr)
	a.Host.DeleteNetns(a.Netns)
	tr.h.Until(tr, "the dead namespace to be destroyed", func(p host.Picture) bool {
		return tr.mastersAre(before, p) && !slices.ContainsFunc(p.Of("link"), func(f host.Fact) bool {
			return !tr.stand(f) && slices.ContainsFunc(r.Interfaces(), func(i map[string]any) bool {
				return i["name"] == f.Name && f.Name != "lo" && strings.Contains(f.Detail, "kind=veth")
			})
		})
	})
}

// mastersAre tells whether the masters of child links are as before: the kernel
// listens on them for the links that there are.
func (tr *trial) mastersAre(before, now host.Picture) bool {
	return tr.prepare == nil || !slices.ContainsFunc(before.Of("link"), func(f host.Fact) bool { return !tr.stand(f) && !slices.Contains(now, f) })
}

func spec08(tr *trial) {
	live := tr.attach()
	live.MustAdd(tr)
	before := tr.before()
	tr.stale(tr.attach())
	tr.stale(tr.attach())
	silent(tr, "GC", live.GC(live))
	tr.clean(before)

	tr.Run("through libcni", func(t *testing.T) {
		tr := tr.again(t)
		before := tr.before()
		a := tr.attach()
		c, list, ctx := tr.h.Libcni(tr.dir), a.List(t), context.Background()
		if _, err := c.AddNetworkList(ctx, list, a.Runtime()); err != nil {
			t.Fatalf("ADD: %v", err)
		}
		tr.h.DeleteNetns(a.Netns)
		// A libcni that knows nothing of it, as after its cache was lost.
		err := tr.h.Libcni(tr.dir).GCNetworkList(ctx, list, &libcni.GCArgs{ValidAttachments: []types.GCAttachment{}})
		if err != nil {
			t.Errorf("GC: %v", err)
		}
		tr.cleanSoon(before)
	})
}

func spec09(tr *trial) {
	if tr.leases {
		spec09Lease(tr)
		return
	}
	before := tr.before()
	a, records := tr.recorded(refuses("GC", "DEL")...)
	tr.stale(a)
	b := tr.beside(a)
	b.Config = b.Config.With("recorder", b.Config["recorder"].(host.Config).With("result", map[string]any{
		"ips": []any{map[string]any{"version": "4", "address": "10.99.0.6/24", "gateway": "10.99.0.1"}},
	}))
	tr.stale(b)
	message := mustFail(tr, "GC whose delegate fails", a.GC())
	contains(tr, message, "the recorder refuses")
	if len(host.Records(tr, records, "GC")) == 0 {
		tr.Error("the delegate got no GC")
	}
	// What the plugin made by itself is gone; its entries, which record that
	// the delegate has not let go, may stay.
	tr.h.Same(tr, before, append(tr.mayStay(), func(f host.Fact) bool { return f.Sort == "file" })...)
}

// spec09Lease holds one stale lease fast: a file that is a mount point can't
// be removed.
func spec09Lease(tr *trial) {
	before := tr.before()
	a, b, c := tr.attach(), tr.attach(), tr.attach()
	a.MustAdd(tr)
	held := "/var/lib/cni/networks/" + network + "/" + b.MustAdd(tr).Address(0)
	c.MustAdd(tr)
	for _, x := range []host.Attachment{a, b, c} {
		tr.h.DeleteNetns(x.Netns)
	}
	tr.h.Do(func() { mustMount(tr, held) })
	contains(tr, mustFail(tr, "GC that can't remove a lease", a.GC()), "10.99.0.")
	tr.h.Do(func() { unmount(tr, held) })
	if leases := tr.h.Snapshot().Without(func(f host.Fact) bool {
		return f.Sort != "file" || f.Name == held || strings.Contains(f.Detail, filepath.Base(held)) || tr.stand(f)
	}).Without(journal); len(leases) != 0 {
		tr.Errorf("other leases are left: %v", leases)
	}
	silent(tr, "the next GC", a.GC())
	tr.clean(before)
}

func (tr *trial) stand(f host.Fact) bool {
	for _, may := range tr.mayStay() {
		if may(f) {
			return true
		}
	}
	return false
}

func journal(f host.Fact) bool {
	return f.Sort == "file" && strings.HasPrefix(f.Name, "/run/fairlead/")
}

func mustMount(t testing.TB, path string) {
	if err := unix.Mount(path, path, "", unix.MS_BIND, ""); err != nil {
		t.Errorf("holding %s: %v", path, err)
	}
}

func unmount(t testing.TB, path string) {
	if err := unix.Unmount(path, 0); err != nil {
		t.Errorf("letting go of %s: %v", path, err)
	}
}

func spec10(tr *trial) {
	a, records := tr.recorded()
	a.MustAdd(tr)
	silent(tr, "GC", a.GC(a))
	got := host.Records(tr, records, "GC")
	if len(got) != 1 {
		tr.Fatalf("the delegate got %d GCs, want 1", len(got))
	}
	if v, _ := got[0].Stdin["cni.dev/valid-attachments"].([]any); len(v) != 1 {
		tr.Errorf("the delegate got valid attachments %v", got[0].Stdin["cni.dev/valid-attachments"])
	}
	if n := len(host.Records(tr, records, "DEL")); n != 0 {
		tr.Errorf("the delegate got %d DELs for an attachment that is valid", n)
	}
}

func spec11(tr *trial) {
	live, gone := tr.attach(), tr.attach()
	r := live.MustAdd(tr)
	tr.stale(gone)
	kept := tr.before()
	silent(tr, "GC with both valid", live.GC(live, gone))
	tr.clean(kept)
	silent(tr, "CHECK of the live one", live.Check(r))
	silent(tr, "GC with one valid", live.GC(live))
	silent(tr, "CHECK of the live one", live.Check(r))
	live.MustDel(tr)
	gone.MustDel(tr)

	// The key absent is an empty list.
	empty := tr.before()
	tr.stale(tr.attach())
	silent(tr, "GC without the key", live.Bare().Call("GC"))
	tr.clean(empty)
}

func spec12(tr *trial) {
	before := tr.before()
	a, b := tr.attach(), tr.attach()
	tr.stale(a)
	tr.stale(b)
	tr.h.WriteFile(b.Netns, "no namespace")
	silent(tr, "GC", a.GC())
	tr.h.RemoveNetns(b.Netns)
	tr.clean(before)
	// Nothing is left to do for the DEL that comes after all.
	a.MustDel(tr)
	b.MustDel(tr)
	tr.clean(before)
}
