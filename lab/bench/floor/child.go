package main

import (
	"encoding/binary"
	"fmt"

	"golang.org/x/sys/unix"
)

// macvlanModeBridge is linux/if_link.h's MACVLAN_MODE_BRIDGE.
const macvlanModeBridge = 4

// newChild is the one message that makes a link of a kind in the namespace,
// under its final name, down; master is 0 for a kind that has none.
func newChild(kind string, master int32, netns int, ifName string) (message, error) {
	m := newMessage(unix.RTM_NEWLINK, create, linkHeader(0, false, false)).
		text(unix.IFLA_IFNAME, ifName).number(unix.IFLA_NET_NS_FD, uint32(netns))
	if master != 0 {
		m = m.number(unix.IFLA_LINK, uint32(master))
	}
	var data func(message) message
	switch kind {
	case "macvlan":
		data = func(m message) message { return m.number(unix.IFLA_MACVLAN_MODE, macvlanModeBridge) }
	case "vlan":
		data = func(m message) message { return m.attr(unix.IFLA_VLAN_ID, binary.NativeEndian.AppendUint16(nil, 100)) }
	case "ipvlan", "dummy":
		data = func(m message) message { return m }
	default:
		return nil, fmt.Errorf("no kind %q", kind)
	}
	return m.nest(unix.IFLA_LINKINFO, func(m message) message {
		return m.text(unix.IFLA_INFO_KIND, kind).nest(unix.IFLA_INFO_DATA, data)
	}), nil
}

// childAdd makes a link in the namespace on a master of the host ("-": none),
// with an address and a default route.
func childAdd(args []string) error {
	kind, masterName, path, ifName := args[0], args[1], args[2], args[3]
	address, gateway, err := addresses(args[4], args[5])
	if err != nil {
		return err
	}
	host, netns, err := sides(path)
	if err != nil {
		return err
	}
	master := int32(0)
	if masterName != "-" {
		if master, err = host.index(masterName); err != nil {
			return err
		}
	}
	link, err := newChild(kind, master, netns, ifName)
	if err != nil {
		return err
	}
	if err := host.do(link); err != nil {
		return fmt.Errorf("%s %s: %w", kind, ifName, err)
	}
	inside, index, err := into(netns, ifName)
	if err != nil {
		return err
	}
	err = inside.do(newAddress(index, address, 0), setUp(index, true), newRoute(route{gateway: gateway, link: index}))
	if err != nil {
		return fmt.Errorf("address, up, route of %s: %w", ifName, err)
	}
	return nil
}

// childDel deletes a link in the namespace. None is fine.
func childDel(args []string) error {
	if err := enter(args[0]); err != nil {
		return err
	}
	return linkDel(args[1:])
}
