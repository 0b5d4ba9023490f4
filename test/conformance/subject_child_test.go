package conformance

import (
	"slices"
	"strconv"
	"strings"

	"github.com/fairlead-net/fairlead/test/host"
)

// child is a plugin that puts one link into the container, on a master if it
// has one.
func child(name string, pairs ...any) subject {
	return subject{
		name:   name,
		ifName: "eth0",
		oldest: "0.1.0",
		config: host.Config{
			"cniVersion": "1.1.0", "name": network, "type": name, "ipam": hostLocal("10.99.0.0/24"),
		}.With(pairs...),
		prepare:    masters,
		delegates:  true,
		interfaces: []side{inContainer},
		breakages: append(inside(),
			breakage{16, "MTU differs", nil, func(a host.Attachment, _ host.Result) {
				a.Host.MustRunIn(a.Netns, "ip", "link", "set", a.IfName, "mtu", "1300")
			}},
			breakage{17, "lease gone", nil, loseLease},
		),
	}
}

// masters makes two networks that a child link can be on. Their names are
// those of a node's interfaces, not of veths, which must be gone after DEL.
func masters(h *host.Host) {
	for _, name := range []string{"ens5", "ens6"} {
		h.MustRun("ip", "link", "add", name, "type", "veth", "peer", "name", name+"-far")
		h.MustRun("ip", "link", "set", name, "up")
		h.MustRun("ip", "link", "set", name+"-far", "up")
	}
}

// remade breaks an attachment by putting another link in the place of its own,
// with the same MAC address, addresses and default route.
func remade(name string, link ...string) breakage {
	return breakage{16, name, nil, func(a host.Attachment, r host.Result) {
		mac, _ := r.Interfaces()[0]["mac"].(string)
		address, _ := r.IPs()[0]["address"].(string)
		gateway, _ := r.IPs()[0]["gateway"].(string)
		a.Host.MustRunIn(a.Netns, "ip", "link", "del", a.IfName)
		on := append([]string{"link", "add", "link", link[0], "name", a.IfName, "netns", a.Container, "address", mac, "type"}, link[1:]...)
		if strings.HasPrefix(link[1], "ipvlan") {
			on = slices.Delete(on, 8, 10) // it has its master's
		}
		a.Host.MustRun("ip", on...)
		a.Host.MustRunIn(a.Netns, "ip", "address", "add", address, "dev", a.IfName)
		a.Host.MustRunIn(a.Netns, "ip", "link", "set", a.IfName, "up")
		a.Host.MustRunIn(a.Netns, "ip", "route", "add", "default", "via", gateway)
	}}
}

func macvlan() subject {
	s := child("macvlan", "master", "ens5")
	s.breakages = append(s.breakages,
		remade("another master", "ens6", "macvlan", "mode", "bridge"),
		remade("another mode", "ens5", "macvlan", "mode", "private"),
		breakage{16, "another mode, by hand", nil, func(a host.Attachment, _ host.Result) {
			a.Host.MustRunIn(a.Netns, "ip", "link", "set", a.IfName, "type", "macvlan", "mode", "vepa")
		}},
	)
	return s
}

// ipvlan can't be given a MAC address: it has its master's.
func ipvlan() subject {
	s := child("ipvlan", "master", "ens5")
	s.vm, s.like, s.sharesMAC = true, "macvlan", true
	s.breakages = append(
		slices.DeleteFunc(s.breakages, func(b breakage) bool { return strings.Contains(b.name, "MAC address") }),
		breakage{16, "another mode, by hand", nil, func(a host.Attachment, _ host.Result) {
			a.Host.MustRunIn(a.Netns, "ip", "link", "set", a.IfName, "type", "ipvlan", "mode", "l3s")
		}},
	)
	return s
}

// vlan gives every container a VLAN of its own: a master has each once.
func vlan() subject {
	s := child("vlan", "master", "ens5", "vlanId", 100)
	s.vm, s.like = true, "macvlan"
	s.own = func(container string) []any {
		n, _ := strconv.Atoi(strings.TrimPrefix(container, "c"))
		return []any{"vlanId", 100 + n}
	}
	s.breakages = append(s.breakages,
		remade("another master", "ens6", "vlan", "id", "101"),
		remade("another VLAN", "ens5", "vlan", "id", "4000"),
	)
	return s
}

func dummy() subject {
	s := child("dummy")
	s.vm, s.like = true, "macvlan"
	return s
}
