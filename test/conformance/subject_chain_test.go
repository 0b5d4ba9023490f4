package conformance

import "github.com/fairlead-net/fairlead/test/host"

// after is a plugin that comes after others in a list, the first of which made
// the interface.
func after(first subject, name string, more []host.Config, pairs ...any) subject {
	return subject{
		name:       name,
		ifName:     first.ifName,
		oldest:     "0.1.0",
		config:     host.Config{"cniVersion": "1.1.0", "name": network, "type": name}.With(pairs...),
		chain:      append([]host.Config{first.config}, more...),
		stands:     first.stands,
		interfaces: first.interfaces,
		addressOf:  first.addressOf,
	}
}

func tuning() subject {
	const mac = "02:00:5e:00:53:77"
	s := after(bridge(), "tuning", nil,
		"sysctl", map[string]any{"net.ipv4.conf.IFNAME.arp_filter": "1", "net.ipv4.ip_local_port_range": "20000 30000"},
		"mac", mac, "mtu", 1400, "promisc", true, "allmulti", true, "txQLen", 77)
	s.changes = func(r host.Result) { r.Interfaces()[s.addressOf]["mac"] = mac }
	link := func(name string, set ...string) breakage {
		return breakage{16, name, nil, func(a host.Attachment, _ host.Result) {
			a.Host.MustRunIn(a.Netns, "ip", append([]string{"link", "set", a.IfName}, set...)...)
		}}
	}
	parameter := func(name, value string) breakage {
		return breakage{17, name + " differs", nil, func(a host.Attachment, _ host.Result) {
			a.Host.MustRunIn(a.Netns, "sysctl", "-q", "-w", name+"="+value)
		}}
	}
	s.breakages = append(inside(),
		link("MTU differs", "mtu", "1300"),
		link("promiscuous mode off", "promisc", "off"),
		link("all-multicast mode off", "allmulticast", "off"),
		link("queue length differs", "txqueuelen", "78"),
		parameter("net.ipv4.conf.eth0.arp_filter", "0"),
		parameter("net.ipv4.ip_local_port_range", "20000 30001"),
		breakage{17, "file with the old values gone", nil, func(a host.Attachment, _ host.Result) {
			a.Host.RemoveAll("/run/cni/tuning")
		}},
	)
	return s
}

// sbr comes after a plugin that made the interface and one that changed it.
func sbr() subject {
	s := after(ptp(), "sbr", []host.Config{{"type": "tuning", "mtu": 1400}})
	for _, b := range inside() {
		if b.name != "default route gone" { // it is elsewhere
			s.breakages = append(s.breakages, b)
		}
	}
	route := func(name string, pairs []any, route ...string) breakage {
		return breakage{16, name, pairs, func(a host.Attachment, _ host.Result) {
			a.Host.MustRunIn(a.Netns, "ip", append([]string{"route", "del"}, route...)...)
		}}
	}
	rule := func(name string, pairs ...any) breakage {
		return breakage{17, name, pairs, func(a host.Attachment, r host.Result) {
			a.Host.MustRunIn(a.Netns, "ip", "rule", "del", "from", r.Address(0))
		}}
	}
	s.breakages = append(s.breakages,
		rule("rule gone"),
		rule("rule to a given table gone", "table", 300),
		route("default route gone", nil, "default", "table", "100"),
		route("route to the network gone", nil, "10.99.0.0/24", "table", "100"),
		route("route to the gateway gone", nil, "10.99.0.1", "table", "100"),
		route("source hint gone", []any{"addSourceHints", true}, "10.99.0.0/24"),
	)
	return s
}

// vrf comes after a plugin whose routes it moves.
func vrf() subject {
	first := macvlan()
	s := after(first, "vrf", nil, "vrfname", "red", "table", 1001)
	s.vm, s.prepare = true, first.prepare
	for _, b := range inside() {
		if b.name != "default route gone" { // it is elsewhere
			s.breakages = append(s.breakages, b)
		}
	}
	by := func(number int, name string, command ...string) breakage {
		return breakage{number, name, nil, func(a host.Attachment, _ host.Result) {
			a.Host.MustRunIn(a.Netns, "ip", command...)
		}}
	}
	s.breakages = append(s.breakages,
		by(16, "default route gone", "route", "del", "default", "table", "1001"),
		by(17, "interface out of the VRF", "link", "set", s.ifName, "nomaster"),
		by(17, "VRF gone", "link", "del", "red"),
		by(17, "VRF down", "link", "set", "red", "down"),
		breakage{17, "another table", nil, func(a host.Attachment, _ host.Result) {
			a.Host.MustRunIn(a.Netns, "ip", "link", "del", "red")
			a.Host.MustRunIn(a.Netns, "ip", "link", "add", "red", "up", "type", "vrf", "table", "1002")
			a.Host.MustRunIn(a.Netns, "ip", "link", "set", a.IfName, "master", "red")
		}},
	)
	return s
}
