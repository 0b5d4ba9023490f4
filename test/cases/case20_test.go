package cases

import (
	"fmt"
	"testing"

	"github.com/fairlead-net/fairlead/test/host"
)

// allocating are the networks that take addresses from a range of three.
func allocating() []network {
	three := map[string]any{"type": "host-local", "ranges": []any{[]any{map[string]any{
		"subnet": "10.55.0.0/24", "rangeStart": "10.55.0.10", "rangeEnd": "10.55.0.12"}}}}
	return []network{
		{"bridge", bridge("ipMasq", true, "ipam", three), "eth0"},
		{"ptp", ptp("ipMasq", true, "ipam", three), "eth0"},
		{"host-local", base("host-local", "ipam", three), "eth0"},
	}
}

// TestCase20LeasesOfAnEarlierBoot: after a reboot, leases of the previous boot
// use up the range.
func TestCase20LeasesOfAnEarlierBoot(t *testing.T) {
	each(t, allocating(), func(s *scene) {
		for boot := range 3 {
			var all []host.Attachment
			for range 3 {
				a := s.attach()
				if o := a.Call("ADD"); !o.OK() {
					s.Fatalf("boot %d: ADD of %s: %s%s", boot, a.Container, o.Stdout, o.Stderr)
				}
				all = append(all, a)
			}
			s.fails(fmt.Sprintf("boot %d: ADD to a range that is used up", boot), s.attach().Call("ADD"))
			s.fails(fmt.Sprintf("boot %d: STATUS of a range that is used up", boot), all[0].Status(), 50, 51)
			for _, a := range all {
				s.h.DeleteNetns(a.Netns)
			}
			s.h.Reboot()
			if o := all[0].Status(); !o.OK() {
				s.Errorf("STATUS after the reboot: %s%s", o.Stdout, o.Stderr)
			}
		}
	})
}

// TestCase20LateDELAfterAReboot: the runtime cleans up its containers of
// before the reboot when new ones have their addresses already.
func TestCase20LateDELAfterAReboot(t *testing.T) {
	each(t, allocating(), func(s *scene) {
		old := s.attach()
		old.MustAdd(s)
		s.h.DeleteNetns(old.Netns)
		s.h.Reboot()
		before := s.h.Snapshot()
		var all []host.Attachment
		var results []host.Result
		for range 3 {
			a := s.attach()
			all = append(all, a)
			results = append(results, a.MustAdd(s))
		}
		old.MustDel(s)
		for i, a := range all {
			s.healthy(a, results[i])
			a.MustDel(s)
			s.h.DeleteNetns(a.Netns)
		}
		s.h.Same(s, before, host.Standing, host.Bridge("cni0"), func(f host.Fact) bool { return f.Sort == "file" })
		for _, address := range []string{"10.55.0.10", "10.55.0.11", "10.55.0.12"} {
			if content, ok := s.h.ReadFile(lease(address)); ok {
				s.Errorf("lease of %s is left: %q", address, content)
			}
		}
	})
}

// TestRule16ForeignLeasesAreAdopted: leases that another suite wrote in this
// boot count, until the next one.
func TestRule16ForeignLeasesAreAdopted(t *testing.T) {
	each(t, allocating(), func(s *scene) {
		for n := 10; n <= 11; n++ {
			s.h.WriteFile(lease(fmt.Sprintf("10.55.0.%d", n)), fmt.Sprintf("other%d\r\neth0", n))
		}
		a := s.attach()
		if got := a.MustAdd(s).Address(0); got != "10.55.0.12" {
			s.Errorf("got %s, which is another's", got)
		}
		s.fails("ADD to a range that is used up", s.attach().Call("ADD"))
		s.h.DeleteNetns(a.Netns)
		s.h.Reboot()
		for range 3 {
			s.attach().MustAdd(s)
		}
	})
}

// TestRule16EmptyLeaseIsGarbage: an allocator that died while it wrote.
func TestRule16EmptyLeaseIsGarbage(t *testing.T) {
	each(t, allocating(), func(s *scene) {
		for n := 10; n <= 12; n++ {
			s.h.WriteFile(lease(fmt.Sprintf("10.55.0.%d", n)), "")
		}
		for range 3 {
			s.attach().MustAdd(s)
		}
	})
}
