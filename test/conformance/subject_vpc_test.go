package conformance

import (
	"strings"

	"github.com/fairlead-net/fairlead/test/host"
)

// The names of a VPC's things that breakages take away. The table is the first
// of the range.
const (
	vpcVRF   = "vpc-blue"
	vpcTable = "100000"
	vpcSID   = "fc00:0:1:1647:7688::"
)

// vpc has its far end on another node, which nobody needs to be.
func vpc() subject {
	s := ofVPC("veth")
	s.interfaces, s.addressOf = []side{onHost, inContainer}, 1
	s.breakages = append(s.breakages, inside()...)
	return s
}

// vpcTap is a virtual machine's attachment: a device on the host, which would be
// another container's as well if that had the same attachment.
func vpcTap() subject {
	s := ofVPC("tap")
	s.name = "vpc+tap"
	s.interfaces = []side{onHost}
	s.own = func(container string) []any { return []any{"attachment", "vm-" + container} }
	s.breakages = append(s.breakages,
		onHostEnd(16, "tap gone", "link", "del"),
		onHostEnd(16, "MAC address differs", "link", "set", "address", "02:00:00:00:00:99", "dev"),
		onHostEnd(16, "MTU differs", "link", "set", "mtu", "1300", "dev"),
		byIP(17, "route to the machine gone", "route", "del", "10.99.0.2", "table", vpcTable),
	)
	return s
}

// byIP breaks something of the host's.
func byIP(number int, name string, command ...string) breakage {
	return breakage{number, name, nil, func(a host.Attachment, _ host.Result) {
		a.Host.MustRun("ip", command...)
	}}
}

// onHostEnd breaks the link that a result has first.
func onHostEnd(number int, what string, command ...string) breakage {
	return breakage{number, what, nil, func(a host.Attachment, r host.Result) {
		a.Host.MustRun("ip", append(command, name(r, 0))...)
	}}
}

func ofVPC(mode string) subject {
	return subject{
		name:   "vpc",
		ifName: "eth0",
		oldest: "0.1.0",
		vm:     true,
		config: host.Config{
			"cniVersion": "1.1.0", "name": network, "type": "vpc", "vpc": "blue", "attachment": "web-1", "mode": mode,
			"ipam": hostLocal("10.99.0.0/24"),
			"srv6": map[string]any{"locator": "fc00:0:1::/48", "remotes": []any{
				map[string]any{"prefix": "10.98.0.0/24", "sid": "fc00:0:2:1647:7688::"},
			}},
		},
		prepare:   underlay,
		delegates: true,
		stands: func(f host.Fact) bool {
			return f.Sort == "rule" && strings.Contains(f.Detail, "l3mdev") || strings.HasPrefix(f.Name, "ens5")
		},
		breakages: []breakage{
			byIP(17, "VRF gone", "link", "del", vpcVRF),
			byIP(17, "VRF open", "route", "del", "unreachable", "default", "table", vpcTable),
			byIP(17, "VRF open to IPv6", "-6", "route", "del", "unreachable", "default", "table", vpcTable),
			byIP(17, "segment gone", "-6", "route", "del", vpcSID),
			byIP(17, "segment elsewhere", "-6", "route", "replace", vpcSID, "dev", "ens5"),
			byIP(17, "route to the remote gone", "route", "del", "10.98.0.0/24", "table", vpcTable),
			byIP(17, "way to its segment gone", "-6", "route", "del", "throw", "fc00:0:2:1647:7688::", "table", vpcTable),
			{17, "lease gone", nil, loseLease},
			byIP(18, "VRF down", "link", "set", vpcVRF, "down"),
			onHostEnd(18, "host end down", "link", "set", "down", "dev"),
			onHostEnd(18, "host end out of the VRF", "link", "set", "nomaster", "dev"),
			onHostEnd(18, "gateway address gone", "address", "flush", "scope", "global", "dev"),
		},
	}
}

// underlay is how the node reaches others.
func underlay(h *host.Host) {
	h.MustRun("ip", "link", "add", "ens5", "type", "veth", "peer", "name", "ens5-far")
	h.MustRun("ip", "link", "set", "ens5-far", "up")
	h.MustRun("ip", "link", "set", "ens5", "up")
	h.MustRun("ip", "address", "add", "2001:db8::1/64", "dev", "ens5", "nodad")
	h.MustRun("ip", "route", "add", "fc00:0:2::/48", "via", "2001:db8::2")
}
