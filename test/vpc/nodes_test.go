package vpc

import (
	"fmt"
	"net/netip"
	"testing"

	"github.com/fairlead-net/fairlead/kernel"
	"github.com/fairlead-net/fairlead/test/host"
)

// A node is a host with a way to the other node.
type node struct {
	*host.Host
	n     int
	other *node
}

// twoNodes are joined by a cable, and know the way to each other's locator.
// Behind the first there is the world.
func twoNodes(t *testing.T) [2]*node {
	t.Helper()
	one, two := &node{Host: host.New(t), n: 1}, &node{Host: host.New(t), n: 2}
	one.other, two.other = two, one
	one.MustRun("ip", "link", "add", "ens5", "type", "veth", "peer", "name", "far")
	one.MustRun("ip", "link", "set", "far", "netns", two.NetnsPath())
	two.MustRun("ip", "link", "set", "far", "name", "ens5")
	for _, n := range []*node{one, two} {
		n.MustRun("ip", "link", "set", "lo", "up")
		n.MustRun("ip", "link", "set", "ens5", "up")
		n.MustRun("ip", "address", "add", n.address()+"/64", "dev", "ens5", "nodad")
		n.MustRun("ip", "address", "add", fmt.Sprintf("192.0.2.%d/24", n.n), "dev", "ens5")
	}
	for _, n := range []*node{one, two} {
		n.MustRun("ip", "route", "add", n.other.locator(), "via", n.other.address())
		n.MustRun("ip", "route", "add", "default", "via", fmt.Sprintf("192.0.2.%d", n.other.n))
		n.MustRun("ip", "-6", "route", "add", "default", "via", n.other.address())
	}
	return [2]*node{one, two}
}

func (n *node) address() string { return fmt.Sprintf("2001:db8::%d", n.n) }
func (n *node) locator() string { return fmt.Sprintf("fc00:0:%d::/48", n.n) }

// v4 and v6 are the addresses of an attachment: the same in every VPC.
func (n *node) v4(last int) string { return fmt.Sprintf("10.1.%d.%d", n.n, last) }
func (n *node) v6(last int) string { return fmt.Sprintf("fd00:1:%d::%d", n.n, last) }

// TestSegmentsOfThisKernel: what a VPC's routes are made of, on a kernel that may
// have no VRFs: a remote prefix that is wrapped for a segment, and a segment that
// unwraps, here for the main table.
func TestSegmentsOfThisKernel(t *testing.T) {
	t.Parallel()
	nodes := twoNodes(t)
	wire := capture(t, nodes[1].Host, "ens5")
	var pods [2]string
	for i, n := range nodes {
		ns, absence, err := kernel.Open(n.NetnsPath())
		if err != nil || absence != "" {
			t.Fatal(absence, err)
		}
		t.Cleanup(func() { _ = ns.Close() })
		pods[i] = n.Netns("pod")
		n.MustRun("sysctl", "-q", "-w", "net.ipv6.conf.all.forwarding=1")
		n.MustRun("ip", "link", "add", "veth0", "type", "veth", "peer", "name", "eth0", "netns", "pod")
		n.MustRun("ip", "link", "set", "veth0", "up")
		n.MustRun("ip", "address", "add", n.v6(1)+"/128", "dev", "veth0", "nodad")
		n.MustRun("ip", "route", "add", n.v6(5), "dev", "veth0")
		n.MustRunIn(pods[i], "ip", "link", "set", "eth0", "up")
		n.MustRunIn(pods[i], "ip", "address", "add", n.v6(5)+"/128", "dev", "eth0", "nodad")
		n.MustRunIn(pods[i], "ip", "-6", "route", "add", n.v6(1), "dev", "eth0")
		n.MustRunIn(pods[i], "ip", "-6", "route", "add", "default", "via", n.v6(1))
		uplink, _, err := ns.Link("ens5")
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range []kernel.Route{
			{
				Dst: netip.MustParsePrefix(fmt.Sprintf("fd00:1:%d::/64", n.other.n)), Link: uplink.Index,
				Encap: kernel.SRv6Encap{Mode: kernel.SRv6Wrap, Segments: []netip.Addr{n.other.plain()}},
			},
			{
				Dst: netip.PrefixFrom(n.plain(), 128), Link: uplink.Index,
				Encap: kernel.SRv6Local{Action: kernel.SRv6EndDT6, Table: kernel.MainTable},
			},
		} {
			if err := ns.AddRoute(r); err != nil {
				t.Fatal(err)
			}
		}
		if err := ns.SetSRv6Source(netip.MustParseAddr(n.address())); err != nil {
			t.Fatal(err)
		}
	}
	source, err := nodes[0].ReachOn(pods[0], nodes[1].Host, pods[1], nodes[1].v6(5))
	if err != nil || source.String() != nodes[0].v6(5) {
		t.Fatalf("%s, %v", source, err)
	}
	wire.saw(t, nodes[0].address(), nodes[1].plain().String(), nodes[0].v6(5), nodes[1].v6(5))
	wire.saw(t, nodes[1].address(), nodes[0].plain().String(), nodes[1].v6(5), nodes[0].v6(5))
	wire.bare(t)
}

// plain is a segment of the node.
func (n *node) plain() netip.Addr { return netip.MustParseAddr(fmt.Sprintf("fc00:0:%d::1", n.n)) }
