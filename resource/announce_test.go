package resource

import (
	"bytes"
	"errors"
	"net"
	"net/netip"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/fairlead-net/fairlead/attachment"
	"github.com/fairlead-net/fairlead/engine"
	"github.com/fairlead-net/fairlead/kernel"
)

// listen opens a raw socket in the namespace, on all of its links.
func listen(t *testing.T, ns *kernel.Namespace) int {
	t.Helper()
	fd := -1
	noError(t, ns.Do(func() (err error) {
		fd, err = unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, int(htons(unix.ETH_P_ALL)))
		return err
	}))
	t.Cleanup(func() { _ = unix.Close(fd) })
	noError(t, unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Sec: 5}))
	return fd
}

func htons(v uint16) uint16 { return v<<8 | v>>8 }

// heard waits for an ARP request (RFC 826) by which mac says that it has addr.
func heard(t *testing.T, fd int, mac net.HardwareAddr, addr netip.Addr) bool {
	t.Helper()
	buf := make([]byte, 256)
	until := time.Now().Add(5 * time.Second)
	for time.Now().Before(until) {
		n, from, err := unix.Recvfrom(fd, buf, 0)
		if errors.Is(err, unix.EAGAIN) {
			return false
		}
		noError(t, err)
		if at, ok := from.(*unix.SockaddrLinklayer); ok && at.Pkttype == unix.PACKET_OUTGOING {
			continue // sent, and not yet heard by anyone
		}
		frame := buf[:n]
		if n >= 42 && frame[12] == 8 && frame[13] == 6 && bytes.Equal(frame[22:28], mac) && bytes.Equal(frame[28:32], addr.AsSlice()) {
			return true
		}
	}
	return false
}

// TestRule10AnnouncementReachesOtherPorts: whoever had the address before is
// forgotten by the neighbours, also across the bridge.
func TestRule10AnnouncementReachesOtherPorts(t *testing.T) {
	t.Parallel()
	env := newEnv(t)
	neighbour := NewVeth(attachment.ID{Network: "net", Container: "neighbour", IfName: "eth9"})
	neighbour.Master = "cni0"
	up := &LinkUp{On: neighbour.Guest()}
	made(t, env, newBridge(), neighbour, up, &Announce{On: neighbour.Guest(), Port: neighbour.Host})
	fd := listen(t, env.Container)

	veth := testVeth()
	veth.Master = "cni0"
	addr := &Address{On: veth.Guest(), Address: netip.MustParsePrefix("10.1.2.3/24")}
	sysctls := &LinkSysctls{On: veth.Guest(), Values: []LinkSysctl{{Family: "ipv4", Name: "arp_notify", Value: "1"}}}
	announce := &Announce{On: veth.Guest(), Port: veth.Host}
	made(t, env, veth, sysctls, addr, &LinkUp{On: veth.Guest()}, announce)
	if !heard(t, fd, mac(t, veth.MAC), addr.Address.Addr()) {
		t.Error("the neighbour was not told")
	}
	wantState(t, env, announce, engine.IsPresent)
}

// TestAnnounceNeedsThePort: a port that does not come up is an error, and says so.
func TestAnnounceNeedsThePort(t *testing.T) {
	t.Parallel()
	env := newEnv(t)
	veth := testVeth()
	made(t, env, veth)
	a := &Announce{On: veth.Guest(), Port: "nosuch"}
	if err := a.Create(t.Context(), env); err == nil {
		t.Error("no error without a port")
	}
}

// TestTwoNetworksOfOneContainer: the second default route stands beside the
// first, and each goes by itself.
func TestTwoNetworksOfOneContainer(t *testing.T) {
	t.Parallel()
	env := newEnv(t)
	var routes []*Route
	for i, c := range []struct{ ifName, addr, gw string }{{"eth0", "10.1.0.2/24", "10.1.0.1"}, {"net1", "10.2.0.2/24", "10.2.0.1"}} {
		v := NewVeth(attachment.ID{Network: "net", Container: "c", IfName: c.ifName})
		r := &Route{On: v.Guest(), Dst: netip.MustParsePrefix("0.0.0.0/0"), Gateway: netip.MustParseAddr(c.gw)}
		made(t, env, v, &Address{On: v.Guest(), Address: netip.MustParsePrefix(c.addr)}, &LinkUp{On: v.Guest()}, r)
		routes = append(routes, r)
		if i == 1 {
			wantState(t, env, routes[0], engine.IsPresent)
		}
	}
	noError(t, routes[1].Remove(t.Context(), env))
	wantState(t, env, routes[0], engine.IsPresent)
	wantState(t, env, routes[1], engine.IsAbsent)
}
