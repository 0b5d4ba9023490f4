package kernel

import (
	"net/netip"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// VXLANKind is a VXLAN tunnel. The link that it sends through is Underlay.
type VXLANKind struct {
	VNI             uint32
	Local           netip.Addr
	Remote          netip.Addr // a peer, or a multicast group; none: by the forwarding table
	Underlay        int        // index of the link to send through; 0: by route
	Port            uint16     // UDP; the kernel's default (8472) if 0
	TTL, TOS        uint8
	Learning        bool
	Proxy           bool // answers neighbour requests itself
	L2Miss, L3Miss  bool // asks for what it does not know
	CollectMetadata bool // VNI and remote come with each packet
	UDPChecksum     *bool
}

// GeneveKind is a GENEVE tunnel. That there is one like it is EBUSY.
type GeneveKind struct {
	VNI               uint32
	Remote            netip.Addr
	Port              uint16 // UDP; the kernel's default (6081) if 0
	TTL, TOS          uint8
	CollectMetadata   bool
	InnerProtoInherit bool // carries IP without an Ethernet header; Linux 5.18
	UDPChecksum       *bool
}

// IPIPKind is a tunnel of IPv4 in IPv4.
type IPIPKind struct {
	Local, Remote   netip.Addr // IPv4
	Underlay        int
	TTL, TOS        uint8 // 0: taken from the packet
	PMTUDisc        *bool
	CollectMetadata bool
}

// GREKind is a GRE tunnel over IPv4 or IPv6, by the addresses.
type GREKind struct {
	Ethernet        bool // carries frames (gretap), not packets
	Local, Remote   netip.Addr
	Underlay        int
	Key             *uint32 // of both directions
	TTL, TOS        uint8
	CollectMetadata bool
}

// Kind is the name that the kernel has for it.
func (VXLANKind) Kind() string  { return "vxlan" }
func (GeneveKind) Kind() string { return "geneve" }
func (IPIPKind) Kind() string   { return "ipip" }

// Kind is one of gre, gretap, ip6gre and ip6gretap.
func (k GREKind) Kind() string {
	name := "gre"
	if k.Ethernet {
		name = "gretap"
	}
	if k.Local.Is6() || k.Remote.Is6() {
		name = "ip6" + name
	}
	return name
}

func (k VXLANKind) encode(e *encoder) error {
	e.u32(unix.IFLA_VXLAN_ID, k.VNI)
	e.addr46(unix.IFLA_VXLAN_LOCAL, unix.IFLA_VXLAN_LOCAL6, k.Local)
	e.addr46(unix.IFLA_VXLAN_GROUP, unix.IFLA_VXLAN_GROUP6, k.Remote)
	if k.Underlay != 0 {
		e.u32(unix.IFLA_VXLAN_LINK, uint32(k.Underlay))
	}
	if k.Port != 0 {
		e.be16(unix.IFLA_VXLAN_PORT, k.Port)
	}
	e.u8(unix.IFLA_VXLAN_TTL, k.TTL)
	e.u8(unix.IFLA_VXLAN_TOS, k.TOS)
	e.bool(unix.IFLA_VXLAN_LEARNING, k.Learning)
	e.bool(unix.IFLA_VXLAN_PROXY, k.Proxy)
	e.bool(unix.IFLA_VXLAN_L2MISS, k.L2Miss)
	e.bool(unix.IFLA_VXLAN_L3MISS, k.L3Miss)
	if k.CollectMetadata {
		e.bool(unix.IFLA_VXLAN_COLLECT_METADATA, true)
	}
	if k.UDPChecksum != nil {
		e.bool(unix.IFLA_VXLAN_UDP_CSUM, *k.UDPChecksum)
		e.bool(unix.IFLA_VXLAN_UDP_ZERO_CSUM6_TX, !*k.UDPChecksum)
		e.bool(unix.IFLA_VXLAN_UDP_ZERO_CSUM6_RX, !*k.UDPChecksum)
	}
	return nil
}

func (k GeneveKind) encode(e *encoder) error {
	if k.CollectMetadata {
		e.flag(unix.IFLA_GENEVE_COLLECT_METADATA)
	} else {
		e.u32(unix.IFLA_GENEVE_ID, k.VNI)
	}
	e.addr46(unix.IFLA_GENEVE_REMOTE, unix.IFLA_GENEVE_REMOTE6, k.Remote)
	if k.Port != 0 {
		e.be16(unix.IFLA_GENEVE_PORT, k.Port)
	}
	if k.TTL != 0 {
		e.u8(unix.IFLA_GENEVE_TTL, k.TTL)
	}
	if k.TOS != 0 {
		e.u8(unix.IFLA_GENEVE_TOS, k.TOS)
	}
	if k.InnerProtoInherit {
		e.flag(unix.IFLA_GENEVE_INNER_PROTO_INHERIT)
	}
	if k.UDPChecksum != nil {
		e.bool(unix.IFLA_GENEVE_UDP_CSUM, *k.UDPChecksum)
		e.bool(unix.IFLA_GENEVE_UDP_ZERO_CSUM6_TX, !*k.UDPChecksum)
		e.bool(unix.IFLA_GENEVE_UDP_ZERO_CSUM6_RX, !*k.UDPChecksum)
	}
	return nil
}

func (k IPIPKind) encode(e *encoder) error {
	if k.CollectMetadata {
		e.flag(nl.IFLA_IPTUN_COLLECT_METADATA)
		return nil
	}
	e.addrIf(nl.IFLA_IPTUN_LOCAL, k.Local)
	e.addrIf(nl.IFLA_IPTUN_REMOTE, k.Remote)
	if k.Underlay != 0 {
		e.u32(nl.IFLA_IPTUN_LINK, uint32(k.Underlay))
	}
	e.u8(nl.IFLA_IPTUN_TTL, k.TTL)
	e.u8(nl.IFLA_IPTUN_TOS, k.TOS)
	if k.PMTUDisc != nil {
		e.bool(nl.IFLA_IPTUN_PMTUDISC, *k.PMTUDisc)
	}
	return nil
}

// greKey is GRE_KEY: the header has a key.
const greKey = 0x2000

func (k GREKind) encode(e *encoder) error {
	if k.CollectMetadata {
		e.flag(nl.IFLA_GRE_COLLECT_METADATA)
		return nil
	}
	e.addrIf(nl.IFLA_GRE_LOCAL, k.Local)
	e.addrIf(nl.IFLA_GRE_REMOTE, k.Remote)
	if k.Underlay != 0 {
		e.u32(nl.IFLA_GRE_LINK, uint32(k.Underlay))
	}
	if k.Key != nil {
		e.be16(nl.IFLA_GRE_IFLAGS, greKey)
		e.be16(nl.IFLA_GRE_OFLAGS, greKey)
		e.be32(nl.IFLA_GRE_IKEY, *k.Key)
		e.be32(nl.IFLA_GRE_OKEY, *k.Key)
	}
	e.u8(nl.IFLA_GRE_TTL, k.TTL)
	e.u8(nl.IFLA_GRE_TOS, k.TOS)
	return nil
}
