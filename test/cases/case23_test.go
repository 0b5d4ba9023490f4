package cases

import (
	"strings"
	"testing"

	"github.com/fairlead-net/fairlead/test/host"
)

// TestCase23GCRemovesWhatIsStale: GC does nothing.
func TestCase23GCRemovesWhatIsStale(t *testing.T) {
	each(t, everything(), func(s *scene) {
		before := s.h.Snapshot()
		valid, stale, lost := s.attach(), s.attach(), s.attach()
		r := valid.MustAdd(s)
		stale.MustAdd(s)
		lost.MustAdd(s)
		s.h.DeleteNetns(stale.Netns)
		s.h.DeleteNetns(lost.Netns)
		s.h.WriteFile(lost.Netns, "no namespace")
		if o := valid.GC(valid); !o.OK() || o.Stdout != "" {
			s.Errorf("GC: %s%s", o.Stdout, o.Stderr)
		}
		s.healthy(valid, r)
		valid.MustDel(s)
		s.h.DeleteNetns(valid.Netns)
		s.h.RemoveNetns(lost.Netns)
		s.cleanSoon(before)
	})
}

// TestRule15GCKeepsWhatLives: outside the valid set, with a living namespace.
func TestRule15GCKeepsWhatLives(t *testing.T) {
	each(t, everything(), func(s *scene) {
		a := s.attach()
		r := a.MustAdd(s)
		within := s.h.SnapshotIn(a.Netns)
		o := a.GC()
		if o.OK() && s.name != "static" && !strings.Contains(o.Stderr, a.Container) {
			s.Errorf("GC kept %s and does not say so: %q", a.Container, o.Stderr)
		}
		s.untouched(a, within)
		s.healthy(a, r)
	})
}

// TestRule15DelegateKeepsWhatLives: whoever keeps an attachment tells its
// delegate to keep it too, or the delegate gives its address away.
func TestRule15DelegateKeepsWhatLives(t *testing.T) {
	each(t, interfaces(), func(s *scene) {
		a, records := s.recorded()
		a.MustAdd(s)
		_ = a.GC()
		told := host.Records(s, records, "GC")
		if len(told) != 1 {
			s.Errorf("the delegate got %d GCs, want 1", len(told))
		}
		for _, got := range told {
			if valid, _ := got.Stdin["cni.dev/valid-attachments"].([]any); len(valid) != 1 {
				s.Errorf("the delegate of an attachment that was kept is told to keep %v", valid)
			}
		}
		if n := len(host.Records(s, records, "DEL")); n != 0 {
			s.Errorf("the delegate got %d DELs for an attachment that was kept", n)
		}
	})
}

// TestRule15EitherNameOfTheValidSet: some runtimes know the first name alone.
func TestRule15EitherNameOfTheValidSet(t *testing.T) {
	t.Parallel()
	for _, key := range []string{"cni.dev/valid-attachments", "cni.dev/attachments"} {
		h := host.New(t)
		config := host.Config{"cniVersion": "1.1.0", "name": "n", "type": "ptp", "ipam": host.Config{"type": "host-local", "subnet": "10.7.0.0/24"}}
		valid, stale := h.Attach(host.Build(t), config, "eth0"), h.Attach(host.Build(t), config, "eth0")
		for _, a := range []host.Attachment{valid, stale} {
			a.MustAdd(t)
			h.DeleteNetns(a.Netns)
		}
		o := valid.WithConfig(key, []any{host.Config{"containerID": valid.Container, "ifname": "eth0"}}).Bare().Call("GC")
		leases := h.MustRun("sh", "-c", "cat /var/lib/cni/networks/n/10.*")
		if !o.OK() || !strings.Contains(leases, valid.Container) || strings.Contains(leases, stale.Container) {
			t.Errorf("%s: exit %d, %s; the leases are of %s", key, o.Exit, o.Stdout, leases)
		}
	}
}
