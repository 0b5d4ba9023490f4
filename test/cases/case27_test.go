package cases

import "testing"

// TestCase27TwoInterfacesOneNetwork: two interfaces of one container on one
// network collide.
func TestCase27TwoInterfacesOneNetwork(t *testing.T) {
	var list []network
	for _, n := range everything() {
		if n.name != "loopback" { // it has only the one interface
			list = append(list, n)
		}
	}
	each(t, list, func(s *scene) {
		before := s.h.Snapshot()
		one := s.attach()
		two := one
		two.IfName = "eth1"
		// Two default routes do not fit into one table.
		ipam, _ := s.config["ipam"].(map[string]any)
		plainIPAM := map[string]any{}
		for k, v := range ipam {
			if k != "routes" {
				plainIPAM[k] = v
			}
		}
		two = two.WithConfig("ipam", plainIPAM)
		one = one.WithConfig("ipam", plainIPAM)

		alone := s.h.Snapshot()
		r1 := one.MustAdd(s)
		first := s.h.Snapshot()
		r2 := two.MustAdd(s)
		if a, b := r1.Address(0), r2.Address(0); s.name != "static" && a == b {
			s.Errorf("both interfaces have address %s", a)
		}
		s.healthy(one, r1)
		s.healthy(two, r2)
		two.MustDel(s)
		two.MustDel(s)
		s.clean(first)
		s.healthy(one, r1)

		r2 = two.MustAdd(s)
		one.MustDel(s)
		one.MustDel(s)
		s.healthy(two, r2)
		two.MustDel(s)
		s.clean(alone)
		s.h.DeleteNetns(one.Netns)
		s.clean(before)
	})
}
