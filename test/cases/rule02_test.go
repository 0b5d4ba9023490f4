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

// TestRule02LoopbackADDTwice: lo is nobody's alone. Runtimes ask for it again when
// they were started again, and get the first answer; nothing is touched.
func TestRule02LoopbackADDTwice(t *testing.T) {
	t.Parallel()
	s := newScene(t, network{name: "loopback", config: base("loopback"), ifName: "lo"})
	a := s.attach()
	first := a.Call("ADD")
	if !first.OK() {
		t.Fatal(first.Stdout)
	}
	before, within := s.h.Snapshot(), s.h.SnapshotIn(a.Netns)
	second := a.Call("ADD")
	if !second.OK() || second.Stdout != first.Stdout {
		t.Errorf("the second ADD: exit %d, %s\nthe first: %s", second.Exit, second.Stdout, first.Stdout)
	}
	s.h.Same(t, before, func(f host.Fact) bool { return f.Sort == "file" && host.Standing(f) })
	s.untouched(a, within)
	a.MustDel(t)
	s.h.MustRunIn(a.Netns, "sh", "-c", "! ip link show lo up | grep .")

	// What was put down since is not as the first answer has it.
	a.MustAdd(t)
	s.h.MustRunIn(a.Netns, "ip", "link", "set", "lo", "down")
	within = s.h.SnapshotIn(a.Netns)
	s.fails("a second ADD with lo down", a.Call("ADD"), 101)
	s.untouched(a, within)
}
