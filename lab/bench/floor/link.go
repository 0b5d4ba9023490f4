package main

import (
	"errors"
	"fmt"
	"net/netip"

	"golang.org/x/sys/unix"
)

// vethInfoPeer is linux/veth.h's VETH_INFO_PEER.
const vethInfoPeer = 1

const create = unix.NLM_F_CREATE | unix.NLM_F_EXCL | unix.NLM_F_ACK

// newVeth is the one message that makes the pair: the host's end up and, with
// a master, a port of it; the other end in the namespace, under its final name.
// (The kernel does not let the peer be up in it.)
func newVeth(hostIf string, master int32, netns int, ifName string) message {
	m := newMessage(unix.RTM_NEWLINK, create, linkHeader(0, true, true)).text(unix.IFLA_IFNAME, hostIf)
	if master != 0 {
		m = m.number(unix.IFLA_MASTER, uint32(master))
	}
	return m.nest(unix.IFLA_LINKINFO, func(m message) message {
		return m.text(unix.IFLA_INFO_KIND, "veth").nest(unix.IFLA_INFO_DATA, func(m message) message {
			return m.nest(vethInfoPeer, func(m message) message {
				m = append(m, linkHeader(0, false, false)...)
				return m.text(unix.IFLA_IFNAME, ifName).number(unix.IFLA_NET_NS_FD, uint32(netns))
			})
		})
	})
}

func setUp(index int32, up bool) message {
	return newMessage(unix.RTM_NEWLINK, unix.NLM_F_ACK, linkHeader(index, true, up))
}

// bridgeAdd makes a veth pair from the bridge into the namespace, with an
// address and a default route there. The bridge and its address exist.
func bridgeAdd(args []string) error {
	bridge, hostIf, path, ifName := args[0], args[1], args[2], args[3]
	address, gateway, err := addresses(args[4], args[5])
	if err != nil {
		return err
	}
	host, netns, err := sides(path)
	if err != nil {
		return err
	}
	master, err := host.index(bridge)
	if err != nil {
		return err
	}
	if err := host.do(newVeth(hostIf, master, netns, ifName)); err != nil {
		return fmt.Errorf("veth %s: %w", hostIf, err)
	}
	inside, index, err := into(netns, ifName)
	if err != nil {
		return err
	}
	err = inside.do(newAddress(index, address, 0), setUp(index, true),
		newRoute(route{gateway: gateway, link: index}))
	if err != nil {
		return fmt.Errorf("address, up, route of %s: %w", ifName, err)
	}
	return nil
}

// ptpAdd makes a veth pair whose host end carries the gateway's address and
// the route to the container's; in there all goes through the gateway.
func ptpAdd(args []string) error {
	hostIf, path, ifName := args[0], args[1], args[2]
	address, gateway, err := addresses(args[3], args[4])
	if err != nil {
		return err
	}
	host, netns, err := sides(path)
	if err != nil {
		return err
	}
	if err := host.do(newVeth(hostIf, 0, netns, ifName)); err != nil {
		return fmt.Errorf("veth %s: %w", hostIf, err)
	}
	outer, err := host.index(hostIf)
	if err != nil {
		return err
	}
	one := func(a netip.Addr) netip.Prefix { return netip.PrefixFrom(a, a.BitLen()) }
	err = host.do(newAddress(outer, one(gateway), 0), newRoute(route{dst: one(address.Addr()), link: outer}))
	if err != nil {
		return fmt.Errorf("address, route of %s: %w", hostIf, err)
	}
	inside, index, err := into(netns, ifName)
	if err != nil {
		return err
	}
	err = inside.do(newAddress(index, address, unix.IFA_F_NOPREFIXROUTE), setUp(index, true),
		newRoute(route{dst: one(gateway), link: index}),
		newRoute(route{dst: address.Masked(), gateway: gateway, link: index}),
		newRoute(route{gateway: gateway, link: index}))
	if err != nil {
		return fmt.Errorf("address, up, routes of %s: %w", ifName, err)
	}
	return nil
}

// sides are a socket in the thread's namespace, the host's, and the container's.
func sides(path string) (host *conn, netns int, err error) {
	if host, err = dial(unix.NETLINK_ROUTE); err != nil {
		return nil, -1, err
	}
	netns, err = openNamespace(path)
	return host, netns, err
}

// into enters the namespace and finds the link of that name.
func into(netns int, ifName string) (*conn, int32, error) {
	if err := join(netns); err != nil {
		return nil, 0, err
	}
	inside, err := dial(unix.NETLINK_ROUTE)
	if err != nil {
		return nil, 0, err
	}
	index, err := inside.index(ifName)
	return inside, index, err
}

// linkDel deletes a link of the thread's namespace: a host's end, and with it
// the other one. None is fine.
func linkDel(args []string) error {
	host, err := dial(unix.NETLINK_ROUTE)
	if err != nil {
		return err
	}
	m := newMessage(unix.RTM_DELLINK, unix.NLM_F_ACK, linkHeader(0, false, false)).text(unix.IFLA_IFNAME, args[0])
	if err := host.do(m); err != nil && !errors.Is(err, unix.ENODEV) {
		return fmt.Errorf("delete %s: %w", args[0], err)
	}
	return nil
}

// loopback puts lo, whose index is 1 in every namespace, up or down.
func loopback(path string, up bool) error {
	if err := enter(path); err != nil {
		return err
	}
	inside, err := dial(unix.NETLINK_ROUTE)
	if err != nil {
		return err
	}
	return inside.do(setUp(1, up))
}
