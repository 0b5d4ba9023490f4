package chains

import (
	"fmt"
	"maps"
	"slices"

	"github.com/fairlead-net/fairlead/test/host"
)

// A combination is networks of one container.
type combination struct {
	name     string
	vm       bool // needs the virtual machine's kernel
	networks []network
	prepare  func(*host.Host)
	// stands is true for what stays on the host.
	stands func(host.Fact) bool
	// mortal is true for what dies with the namespace, and is no hardware.
	mortal func(host.Fact) bool
	// routes are what ip says when it is asked for a way.
	routes map[string]string
	// reach is an address of the container that the host reaches.
	reach string
}

func plugin(name string, pairs ...any) host.Config {
	return host.Config{"type": name}.With(pairs...)
}

// static is one address of 10.n.0.0/24 with a default route, and an IPv6 one
// likewise if asked for.
func static(n string, six bool) map[string]any {
	addresses := []any{map[string]any{"address": "10." + n + ".0.5/24", "gateway": "10." + n + ".0.1"}}
	routes := []any{map[string]any{"dst": "0.0.0.0/0"}}
	if six {
		addresses = append(addresses, map[string]any{"address": "fd00:" + n + "::5/64", "gateway": "fd00:" + n + "::1"})
		routes = append(routes, map[string]any{"dst": "::/0"})
	}
	return map[string]any{"type": "static", "addresses": addresses, "routes": routes}
}

func hostLocal(n string) map[string]any {
	return map[string]any{
		"type": "host-local", "ranges": []any{[]any{map[string]any{"subnet": "10." + n + ".0.0/24", "rangeStart": "10." + n + ".0.5", "rangeEnd": "10." + n + ".0.5"}}},
		"routes": []any{map[string]any{"dst": "0.0.0.0/0"}},
	}
}

func bridge(n string) host.Config {
	return plugin("bridge", "bridge", "cni0", "isGateway", true, "ipMasq", true, "ipam", static(n, true))
}

func ptp(n string) host.Config { return plugin("ptp", "ipMasq", true, "ipam", static(n, true)) }

// on is a plugin whose link is on a master.
func on(name, n string, pairs ...any) host.Config {
	return plugin(name, "master", "ens5", "ipam", hostLocal(n)).With(pairs...)
}

func hostDevice(n string) host.Config {
	return plugin("host-device", "device", "ens7", "ipam", hostLocal(n))
}

func tuning(pairs ...any) host.Config {
	return plugin("tuning", "mtu", 1400, "promisc", true, "allmulti", true, "txQLen", 77,
		"sysctl", map[string]any{"net.ipv4.conf.IFNAME.arp_filter": "1", "net.core.somaxconn": "77"}).With(pairs...)
}

func vrf(pairs ...any) host.Config { return plugin("vrf", "vrfname", "red").With(pairs...) }

// masters are two of the host's links, and a device that can be moved.
func masters(h *host.Host) {
	for _, name := range []string{"ens5", "ens6", "ens7"} {
		h.MustRun("ip", "link", "add", name, "type", "veth", "peer", "name", name+"-far")
		h.MustRun("ip", "link", "set", name+"-far", "up")
		if name != "ens7" { // one that comes back is down, where nobody knows how it was
			h.MustRun("ip", "link", "set", name, "up")
		}
	}
}

// failing is the network with a last plugin that fails when it has begun.
func failing(n network) network {
	n.plugins = slices.Clone(n.plugins)
	last := &n.plugins[len(n.plugins)-1]
	switch last.Type() {
	case "tuning":
		*last = last.With("sysctl", map[string]any{parameter: "66", "net.ipv4.no_such": "1"})
	case "sbr":
		// There is no way to this gateway, and no other default route.
		ipam := maps.Clone(n.plugins[0]["ipam"].(map[string]any))
		delete(ipam, "routes")
		n.plugins[0] = n.plugins[0].With("ipam", ipam)
		*last = last.With("gateways", []any{"192.0.2.1"})
	case "vrf":
		*last = last.With("vrfname", "lo")
	}
	return n
}

// refused is the network with one more plugin, whose ADD fails.
func refused(n network) network {
	n.plugins = append(slices.Clone(n.plugins), plugin("recorder", "recorder", host.Config{"errors": map[string]any{
		"ADD": map[string]any{"code": 113, "msg": "the recorder refuses ADD"},
	}}))
	return n
}

func device(f host.Fact) bool { return f.Name == "ens7" || f.Name == "ens7-far" }

const mac = "02:00:00:00:00:77"

// combinations are those that are common in practice.
func combinations() []combination {
	one := func(vm bool, plugins ...host.Config) combination {
		c := combination{vm: vm, prepare: masters, networks: []network{{name: "net-1", ifName: "eth0", plugins: plugins}}}
		for i, p := range plugins {
			if i > 0 {
				c.name += "+"
			}
			c.name += p.Type()
		}
		return c
	}
	routed := func(c combination, pairs ...string) combination {
		c.routes = map[string]string{}
		for i := 0; i < len(pairs); i += 2 {
			c.routes[pairs[i]] = pairs[i+1]
		}
		return c
	}
	stands := func(c combination) combination { c.stands = host.Bridge("cni0"); return c }
	mortal := func(c combination) combination { c.mortal = device; return c }
	reach := func(c combination, address string) combination { c.reach = address; return c }
	several := func(c combination, name string, more ...network) combination {
		c.name = name
		c.networks = append(c.networks, more...)
		return c
	}
	second := func(n int, plugins ...host.Config) network {
		return network{name: fmt.Sprintf("net-%d", n), ifName: fmt.Sprintf("net%d", n), plugins: plugins}
	}
	const away = "203.0.113.9"
	inVRF := []string{"route get vrf red " + away, "via 10.61.0.1 dev eth0 table 1001"}
	bySource := []string{"route get " + away + " from 10.61.0.5", "via 10.61.0.1 dev eth0 table 100"}
	plain := []string{"route get " + away, "via 10.61.0.1 dev eth0 src 10.61.0.5"}
	return []combination{
		routed(one(false, on("macvlan", "61"), tuning("mac", mac)), plain...),
		routed(one(false, on("macvlan", "61"), plugin("sbr")), bySource...),
		reach(stands(routed(one(false, bridge("61"), tuning("mac", mac), plugin("sbr")), bySource...)), "10.61.0.5"),
		reach(routed(one(false, ptp("61"), tuning("mac", mac)), plain...), "10.61.0.5"),
		mortal(routed(one(false, hostDevice("61"), tuning("mac", mac)), plain...)),
		mortal(routed(one(false, hostDevice("61"), plugin("sbr")), bySource...)),
		one(false, plugin("tap", "ipam", hostLocal("61")), tuning("mac", mac)),
		stands(routed(several(one(false, bridge("61"), tuning("promisc", nil)), "two networks",
			second(2, on("macvlan", "62"), tuning(), plugin("sbr"))),
			"route get "+away, "via 10.61.0.1 dev eth0", "route get "+away+" from 10.62.0.5", "via 10.62.0.1 dev net2 table 100")),
		reach(stands(routed(several(one(false, ptp("61"), plugin("sbr")), "two networks, both by source",
			second(2, bridge("62"), plugin("sbr"))),
			"route get "+away+" from 10.61.0.5", "via 10.61.0.1 dev eth0 table 100", "route get "+away+" from 10.62.0.5", "via 10.62.0.1 dev net2 table 102")), "10.62.0.5"),

		routed(one(true, on("macvlan", "61"), vrf("table", 1001)), inVRF...),
		routed(one(true, on("vlan", "61", "vlanId", 100), vrf("table", 1001)), inVRF...),
		mortal(routed(one(true, hostDevice("61"), vrf("table", 1001)), inVRF...)),
		routed(one(true, on("ipvlan", "61"), plugin("sbr")), bySource...),
		stands(routed(several(one(true, on("macvlan", "61"), tuning("mac", mac), vrf("table", 1001)), "two networks, one VRF",
			second(2, bridge("62"), vrf())),
			"route get vrf red 10.61.0.9", "dev eth0 table 1001", "route get vrf red 10.62.0.9", "dev net2 table 1001")),
		stands(routed(several(one(true, bridge("61")), "two networks, a VRF for the second",
			second(2, on("macvlan", "62"), vrf())),
			"route get "+away, "via 10.61.0.1 dev eth0", "route get vrf red "+away, "via 10.62.0.1 dev net2 table 1")),
	}
}
