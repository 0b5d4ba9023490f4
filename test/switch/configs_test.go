package switching

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/fairlead-net/fairlead/test/host"
)

// A network is a configuration that containers are attached to.
type network struct {
	name   string
	config host.Config
	before []host.Config // plugins that come before in the list
	ifName string
	stands func(host.Fact) bool
	// reach is true where containers reach each other.
	reach bool
	plain bool // every container has the same address
	vm    bool
	// prepare makes what the configuration needs on a host (a master link).
	prepare func(*host.Host)
	// own is what each container has another value of, by its name.
	own func(container string) []any
	// mortal is true where what is moved into a container dies with it, as no
	// hardware does.
	mortal bool
	// blind is true where the reference's CHECK calls what is well not well.
	blind bool
}

func nothing(host.Fact) bool { return false }

func hostLocal(subnets ...string) map[string]any {
	var ranges []any
	for _, s := range subnets {
		ranges = append(ranges, []any{map[string]any{"subnet": s}})
	}
	return map[string]any{
		"type": "host-local", "ranges": ranges,
		"routes": []any{map[string]any{"dst": "0.0.0.0/0"}},
	}
}

func base(plugin string, pairs ...any) host.Config {
	return host.Config{"cniVersion": "1.0.0", "name": "net-s", "type": plugin}.With(pairs...)
}

// networks are those that are switched.
func networks() []network {
	bridge := base("bridge", "bridge", "cni0", "isGateway", true, "ipam", hostLocal("10.77.0.0/24"))
	ptp := base("ptp", "ipam", hostLocal("10.77.0.0/24"))
	onBridge := func(name string, pairs ...any) network {
		return network{name: name, config: bridge.With(pairs...), ifName: "eth0", stands: host.Bridge("cni0"), reach: true}
	}
	onPtP := func(name string, pairs ...any) network {
		return network{name: name, config: ptp.With(pairs...), ifName: "eth0", stands: nothing, reach: true}
	}
	vlan := onBridge("bridge vlan", "vlan", 100, "isGateway", false, "ipam", hostLocal("10.77.0.0/24"))
	vlan.vm = true
	vlan.config["ipam"].(map[string]any)["routes"] = []any{}
	return slices.Concat(children(), devices(), chains(), []network{
		onBridge("bridge"),
		onBridge("bridge masquerade", "ipMasq", true),
		onBridge("bridge masquerade nftables", "ipMasq", true, "ipMasqBackend", "nftables"),
		onBridge("bridge masquerade iptables", "ipMasq", true, "ipMasqBackend", "iptables"),
		onBridge("bridge anti-spoof", "macspoofchk", true),
		onBridge("bridge hairpin isolation", "hairpinMode", true),
		onBridge("bridge static", "ipMasq", true, "ipam", map[string]any{
			"type": "static", "addresses": []any{map[string]any{"address": "10.77.0.9/24"}}}).single(),
		onBridge("bridge dual stack", "ipMasq", true, "ipam", hostLocal("10.77.0.0/24", "fd00:77::/64")),
		onBridge("bridge without addresses", "ipam", nil, "isGateway", nil).apart(),
		vlan,
		onPtP("ptp"),
		onPtP("ptp masquerade", "ipMasq", true),
		onPtP("ptp masquerade nftables", "ipMasq", true, "ipMasqBackend", "nftables"),
		onPtP("ptp masquerade iptables", "ipMasq", true, "ipMasqBackend", "iptables"),
		onPtP("ptp mtu", "mtu", 1400),
		{name: "loopback", config: base("loopback"), ifName: "lo", stands: nothing, plain: true},
		{name: "host-local", config: base("host-local", "ipam", hostLocal("10.77.0.0/24")), ifName: "eth0", stands: nothing},
		{name: "static", config: base("static", "ipam", map[string]any{
			"type": "static", "addresses": []any{map[string]any{"address": "10.77.0.9/24"}}}), ifName: "eth0", stands: nothing, plain: true},
	})
}

// children are networks of one link in the container, on a master.
func children() []network {
	on := func(plugin, name string, vm bool, pairs ...any) network {
		return network{
			name: name, config: base(plugin, "ipam", hostLocal("10.77.0.0/24")).With(pairs...), ifName: "eth0", stands: nothing,
			reach: true, vm: vm, prepare: func(h *host.Host) {
				h.MustRun("ip", "link", "add", "ens5", "type", "veth", "peer", "name", "ens5-far")
				h.MustRun("ip", "link", "set", "ens5", "up")
				h.MustRun("ip", "link", "set", "ens5-far", "up")
			},
		}
	}
	vlan := on("vlan", "vlan", true, "master", "ens5")
	vlan.reach = false
	vlan.own = func(container string) []any {
		n, _ := strconv.Atoi(strings.TrimPrefix(container, "c"))
		return []any{"vlanId", n}
	}
	dummy := on("dummy", "dummy", true)
	dummy.reach = false
	return []network{
		on("macvlan", "macvlan", false, "master", "ens5"),
		on("macvlan", "macvlan values", false, "master", "ens5", "mtu", 1400, "bcqueuelen", 1200),
		on("macvlan", "macvlan private", false, "master", "ens5", "mode", "private").unreached(),
		on("macvlan", "macvlan dual stack", false, "master", "ens5", "ipam", hostLocal("10.77.0.0/24", "fd00:77::/64")),
		on("macvlan", "macvlan without addresses", false, "master", "ens5", "ipam", nil).apart(),
		on("ipvlan", "ipvlan", true, "master", "ens5"),
		on("ipvlan", "ipvlan l3s", true, "master", "ens5", "mode", "l3s", "mtu", 1400),
		vlan, dummy,
	}
}

// devices are networks of a device in the container, that the container has
// for itself, or that the host had before.
func devices() []network {
	dual := hostLocal("10.77.0.0/24", "fd00:77::/64")
	tap := func(name string, pairs ...any) network {
		return network{name: name, config: base("tap", "ipam", hostLocal("10.77.0.0/24")).With(pairs...), ifName: "eth0", stands: nothing}
	}
	moved := func(name, key, value string, pairs ...any) network {
		return network{
			name: name, config: base("host-device", "ipam", hostLocal("10.77.0.0/24")).With(pairs...), ifName: "eth0", stands: nothing,
			reach: true, mortal: true, prepare: wires,
			own: func(container string) []any { return []any{key, value + strings.TrimPrefix(container, "c")} },
		}
	}
	return []network{
		tap("tap", "mtu", 1400),
		tap("tap of a user", "owner", 107, "group", 107),
		tap("tap of several queues", "multiQueue", true, "mac", "02:00:00:00:00:17"),
		tap("tap dual stack", "ipam", dual),
		tap("tap without addresses", "ipam", nil).apart(),
		moved("host-device", "device", "ens"),
		moved("host-device by MAC", "hwaddr", "02:00:00:00:00:0"),
		moved("host-device dual stack", "device", "ens", "ipam", dual),
		moved("host-device without addresses", "device", "ens", "ipam", nil).apart(),
		moved("host-device with its network", "device", "ens", "ipam", nil, "useInterfaceNetwork", true).configured(),
	}
}

// chains are networks that a later plugin of the list changes.
func chains() []network {
	bridge := base("bridge", "bridge", "cni0", "isGateway", true, "ipam", hostLocal("10.77.0.0/24"))
	ptp := base("ptp", "ipam", hostLocal("10.77.0.0/24"))
	six := hostLocal("fd00:77::/64")
	six["routes"] = []any{map[string]any{"dst": "::/0"}}
	two := map[string]any{"type": "static", "addresses": []any{
		map[string]any{"address": "10.77.0.9/24", "gateway": "10.77.0.1"}, map[string]any{"address": "10.78.0.9/24"},
	}}
	then := func(name string, first host.Config, plugin string, pairs ...any) network {
		return network{name: name, before: []host.Config{first}, config: base(plugin, pairs...), ifName: "eth0", stands: host.Bridge("cni0"), reach: true}
	}
	values := []any{
		"mtu", 1400, "promisc", true, "allmulti", true, "txQLen", 77,
		"sysctl", map[string]any{"net.ipv4.conf.IFNAME.arp_filter": "1", "net.core.somaxconn": "77"},
	}
	// Without a hint, only who names a source address is routed; and the
	// reference's CHECK looks for routes in the main table.
	routed := func(name string, first host.Config, pairs ...any) network {
		n := then(name, first, "sbr", pairs...)
		n.blind, n.reach = true, slices.Contains(pairs, any("addSourceHints"))
		return n
	}
	device := devices()[slices.IndexFunc(devices(), func(n network) bool { return n.name == "host-device" })]
	device.name, device.before, device.config = "host-device tuned", []host.Config{device.config}, base("tuning", append(values, "mac", "02:00:00:00:00:77")...)
	device.reach = false // all have one MAC address
	return []network{
		then("bridge tuned", bridge, "tuning", values...),
		then("ptp tuned", ptp, "tuning", append(values, "mac", "02:00:00:00:00:77")...),
		routed("bridge sbr", bridge),
		routed("bridge sbr hints", bridge, "addSourceHints", true),
		routed("bridge sbr gateways", bridge.With("ipam", map[string]any{
			"type": "host-local", "ranges": hostLocal("10.77.0.0/24")["ranges"],
		}), "gateways", []any{"10.77.0.254"}),
		routed("bridge sbr IPv6", bridge.With("ipam", six)),
		routed("bridge sbr hints IPv6", bridge.With("ipam", six), "addSourceHints", true),
		routed("bridge sbr two addresses", bridge.With("ipam", two, "isGateway", nil)).single(),
		routed("ptp sbr", ptp),
		then("bridge sbr table", bridge, "sbr", "table", 300),
		device,
	}
}

// wires are devices of the host that reach each other by a switch beyond it.
// They are down: the reference suite leaves them so.
func wires(h *host.Host) {
	h.MustRun("ip", "link", "add", "switch", "address", "02:00:00:00:00:99", "type", "bridge")
	h.MustRun("ip", "link", "set", "switch", "up")
	for n := 1; n <= 4; n++ {
		name, far := fmt.Sprintf("ens%d", n), fmt.Sprintf("port%d", n)
		h.MustRun("ip", "link", "add", name, "address", fmt.Sprintf("02:00:00:00:00:0%d", n), "type", "veth", "peer", "name", far)
		h.MustRun("ip", "link", "set", far, "master", "switch", "up")
		h.MustRun("ip", "link", "property", "add", "dev", name, "altname", "uplink-number-"+strconv.Itoa(n))
	}
}

// configured is the network whose devices have addresses and routes on the
// host, which are lost when they leave it.
func (n network) configured() network {
	n.prepare = func(h *host.Host) {
		wires(h)
		for n := 1; n <= 4; n++ {
			name := fmt.Sprintf("ens%d", n)
			h.MustRun("ip", "link", "set", name, "up")
			h.MustRun("ip", "address", "add", fmt.Sprintf("10.78.0.%d/24", n), "dev", name)
			h.MustRun("ip", "route", "add", "10.79.0.0/16", "dev", name, "metric", strconv.Itoa(n))
			h.MustRun("ip", "route", "add", "default", "via", "10.79.0.1", "dev", name, "metric", strconv.Itoa(n))
		}
	}
	n.stands = func(f host.Fact) bool { return strings.HasPrefix(f.Name, "ens") }
	return n
}

// unreached is the network whose containers are kept from each other.
func (n network) unreached() network { n.reach = false; return n }

// single is the network with one address for all.
func (n network) single() network { n.plain, n.reach = true, false; return n }

// apart is the network whose containers have no addresses to reach.
func (n network) apart() network { n.plain, n.reach = true, false; return n }
