//go:build vmtest

package vpc

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/fairlead-net/fairlead/test/host"
)

// states counts, on a host, what connection tracking takes packets for. That the
// kernel does not track what it wraps, so that an answer from another node is
// new, has nothing to do with zones.
const states = `table inet states {
	counter mixed { }
	counter torn { }
	counter replies { }
	chain prerouting {
		type filter hook prerouting priority mangle
		udp dport 4001 ct state established counter name mixed
		ip saddr 10.1.1.0/24 udp sport 4001 ct state new counter name torn
		ip6 saddr fd00:1:1::/64 udp sport 4001 ct state new counter name torn
		udp sport 4001 ct state established counter name replies
	}
}
`

// counted is how many packets one of the counters saw.
func counted(n *node, name string) string {
	fields := strings.Fields(n.MustRun("nft", "list", "counter", "inet", "states", name))
	for i, f := range fields {
		if f == "packets" {
			return fields[i+1]
		}
	}
	return "none"
}

// talk has from send a packet to the address where to is, and get one back: with
// the same ports each time.
func (g guest) talk(to guest, address string) error {
	ip := netip.MustParseAddr(address)
	near, err := udp(g.node.Host, g.where, ip, 4000)
	if err != nil {
		return err
	}
	defer unix.Close(near)
	far, err := udp(to.node.Host, to.where, ip, 4001)
	if err != nil {
		return err
	}
	defer unix.Close(far)
	if err := unix.Sendto(near, []byte("hello"), 0, udpAddress(ip, 4001)); err != nil {
		return err
	}
	b := make([]byte, 16)
	_, back, err := unix.Recvfrom(far, b, 0)
	if err == nil {
		err = unix.Sendto(far, []byte("hello"), 0, back)
	}
	if err == nil {
		_, _, err = unix.Recvfrom(near, b, 0)
	}
	return err
}

func udpAddress(ip netip.Addr, port int) unix.Sockaddr {
	if ip.Is4() {
		return &unix.SockaddrInet4{Port: port, Addr: ip.As4()}
	}
	return &unix.SockaddrInet6{Port: port, Addr: ip.As16()}
}

func udp(h *host.Host, netns string, ip netip.Addr, port int) (s int, err error) {
	h.Inside(netns, func() {
		family, any := unix.AF_INET, netip.IPv4Unspecified()
		if ip.Is6() {
			family, any = unix.AF_INET6, netip.IPv6Unspecified()
		}
		if s, err = unix.Socket(family, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0); err != nil {
			return
		}
		wait := unix.NsecToTimeval(int64(10 * time.Second))
		if err = unix.SetsockoptTimeval(s, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &wait); err != nil {
			return
		}
		// A child that is being started may hold the last one for a moment.
		if err = unix.SetsockoptInt(s, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1); err == nil {
			err = unix.Bind(s, udpAddress(any, port))
		}
	})
	return s, err
}

// TestCase31EqualFlowsAreTwo: connections of two VPCs with the same addresses and
// ports are tracked apart, on one node and between two; and each in one zone,
// whichever way its packets go.
func TestCase31EqualFlowsAreTwo(t *testing.T) {
	t.Parallel()
	nodes := twoNodes(t)
	all := map[string][3]guest{}
	for _, vpc := range []string{"blue", "red"} {
		all[vpc] = [3]guest{
			nodes[0].guest(t, vpc, "veth", 5), nodes[0].guest(t, vpc, "tap", 6), nodes[1].guest(t, vpc, "veth", 5),
		}
	}
	for _, n := range nodes {
		n.MustRun("sh", "-c", "echo '"+states+"' | nft -f -")
	}
	for _, vpc := range []string{"blue", "red"} {
		g := all[vpc]
		for i, address := range []string{nodes[0].v4(6), nodes[0].v6(6), nodes[1].v4(5), nodes[1].v6(5)} {
			if err := g[0].talk(g[1+i/2], address); err != nil {
				t.Fatalf("%s to %s: %v", g[0], address, err)
			}
		}
	}
	for _, n := range nodes {
		for name, none := range map[string]bool{"mixed": true, "torn": true, "replies": false} {
			if got := counted(n, name); (got == "0") != none {
				t.Errorf("node %d: %s: %s packets\n%s", n.n, name, got, n.MustRun("sh", "-c", "cat /proc/net/nf_conntrack; nft list ruleset"))
			}
		}
	}
}

// TestZoneTable is there while a VPC is: restored by the next ADD after a flush
// of the whole rule set, told by CHECK before, and gone with the last VPC.
func TestZoneTable(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, h *host.Host, c host.Config) {
		a := attach(t, h, c)
		r := a.MustAdd(t)
		healthy(t, a, r)
		list := func() string { return h.MustRun("nft", "list", "ruleset") }
		whole := list()
		if !strings.Contains(whole, "fairlead_vpc") || !strings.Contains(whole, "ct zone set iifgroup map @zones") {
			t.Errorf("%s", whole)
		}
		h.MustRun("nft", "flush", "ruleset")
		if o := a.Check(r); o.OK() || !strings.Contains(o.Stdout, "vpc-zone") {
			t.Errorf("CHECK after a flush: %s", o.Stdout)
		}
		other := attach(t, h, c.With("attachment", "other", "ipam", addresses("10.1.1.77/24")))
		other.MustAdd(t)
		healthy(t, a, r)
		if got := list(); got != whole {
			t.Errorf("%s\nwant\n%s", got, whole)
		}
		h.MustRun("sh", "-c", "nft flush ruleset; echo '"+whole+"' | nft -f -")
		healthy(t, a, r)
		a.MustDel(t)
		if list() == "" {
			t.Error("the table went with the first of two")
		}
		other.MustDel(t)
		if got := list(); got != "" {
			t.Errorf("left: %s", got)
		}
	})
}
