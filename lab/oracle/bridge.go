package oracle

import (
	"bytes"
	"fmt"
	"strings"

	"golang.org/x/sys/unix"
)

// listVLANs adds to bridges and their ports which VLANs they have.
func (ns *netns) listVLANs() error {
	const perVLAN = 2 // RTEXT_FILTER_BRVLAN
	body := append(make([]byte, unix.SizeofIfInfomsg), u32attr(unix.IFLA_EXT_MASK, perVLAN)...)
	body[0] = unix.AF_BRIDGE
	answer, err := ns.conn.dump(unix.RTM_GETLINK, body)
	if err != nil {
		return fmt.Errorf("VLANs: %w", err)
	}
	for _, m := range answer {
		head, t, err := headed(m.data, unix.SizeofIfInfomsg)
		if err != nil {
			return fmt.Errorf("VLANs: %w", err)
		}
		l := ns.byIdx[int32(native32(head, 4))]
		if l == nil {
			return errMoved
		}
		spec, err := list(t[unix.IFLA_AF_SPEC])
		if err != nil {
			return fmt.Errorf("VLANs: %w", err)
		}
		l.vlans = vlanList(spec)
	}
	return nil
}

// vlanList shows what IFLA_AF_SPEC says of a bridge or its port: numbers, with
// p for the port's own and u for untagged.
func vlanList(spec []attr) string {
	const vlanInfo, own, untagged = 2, 2, 4 // IFLA_BRIDGE_VLAN_INFO, BRIDGE_VLAN_INFO_PVID, ..._UNTAGGED
	var vlans []string
	for _, a := range spec {
		if a.kind != vlanInfo || len(a.data) < 4 {
			continue
		}
		flags, v := native16(a.data, 0), number(a.data[2:4])
		if flags&own != 0 {
			v += "p"
		}
		if flags&untagged != 0 {
			v += "u"
		}
		vlans = append(vlans, v)
	}
	return strings.Join(vlans, ",")
}

// forwarding tells the entries of bridges' and tunnels' tables that somebody has
// made: what was learned from traffic or follows from links is left out.
func (ns *netns) forwarding() error {
	body := make([]byte, unix.SizeofNdMsg)
	body[0] = unix.AF_BRIDGE
	answer, err := ns.conn.dump(unix.RTM_GETNEIGH, body)
	if err != nil {
		return fmt.Errorf("forwarding tables: %w", err)
	}
	for _, m := range answer {
		n, err := decodeNeighbour(m.data)
		if err != nil {
			return fmt.Errorf("forwarding tables: %w", err)
		}
		made := n.state&(unix.NUD_PERMANENT|unix.NUD_NOARP) != 0 || n.flags&unix.NTF_EXT_LEARNED != 0
		if !made || ns.followsFromLink(n) {
			continue
		}
		name := mac(n.attrs[unix.NDA_LLADDR]) + " dev " + ns.linkName(n.index)
		value := schema{
			unix.NDA_DST: ip("dst"), unix.NDA_VLAN: num("vlan"), unix.NDA_PORT: big("port"), unix.NDA_VNI: num("vni"),
			unix.NDA_IFINDEX: dev("via"), unix.NDA_MASTER: dev("master"), unix.NDA_SRC_VNI: num("srcvni"),
		}.renderKnown(ns, n.attrs)
		if n.state&unix.NUD_NOARP != 0 {
			value = append(value, "static")
		}
		ns.tell("fdb", name, strings.Join(value, " "))
	}
	return nil
}

// followsFromLink is true for the entry of a link's own address, and for those of
// multicast groups, which the kernel joins.
func (ns *netns) followsFromLink(n neighbour) bool {
	addr := n.attrs[unix.NDA_LLADDR]
	if len(addr) == 6 && addr[0]&1 != 0 {
		return true
	}
	if n.state&unix.NUD_PERMANENT == 0 || n.flags&unix.NTF_SELF != 0 {
		return false
	}
	for _, l := range ns.links {
		if bytes.Equal(l.mac, addr) {
			return true
		}
	}
	return false
}
