package chains

import (
	"slices"
	"strings"

	"github.com/fairlead-net/fairlead/test/host"
)

const (
	address = "address add 10.61.0.5/24 dev eth0"
	gateway = "route add default via 10.61.0.1 dev eth0"
)

// ofLink is what can be done to each link of a container that has the address
// 10.61.0.5, a default route and this MTU.
func ofLink(mtu string) []damage {
	return []damage{
		{what: "link down", by: []string{"link set eth0 down"}, mend: []string{"link set eth0 up", gateway}, says: []string{"eth0 is down"}},
		{what: "address gone", by: []string{"address del 10.61.0.5/24 dev eth0"}, mend: []string{address, gateway}, says: []string{"10.61.0.5/24"}},
		{what: "route gone", by: []string{"route del default"}, mend: []string{gateway}, says: []string{"0.0.0.0/0 via 10.61.0.1"}},
		{
			what: "MTU differs", by: []string{"link set eth0 mtu 1300"}, mend: []string{"link set eth0 mtu " + mtu},
			says: []string{"the mtu of eth0 is 1300, want " + mtu},
		},
		{
			what: "MAC address differs", by: []string{"link set eth0 address 02:00:00:00:00:99"}, mend: []string{"link set eth0 address MAC"},
			says: []string{"the MAC address of eth0 is 02:00:00:00:00:99, want MAC"},
		},
		{
			what: "link renamed", by: []string{"link set eth0 down", "link set eth0 name other0"},
			mend: []string{"link set other0 name eth0", "link set eth0 up", gateway}, says: []string{"eth0"},
		},
	}
}

// unmended has an attachment with more routes than one made anew.
func unmended(all []damage) []damage {
	for i := range all {
		if slices.Contains(all[i].mend, gateway) {
			all[i].mend = nil
		}
	}
	return all
}

// without is all damages but one.
func without(what string, all []damage) []damage {
	return slices.DeleteFunc(all, func(d damage) bool { return d.what == what })
}

// ofVeth is what can be done to the host's end of a pair.
func ofVeth() []damage {
	return []damage{
		{what: "host's end down", by: []string{"host link set VETH down"}, says: []string{"VETH is down"}},
		{what: "MTU of the host's end differs", by: []string{"host link set VETH mtu 1300"}, mend: []string{"host link set VETH mtu 1500"}, says: []string{"the mtu of VETH is 1300, want 1500"}},
		{what: "MAC address of the host's end differs", by: []string{"host link set VETH address 02:00:00:00:00:99"}, mend: []string{"host link set VETH address VETHMAC"}, says: []string{"the MAC address of VETH is 02:00:00:00:00:99, want VETHMAC"}},
		{what: "masquerading gone", by: []string{"nft flush ruleset"}, says: []string{"masquerade", "/c1/eth0"}},
	}
}

func lease() damage {
	return damage{what: "lease gone", by: []string{"rm /var/lib/cni/networks/NETWORK/10.61.0.5"}, says: []string{"lease", "c1/eth0"}}
}

func patients() []patient {
	return slices.Concat(pairs(), children(), later())
}

func alone(vm bool, c host.Config, damages ...[]damage) patient {
	p := patient{network: network{name: "net-" + c.Type(), ifName: "eth0", plugins: []host.Config{c}}, vm: vm, prepare: masters}
	for _, d := range slices.Concat(damages...) {
		d.by = slices.Clone(d.by)
		for i := range d.by {
			d.by[i] = strings.ReplaceAll(d.by[i], "NETWORK", p.name)
		}
		p.damages = append(p.damages, d)
	}
	return p
}

// pairs are lo, and plugins that make a veth pair.
func pairs() []patient {
	lo := alone(false, plugin("loopback"), []damage{
		{what: "lo down", by: []string{"link set lo down"}, mend: []string{"link set lo up"}, says: []string{"lo is down"}},
		{what: "address gone", by: []string{"address del 127.0.0.1/8 dev lo"}, mend: []string{"address add 127.0.0.1/8 dev lo"}, says: []string{"127.0.0.1/8"}},
	})
	lo.ifName = "lo"
	bridge := plugin("bridge", "bridge", "cni0", "isGateway", true, "ipMasq", true, "ipam", hostLocal("61"), "hairpinMode", true)
	other := []string{"host link add other type bridge", "host link set VETH master other"}
	return []patient{
		lo,
		alone(false, bridge, ofLink("1500"), ofVeth(), []damage{
			lease(),
			{what: "no port", by: []string{"host link set VETH nomaster"}, says: []string{"VETH is no port of cni0"}},
			{what: "port of another", by: other, says: []string{"VETH is no port of cni0"}},
			{what: "hairpin mode off", by: []string{"host link set VETH type bridge_slave hairpin off"}, says: []string{"hairpin mode of VETH is false"}},
			{what: "bridge down", by: []string{"host link set cni0 down"}, mend: []string{"host link set cni0 up"}, says: []string{"cni0 is down"}},
			{what: "bridge gone", by: []string{"host link del cni0"}, says: []string{"cni0"}},
			{what: "gateway address gone", by: []string{"host address del 10.61.0.1/24 dev cni0"}, mend: []string{"host address add 10.61.0.1/24 dev cni0"}, says: []string{"cni0", "10.61.0.1/24"}},
		}),
		alone(false, plugin("ptp", "ipMasq", true, "ipam", hostLocal("61")), unmended(ofLink("1500")), ofVeth(), []damage{
			lease(),
			{what: "route of the host gone", by: []string{"host route del 10.61.0.5 dev VETH"}, says: []string{"10.61.0.5/32", "VETH"}},
			{what: "address of the host gone", by: []string{"host address del 10.61.0.1/32 dev VETH"}, says: []string{"10.61.0.1/32", "VETH"}},
		}),
	}
}

// remade puts a link in the place of eth0 that is on ens6.
func remade(kind string) damage {
	return damage{
		what: "another master", by: []string{
			"link del eth0", "host link add link ens6 name eth0 netns " + container + " type " + kind, address, "link set eth0 up", gateway,
		},
		says: []string{"ens5"},
	}
}

// children are plugins that put one link into the container.
func children() []patient {
	child := func(vm bool, c host.Config, more ...damage) patient {
		return alone(vm, c, ofLink("1500"), more, []damage{lease()})
	}
	ipvlan := child(true, on("ipvlan", "61"), remade("ipvlan mode l2"))
	ipvlan.damages = without("MAC address differs", ipvlan.damages) // it has its master's
	tap := child(false, plugin("tap", "bridge", "br0", "ipam", hostLocal("61")),
		damage{what: "no port", by: []string{"link set eth0 nomaster"}, mend: []string{"link set eth0 master br0"}, says: []string{"eth0 is no port of br0"}})
	tap.inside = []string{"link add br0 type bridge", "link set br0 up"}
	device := child(false, hostDevice("61"))
	return []patient{
		child(false, on("macvlan", "61"), remade("macvlan mode bridge"),
			damage{what: "another mode", by: []string{"link set eth0 type macvlan mode vepa"}, mend: []string{"link set eth0 type macvlan mode bridge"}, says: []string{"mode", "eth0", "vepa", "bridge"}}),
		tap, device, ipvlan,
		child(true, on("vlan", "61", "vlanId", 100), remade("vlan id 100")),
		child(true, plugin("dummy", "ipam", hostLocal("61"))),
	}
}

// later are lists with plugins that change what the first made.
func later() []patient {
	list := func(vm bool, damages []damage, plugins ...host.Config) patient {
		p := alone(vm, plugins[0], damages)
		p.name, p.plugins = "net-"+plugins[len(plugins)-1].Type(), plugins
		return p
	}
	by := func(plugin string, all []damage) []damage {
		for i := range all {
			all[i].plugin = plugin
		}
		return all
	}
	tuned := by("tuning", []damage{
		{what: "MTU differs", by: []string{"link set eth0 mtu 1300"}, mend: []string{"link set eth0 mtu 1400"}, says: []string{"eth0", "1300, want 1400", "mtu"}},
		{what: "MAC address differs", by: []string{"link set eth0 address 02:00:00:00:00:99"}, mend: []string{"link set eth0 address " + mac}, says: []string{"MAC address of eth0", "02:00:00:00:00:99, want " + mac}},
		{what: "promiscuous mode off", by: []string{"link set eth0 promisc off"}, mend: []string{"link set eth0 promisc on"}, says: []string{"promisc", "eth0"}},
		{what: "all-multicast mode off", by: []string{"link set eth0 allmulticast off"}, mend: []string{"link set eth0 allmulticast on"}, says: []string{"multi", "eth0"}},
		{what: "queue length differs", by: []string{"link set eth0 txqueuelen 78"}, mend: []string{"link set eth0 txqueuelen 77"}, says: []string{"eth0", "78, want 77"}},
		{what: "parameter differs", by: []string{"sysctl -q -w net.core.somaxconn=78"}, mend: []string{"sysctl -q -w net.core.somaxconn=77"}, says: []string{"somaxconn is 78, want 77"}},
		{what: "parameter of the interface differs", by: []string{"sysctl -q -w net.ipv4.conf.eth0.arp_filter=0"}, mend: []string{"sysctl -q -w net.ipv4.conf.eth0.arp_filter=1"}, says: []string{"eth0/arp_filter is 0, want 1"}},
	})
	first := by("macvlan", []damage{
		{what: "MTU differs, for the first", by: []string{"link set eth0 mtu 1300"}, mend: []string{"link set eth0 mtu 1400"}, says: []string{"the mtu of eth0 is 1300, want 1400"}},
		{what: "MAC address differs, for the first", by: []string{"link set eth0 address 02:00:00:00:00:99"}, mend: []string{"link set eth0 address " + mac}, says: []string{"the MAC address of eth0 is 02:00:00:00:00:99, want " + mac}},
	})
	routed := by("sbr", []damage{
		{what: "rule gone", by: []string{"rule del from 10.61.0.5"}, mend: []string{"rule add from 10.61.0.5 table 100"}, says: []string{"rule from 10.61.0.5 to table 100"}},
		{what: "rule to another table", by: []string{"rule del from 10.61.0.5", "rule add from 10.61.0.5 table 99"}, says: []string{"rule from 10.61.0.5 to table 100"}},
		{what: "default route gone", by: []string{"route del default table 100"}, mend: []string{gateway + " table 100"}, says: []string{"route to 0.0.0.0/0 via 10.61.0.1", "table 100"}},
		{what: "route to the network gone", by: []string{"route del 10.61.0.0/24 table 100"}, says: []string{"route to 10.61.0.0/24", "table 100"}},
		{what: "source hint gone", by: []string{"route del 10.61.0.0/24"}, says: []string{"route to 10.61.0.0/24", "main table"}},
	})
	red := by("vrf", []damage{
		{what: "interface out of the VRF", by: []string{"link set eth0 nomaster"}, says: []string{"eth0 is not in VRF red"}},
		{what: "interface in another", by: []string{"link add blue type vrf table 77", "link set eth0 master blue"}, says: []string{"eth0 is not in VRF red"}},
		{what: "VRF down", by: []string{"link set red down"}, mend: []string{"link set red up"}, says: []string{"red is down"}},
		{what: "VRF gone", by: []string{"link del red"}, says: []string{"red"}},
		{what: "another table", by: []string{
			"link del red", "link add red up type vrf table 1002", "link set eth0 master red",
		}, says: []string{"the table of VRF red is 1002, want 1001"}},
	})
	red = append(red, by("macvlan", []damage{
		{what: "route gone", by: []string{"route del default table 1001"}, mend: []string{gateway + " table 1001"}, says: []string{"0.0.0.0/0 via 10.61.0.1"}},
	})...)
	return []patient{
		list(false, append(tuned, first...), on("macvlan", "61"), tuning("mac", mac)),
		list(false, routed, ptp("61").With("ipam", hostLocal("61")), plugin("sbr", "addSourceHints", true)),
		list(true, red, on("macvlan", "61"), vrf("table", 1001)),
	}
}
