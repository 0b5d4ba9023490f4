package cases

import (
	"testing"

	"github.com/fairlead-net/fairlead/test/host"
)

// TestCase21DownIsBroken: CHECK passes on a container whose interface is down,
// whichever suite made it.
func TestCase21DownIsBroken(t *testing.T) {
	ipam := hostLocal("10.55.0.0/24")
	ipam["routes"] = []any{} // they would go with the interface, and be missed
	each(t, []network{
		{"loopback", base("loopback"), "lo"},
		{"bridge", bridge("ipam", ipam), "eth0"},
		{"macvlan", macvlan("ipam", ipam), "eth0"},
	}, func(s *scene) {
		for _, maker := range []string{s.dir, host.Reference(s)} {
			a := s.attach()
			by := a
			by.Path = maker
			r := by.MustAdd(s)
			s.healthy(a, r)
			s.h.MustRunIn(a.Netns, "ip", "link", "set", a.IfName, "down")
			s.fails("CHECK of an interface that is down", a.Check(r))
			by.MustDel(s)
		}
	})
}
