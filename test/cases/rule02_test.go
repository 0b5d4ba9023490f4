package cases

import (
	"testing"

	"github.com/fairlead-net/fairlead/test/host"
)

// TestRule02ADDTwice: an error, nothing touched, no delegate called.
func TestRule02ADDTwice(t *testing.T) {
	each(t, interfaces(), func(s *scene) {
		a, records := s.recorded()
		r := a.MustAdd(s)
		before, within := s.h.Snapshot(), s.h.SnapshotIn(a.Netns)
		s.fails("the second ADD", a.Call("ADD"))
		s.h.Same(s, before, func(f host.Fact) bool { return f.Sort == "file" && host.Standing(f) })
		s.untouched(a, within)
		if n := len(host.Records(s, records)); n != 1 {
			s.Errorf("the delegate was called %d times, want 1", n)
		}
		s.healthy(a, r)
	})
}

// TestRule02ADDTwiceKeepsTheLease is the same with the allocator's own leases.
func TestRule02ADDTwiceKeepsTheLease(t *testing.T) {
	each(t, interfaces(), func(s *scene) {
		a := s.attach()
		r := a.MustAdd(s)
		before, within := s.h.Snapshot(), s.h.SnapshotIn(a.Netns)
		s.fails("the second ADD", a.Call("ADD"))
		s.h.Same(s, before, func(f host.Fact) bool { return f.Sort == "file" && host.Standing(f) })
		s.untouched(a, within)
		s.healthy(a, r)
	})
}

// TestRule09BridgeStays: with its gateway address, whoever comes and goes.
func TestRule09BridgeStays(t *testing.T) {
	each(t, interfaces()[:6], func(s *scene) {
		a := s.attach()
		a.MustAdd(s)
		standing := func() []host.Fact {
			return s.h.Snapshot().Without(func(f host.Fact) bool { return f.Name != "cni0" || f.Sort == "route" })
		}
		before := standing()
		b := s.attach()
		b.MustAdd(s)
		a.MustDel(s)
		b.MustDel(s)
		if d := host.Diff(before, standing()); len(d) > 0 || len(before) < 2 {
			s.Errorf("the bridge changed: %q", d)
		}
	})
}
