package bench

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/fairlead-net/fairlead/kernel"
)

// What all scenarios share.
const (
	cniVersion  = "1.1.0"
	networkName = "bench"
	bridgeName  = "cni0"
	masterName  = "ens5"
	leaseDir    = "/var/lib/cni/networks/" + networkName
)

func subnet() netip.Prefix { return netip.MustParsePrefix("10.88.0.0/16") }
func gateway() netip.Addr  { return netip.MustParseAddr("10.88.0.1") }

// operation is one sort of call that is timed.
type operation string

const (
	opAdd      operation = "ADD"
	opDel      operation = "DEL"
	opDelAgain operation = "DEL again" // runtimes call DEL twice: the second finds nothing
	opVersion  operation = "VERSION"
)

// verb is what CNI_COMMAND says.
func (o operation) verb() string {
	if o == opDelAgain {
		return string(opDel)
	}
	return string(o)
}

// scenario is one configuration that every candidate is given.
type scenario struct {
	name   string
	about  string
	plugin string
	config string          // members of the configuration's JSON object, without cniVersion and name
	first  string          // members for the plugin that makes the interface before, untimed: "" for none
	ops    []operation     // one of each in every round, in this order
	leases int             // that are there before
	master bool            // wants a master on the host
	kind   kernel.LinkKind // of link that not every kernel has; nil: none
	floor  floorCalls      // nil: what is measured needs no call to the kernel
	expect expectation     // of the namespace, between ADD and DEL
}

// scenarios is the table to extend when a plugin comes to be.
func scenarios() []scenario {
	const (
		hostLocal  = `"ipam": {"type": "host-local", "ranges": [[{"subnet": "10.88.0.0/16"}]], "routes": [{"dst": "0.0.0.0/0"}]}`
		static     = `"ipam": {"type": "static", "addresses": [{"address": "10.88.0.2/16", "gateway": "10.88.0.1"}], "routes": [{"dst": "0.0.0.0/0"}]}`
		bridge     = `"type": "bridge", "bridge": "cni0", "isGateway": true, `
		ptp        = `"type": "ptp", `
		masquerade = `"ipMasq": true, "ipMasqBackend": "nftables", `
	)
	attached := expectation{ifName: "eth0", addresses: 1, defaultRoute: true}
	life := []operation{opAdd, opDel, opDelAgain}
	child := func(plugin, members string) scenario {
		s := scenario{name: plugin, about: plugin + " with host-local", plugin: plugin, config: `"type": "` + plugin + `", ` + members + hostLocal,
			ops: life, floor: floorChild(plugin, "-"), expect: attached}
		if s.master = members != ""; s.master {
			s.floor = floorChild(plugin, masterName)
		}
		return s
	}
	plain := []scenario{
		{name: "bridge", about: "bridge with host-local", plugin: "bridge", config: bridge + hostLocal,
			ops: life, floor: floorBridge, expect: attached},
		{name: "bridge-masq", about: "the same, masqueraded by nftables", plugin: "bridge", config: bridge + masquerade + hostLocal,
			ops: life, floor: floorBridgeMasq, expect: attached},
		{name: "ptp", about: "ptp with host-local", plugin: "ptp", config: ptp + hostLocal,
			ops: life, floor: floorPTP, expect: attached},
		{name: "ptp-masq", about: "the same, masqueraded by nftables", plugin: "ptp", config: ptp + masquerade + hostLocal,
			ops: life, floor: floorPTPMasq, expect: attached},
		child("macvlan", `"master": "ens5", `),
		child("ipvlan", `"master": "ens5", `).where(kernel.IPVlanKind{}),
		child("vlan", `"master": "ens5", "vlanId": 100, `).where(kernel.VLANKind{ID: 100}),
		child("dummy", "").where(kernel.DummyKind{}),
		{name: "tap", about: "tap with host-local", plugin: "tap", config: `"type": "tap", ` + hostLocal, ops: life, expect: attached},
		// The reference suite fails at a second DEL of this one.
		{name: "host-device", about: "host-device with host-local", plugin: "host-device", master: true,
			config: `"type": "host-device", "device": "ens5", ` + hostLocal, ops: []operation{opAdd, opDel}, expect: attached},
		{name: "tuning", about: "tuning of an interface that bridge made", plugin: "tuning", first: bridge + hostLocal,
			config: `"type": "tuning", "mtu": 1400, "txQLen": 500, "sysctl": {"net.ipv4.conf.IFNAME.arp_filter": "1"}`,
			ops:    life, expect: expectation{ifName: "eth0", addresses: 1, defaultRoute: true, stays: true}},
		{name: "sbr", about: "sbr of an interface that bridge made", plugin: "sbr", first: bridge + hostLocal,
			config: `"type": "sbr"`, ops: life, expect: expectation{ifName: "eth0", addresses: 1, stays: true}},
		scenario{name: "vrf", about: "vrf of an interface that bridge made", plugin: "vrf", first: bridge + hostLocal,
			config: `"type": "vrf", "vrfname": "red"`, ops: life, expect: expectation{ifName: "eth0", addresses: 1, stays: true}}.where(kernel.VRFKind{Table: 1}),
		{name: "loopback", about: "loopback", plugin: "loopback", config: `"type": "loopback"`,
			ops: life, floor: floorLoopback, expect: expectation{ifName: "lo", addresses: 1}},
		{name: "static", about: "static alone", plugin: "static", config: `"type": "bridge", ` + static, ops: life},
		{name: "host-local", about: "host-local alone", plugin: "host-local", config: `"type": "bridge", ` + hostLocal,
			ops: life, floor: floorLease},
	}
	var list []scenario
	for _, s := range plain {
		list = append(list, s)
		if s.name == "bridge" || s.name == "host-local" {
			list = append(list, s.beside(1_000), s.beside(10_000))
		}
	}
	for _, plugin := range []string{"bridge", "ptp", "macvlan", "tuning", "sbr", "loopback", "host-local", "static"} {
		list = append(list, scenario{name: "version/" + plugin, about: "the plugin's start: VERSION",
			plugin: plugin, ops: []operation{opVersion}})
	}
	return list
}

// child tells whether the scenario is of a plugin that puts one link into the
// container.
func (s scenario) child() bool {
	return slices.Contains([]string{"macvlan", "ipvlan", "vlan", "dummy", "tap", "host-device"}, s.name)
}

// where is the same scenario, for kernels that have such links.
func (s scenario) where(kind kernel.LinkKind) scenario { s.kind = kind; return s }

// beside is the same scenario with that many leases of others there before.
func (s scenario) beside(leases int) scenario {
	s.leases = leases
	s.name = fmt.Sprintf("%s/%d", s.name, leases)
	s.about = fmt.Sprintf("%s, beside %d leases", s.about, leases)
	return s
}

// input is the configuration that the plugin reads; result is what ADD printed, or nil.
func (s scenario) input(result []byte) []byte {
	if s.ops[0] == opVersion {
		return fmt.Appendf(nil, `{"cniVersion": %q}`, cniVersion)
	}
	return input(s.config, result)
}

func input(members string, result []byte) []byte {
	in := fmt.Appendf(nil, `{"cniVersion": %q, "name": %q, %s`, cniVersion, networkName, members)
	if result != nil {
		in = fmt.Appendf(in, `, "prevResult": %s`, result)
	}
	return append(in, '}')
}
