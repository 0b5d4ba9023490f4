package kernel

import (
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// decodeKind reads IFLA_INFO_DATA. Kinds that say nothing there are given
// without content.
func decodeKind(kind string, data []byte) (LinkKind, error) {
	a := attrs{}
	if err := a.read(data); err != nil {
		return nil, err
	}
	switch kind {
	case "veth":
		return VethKind{}, nil
	case "dummy":
		return DummyKind{}, nil
	case "ifb":
		return IFBKind{}, nil
	case "wireguard":
		return WireguardKind{}, nil
	case "bridge":
		return decodeBridge(a), nil
	case "tun":
		return decodeTun(a), nil
	case "vrf":
		return VRFKind{Table: getU32(a[unix.IFLA_VRF_TABLE])}, nil
	case "vlan":
		return VLANKind{ID: getU16(a[unix.IFLA_VLAN_ID]), Protocol: getBE16(a[unix.IFLA_VLAN_PROTOCOL])}, nil
	case "macvlan":
		return MacvlanKind{
			Mode:       MacvlanMode(getU32(a[unix.IFLA_MACVLAN_MODE])),
			BCQueueLen: getU32(a[unix.IFLA_MACVLAN_BC_QUEUE_LEN]),
		}, nil
	case "ipvlan":
		return IPVlanKind{
			Mode:  IPVlanMode(getU16(a[unix.IFLA_IPVLAN_MODE])),
			Flags: getU16(a[unix.IFLA_IPVLAN_FLAGS]),
		}, nil
	case "bond":
		return BondKind{Mode: getU8(a[unix.IFLA_BOND_MODE]), MIIMon: getU32(a[unix.IFLA_BOND_MIIMON])}, nil
	}
	return decodeTunnel(kind, a), nil
}

func decodeBridge(a attrs) BridgeKind {
	return BridgeKind{
		VLANFiltering: getU8(a[unix.IFLA_BR_VLAN_FILTERING]) != 0,
		DefaultPVID:   a.u16(unix.IFLA_BR_VLAN_DEFAULT_PVID),
		AgeingTime:    a.u32(unix.IFLA_BR_AGEING_TIME),
		McastSnooping: a.bool(unix.IFLA_BR_MCAST_SNOOPING),
	}
}

func decodeTunnel(kind string, a attrs) LinkKind {
	switch kind {
	case "vxlan":
		return decodeVXLAN(a)
	case "geneve":
		return GeneveKind{
			VNI:               getU32(a[unix.IFLA_GENEVE_ID]),
			Remote:            a.addr46(unix.IFLA_GENEVE_REMOTE, unix.IFLA_GENEVE_REMOTE6),
			Port:              getBE16(a[unix.IFLA_GENEVE_PORT]),
			TTL:               getU8(a[unix.IFLA_GENEVE_TTL]),
			TOS:               getU8(a[unix.IFLA_GENEVE_TOS]),
			CollectMetadata:   a.has(unix.IFLA_GENEVE_COLLECT_METADATA),
			InnerProtoInherit: a.has(unix.IFLA_GENEVE_INNER_PROTO_INHERIT),
			UDPChecksum:       decodeChecksum(a, unix.IFLA_GENEVE_UDP_CSUM, unix.IFLA_GENEVE_UDP_ZERO_CSUM6_TX),
		}
	case "ipip":
		return IPIPKind{
			Local:           a.addr46(nl.IFLA_IPTUN_LOCAL, 0),
			Remote:          a.addr46(nl.IFLA_IPTUN_REMOTE, 0),
			Underlay:        int(getU32(a[nl.IFLA_IPTUN_LINK])),
			TTL:             getU8(a[nl.IFLA_IPTUN_TTL]),
			TOS:             getU8(a[nl.IFLA_IPTUN_TOS]),
			PMTUDisc:        a.bool(nl.IFLA_IPTUN_PMTUDISC),
			CollectMetadata: a.has(nl.IFLA_IPTUN_COLLECT_METADATA),
		}
	case "gre", "gretap", "ip6gre", "ip6gretap":
		return decodeGRE(kind, a)
	}
	return UnknownKind(kind)
}

// decodeChecksum: over IPv6 the kernel tells whether there are none.
func decodeChecksum(a attrs, with, without uint16) *bool {
	if none := a.bool(without); none != nil && !a.has(with) {
		*none = !*none
		return none
	}
	return a.bool(with)
}

func decodeVXLAN(a attrs) VXLANKind {
	return VXLANKind{
		VNI:             getU32(a[unix.IFLA_VXLAN_ID]),
		Local:           a.addr46(unix.IFLA_VXLAN_LOCAL, unix.IFLA_VXLAN_LOCAL6),
		Remote:          a.addr46(unix.IFLA_VXLAN_GROUP, unix.IFLA_VXLAN_GROUP6),
		Underlay:        int(getU32(a[unix.IFLA_VXLAN_LINK])),
		Port:            getBE16(a[unix.IFLA_VXLAN_PORT]),
		TTL:             getU8(a[unix.IFLA_VXLAN_TTL]),
		TOS:             getU8(a[unix.IFLA_VXLAN_TOS]),
		Learning:        getU8(a[unix.IFLA_VXLAN_LEARNING]) != 0,
		Proxy:           getU8(a[unix.IFLA_VXLAN_PROXY]) != 0,
		L2Miss:          getU8(a[unix.IFLA_VXLAN_L2MISS]) != 0,
		L3Miss:          getU8(a[unix.IFLA_VXLAN_L3MISS]) != 0,
		CollectMetadata: getU8(a[unix.IFLA_VXLAN_COLLECT_METADATA]) != 0,
		UDPChecksum:     a.bool(unix.IFLA_VXLAN_UDP_CSUM),
	}
}

func decodeGRE(kind string, a attrs) GREKind {
	k := GREKind{
		Ethernet:        kind == "gretap" || kind == "ip6gretap",
		Local:           a.addr46(nl.IFLA_GRE_LOCAL, 0),
		Remote:          a.addr46(nl.IFLA_GRE_REMOTE, 0),
		Underlay:        int(getU32(a[nl.IFLA_GRE_LINK])),
		TTL:             getU8(a[nl.IFLA_GRE_TTL]),
		TOS:             getU8(a[nl.IFLA_GRE_TOS]),
		CollectMetadata: a.has(nl.IFLA_GRE_COLLECT_METADATA),
	}
	if getBE16(a[nl.IFLA_GRE_IFLAGS])&greKey != 0 {
		key := getBE32(a[nl.IFLA_GRE_IKEY])
		k.Key = &key
	}
	return k
}
