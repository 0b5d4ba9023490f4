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
	by := func(number int, name string, command ...string) breakage {
		return breakage{number, name, nil, func(a host.Attachment, _ host.Result) {
			a.Host.MustRun("ip", command...)
		}}
	}
	on := func(number int, what string, command ...string) breakage {
		return breakage{number, what, nil, func(a host.Attachment, r host.Result) {
			a.Host.MustRun("ip", append(command, name(r, 0))...)
		}}
	}
	return subject{
		name:   "vpc",
		ifName: "eth0",
		oldest: "0.1.0",
		vm:     true,
		config: host.Config{
			"cniVersion": "1.1.0", "name": network, "type": "vpc", "vpc": "blue", "attachment": "web-1",
			"ipam": hostLocal("10.99.0.0/24"),
			"srv6": map[string]any{"locator": "fc00:0:1::/48", "remotes": []any{
				map[string]any{"prefix": "10.98.0.0/24", "sid": "fc00:0:2:1647:7688::"},
			}},
		},
		prepare:    underlay,
		delegates:  true,
		interfaces: []side{onHost, inContainer},
		addressOf:  1,
		stands: func(f host.Fact) bool {
			return f.Sort == "rule" && strings.Contains(f.Detail, "l3mdev") || strings.HasPrefix(f.Name, "ens5")
		},
		breakages: append(inside(),
			by(17, "VRF gone", "link", "del", vpcVRF),
			by(17, "VRF open", "route", "del", "unreachable", "default", "table", vpcTable),
			by(17, "VRF open to IPv6", "-6", "route", "del", "unreachable", "default", "table", vpcTable),
			by(17, "segment gone", "-6", "route", "del", vpcSID),
			by(17, "segment elsewhere", "-6", "route", "replace", vpcSID, "dev", "ens5"),
			by(17, "route to the remote gone", "route", "del", "10.98.0.0/24", "table", vpcTable),
			by(17, "way to its segment gone", "-6", "route", "del", "throw", "fc00:0:2:1647:7688::", "table", vpcTable),
			breakage{17, "lease gone", nil, loseLease},
			by(18, "VRF down", "link", "set", vpcVRF, "down"),
			on(18, "host end down", "link", "set", "down", "dev"),
			on(18, "host end out of the VRF", "link", "set", "nomaster", "dev"),
			on(18, "gateway address gone", "address", "flush", "scope", "global", "dev"),
		),
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
