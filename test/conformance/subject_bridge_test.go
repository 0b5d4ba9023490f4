package conformance

import (
	"github.com/fairlead-net/fairlead/test/host"
)

// network is the lease directory's name, and the network's.
const network = "net-a"

func hostLocal(subnet string) map[string]any {
	return map[string]any{
		"type":   "host-local",
		"ranges": []any{[]any{map[string]any{"subnet": subnet}}},
		"routes": []any{map[string]any{"dst": "0.0.0.0/0"}},
	}
}

func bridge() subject {
	return subject{
		name:   "bridge",
		ifName: "eth0",
		oldest: "0.1.0",
		config: host.Config{
			"cniVersion": "1.1.0", "name": network, "type": "bridge",
			"bridge": "cni0", "isGateway": true, "ipMasq": true,
			"ipam": hostLocal("10.99.0.0/24"),
		},
		stands:     host.Bridge("cni0"),
		delegates:  true,
		interfaces: []side{onHost, onHost, inContainer},
		addressOf:  2,
		breakages: append(inside(),
			breakage{16, "bridge gone", nil, func(a host.Attachment, _ host.Result) {
				a.Host.MustRun("ip", "link", "del", "cni0")
			}},
			breakage{16, "gateway address gone", nil, func(a host.Attachment, _ host.Result) {
				a.Host.MustRun("ip", "address", "flush", "dev", "cni0")
			}},
			breakage{17, "masquerade rules gone", nil, flushFilters},
			breakage{17, "masquerade rules gone, nftables", []any{"ipMasqBackend", "nftables"}, flushFilters},
			breakage{17, "masquerade rules gone, iptables", []any{"ipMasqBackend", "iptables"}, flushFilters},
			breakage{17, "anti-spoof rules gone", []any{"ipMasq", nil, "macspoofchk", true}, flushFilters},
			breakage{17, "lease gone", nil, loseLease},
			breakage{18, "host end down", nil, func(a host.Attachment, r host.Result) {
				a.Host.MustRun("ip", "link", "set", name(r, 1), "down")
			}},
			breakage{18, "host end out of the bridge", nil, func(a host.Attachment, r host.Result) {
				a.Host.MustRun("ip", "link", "set", name(r, 1), "nomaster")
			}},
			breakage{18, "bridge down", nil, func(a host.Attachment, _ host.Result) {
				a.Host.MustRun("ip", "link", "set", "cni0", "down")
			}},
		),
	}
}

// bridgeVLAN is a bridge that keeps networks apart by VLAN.
func bridgeVLAN() subject {
	s := bridge()
	s.name, s.vm = "bridge+vlan", true
	s.config = s.config.With("vlan", 100, "macspoofchk", true, "portIsolation", true, "preserveDefaultVlan", false)
	s.interfaces = []side{onHost, onHost, inContainer, onHost}
	s.stands = host.Bridge("cni0")
	s.breakages = append(inside(),
		breakage{17, "masquerade and anti-spoof rules gone", nil, flushFilters},
		breakage{17, "lease gone", nil, loseLease},
		breakage{18, "port not in its VLAN", nil, func(a host.Attachment, r host.Result) {
			a.Host.MustRun("bridge", "vlan", "del", "dev", name(r, 1), "vid", "100")
		}},
	)
	return s
}

// inside is what can go wrong within a container that has a link of its own
// with an address and a default route.
func inside() []breakage {
	return []breakage{
		{16, "container link gone", nil, func(a host.Attachment, _ host.Result) {
			a.Host.MustRunIn(a.Netns, "ip", "link", "del", a.IfName)
		}},
		{16, "container link renamed", nil, func(a host.Attachment, _ host.Result) {
			a.Host.MustRunIn(a.Netns, "ip", "link", "set", a.IfName, "down")
			a.Host.MustRunIn(a.Netns, "ip", "link", "set", a.IfName, "name", "other0")
		}},
		{16, "container MAC address differs", nil, func(a host.Attachment, _ host.Result) {
			a.Host.MustRunIn(a.Netns, "ip", "link", "set", a.IfName, "address", "02:00:00:00:00:99")
		}},
		{16, "address gone", nil, func(a host.Attachment, r host.Result) {
			address, _ := r.IPs()[0]["address"].(string)
			a.Host.MustRunIn(a.Netns, "ip", "address", "del", address, "dev", a.IfName)
		}},
		{16, "another address instead", nil, func(a host.Attachment, r host.Result) {
			address, _ := r.IPs()[0]["address"].(string)
			a.Host.MustRunIn(a.Netns, "ip", "address", "del", address, "dev", a.IfName)
			a.Host.MustRunIn(a.Netns, "ip", "address", "add", "10.99.0.200/24", "dev", a.IfName)
		}},
		{16, "default route gone", nil, func(a host.Attachment, _ host.Result) {
			a.Host.MustRunIn(a.Netns, "ip", "route", "del", "default")
		}},
		{18, "container link down", nil, func(a host.Attachment, _ host.Result) {
			a.Host.MustRunIn(a.Netns, "ip", "link", "set", a.IfName, "down")
		}},
	}
}

// name is the name of the result's n-th interface.
func name(r host.Result, n int) string {
	s, _ := r.Interfaces()[n]["name"].(string)
	return s
}

func flushFilters(a host.Attachment, _ host.Result) {
	a.Host.MustRun("nft", "flush", "ruleset")
}

func loseLease(a host.Attachment, r host.Result) {
	a.Host.RemoveAll("/var/lib/cni/networks/" + network + "/" + r.Address(0))
}
