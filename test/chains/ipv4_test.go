package chains

import (
	"maps"
	"os"
	"strings"
	"testing"

	"github.com/fairlead-net/fairlead/test/host"
)

// TestCase32IPv4Alone: networks of IPv4 alone want nothing of IPv6, so that they
// work on a kernel without it too (make vmtest-ipv4).
func TestCase32IPv4Alone(t *testing.T) {
	t.Parallel()
	ipam := static("61", false)
	masquerading := func(backend string) host.Config {
		return plugin("bridge", "bridge", "cni0", "isGateway", true, "ipMasq", true, "ipMasqBackend", backend, "ipam", ipam)
	}
	lists := map[string][]host.Config{
		"bridge":          {masquerading("nftables"), tuning("mac", mac), plugin("sbr")},
		"bridge iptables": {masquerading("iptables")},
		"ptp":             {plugin("ptp", "ipMasq", true, "ipam", ipam), tuning("mac", mac), plugin("sbr")},
		"macvlan":         {on("macvlan", "61"), tuning("mac", mac), plugin("sbr")},
		"host-device":     {hostDevice("61"), tuning("mac", mac), plugin("sbr")},
		"tap":             {plugin("tap", "ipam", hostLocal("61")), tuning("mac", mac)},
	}
	if host.InVM() { // which has these kinds of link
		maps.Copy(lists, map[string][]host.Config{
			"bridge vlan": {masquerading("nftables").With("vlan", 100), plugin("sbr")},
			"vlan":        {on("vlan", "61", "vlanId", 100), tuning("mac", mac), plugin("sbr")},
			"ipvlan":      {on("ipvlan", "61"), plugin("sbr")},
			"dummy":       {plugin("dummy", "ipam", ipam), tuning("mac", mac)},
			"vrf":         {on("macvlan", "61"), vrf("table", 1001)},
		})
	}
	for name, list := range lists {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScene(t, "1.1.0", masters)
			before := s.h.Snapshot()
			s.netns = s.h.Netns(container)
			n := network{name: "net-1", ifName: "eth0", plugins: list}
			inside := s.inside()
			s.add(n)
			s.healthy("after ADD", n)
			s.del(n)
			if name != "host-device" { // which comes back down
				s.sameInside(inside)
			}
			s.h.RemoveNetns(s.netns)
			s.h.SameSoon(t, before, host.Standing, host.Bridge("cni0"), func(f host.Fact) bool { return device(f) })
		})
	}
}

// TestCase32IPv6ThatTheKernelLacks: an IPv6 address is an error that says so, and
// leaves nothing.
func TestCase32IPv6ThatTheKernelLacks(t *testing.T) {
	t.Parallel()
	_, err := os.Stat("/proc/sys/net/ipv6")
	has := err == nil
	for name, c := range map[string]host.Config{
		"bridge":  plugin("bridge", "bridge", "cni0", "isGateway", true, "ipMasq", true, "ipam", static("61", true)),
		"ptp":     plugin("ptp", "ipMasq", true, "ipam", static("61", true)),
		"macvlan": on("macvlan", "61", "ipam", static("61", true)),
		"tap":     plugin("tap", "ipam", static("61", true)),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScene(t, "1.1.0", masters)
			before := s.h.Snapshot()
			s.netns = s.h.Netns(container)
			n := network{name: "net-1", ifName: "eth0", plugins: []host.Config{c}}
			within, inside := s.h.Snapshot(), s.inside()
			err := s.tryAdd(n)
			if !has {
				if err == nil || !strings.Contains(err.Error(), "ipv6") {
					t.Errorf("ADD: %v", err)
				}
				s.sameInside(inside)
				s.h.SameSoon(t, within, host.Standing, host.Bridge("cni0"))
			} else if err != nil {
				t.Errorf("ADD: %v", err)
			}
			s.del(n)
			s.h.RemoveNetns(s.netns)
			s.h.SameSoon(t, before, host.Standing, host.Bridge("cni0"))
		})
	}
}
