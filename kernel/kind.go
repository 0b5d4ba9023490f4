package kernel

import "golang.org/x/sys/unix"

// VethKind is a pair of links; the spec's own link is one end.
type VethKind struct {
	// Peer is the other end. Its Netns may be another one. It can't be up:
	// the kernel refuses that with ENOTCONN. Its Kind, Master and Parent are
	// not looked at, its Index only where the link's own is set too.
	Peer LinkSpec
}

// BridgeKind is a bridge.
type BridgeKind struct {
	VLANFiltering bool
	DefaultPVID   *uint16 // VLAN of untagged frames on new ports; 0: none
	AgeingTime    *uint32 // hundredths of a second; 0: entries are not kept
	McastSnooping *bool
}

// DummyKind is a link that drops what it is given.
type DummyKind struct{}

// IFBKind is a link to which traffic is redirected to be shaped.
type IFBKind struct{}

// WireguardKind is a WireGuard tunnel. Keys and peers are set elsewhere.
type WireguardKind struct{}

// VRFKind is a VRF: its members' routes are in the table.
type VRFKind struct{ Table uint32 }

// VLANKind is a VLAN on its parent.
type VLANKind struct {
	ID       uint16
	Protocol uint16 // unix.ETH_P_8021Q if 0
}

// MacvlanMode says whom a macvlan link talks to.
type MacvlanMode uint32

// The modes of a macvlan link.
const (
	MacvlanPrivate  MacvlanMode = 1
	MacvlanVEPA     MacvlanMode = 2
	MacvlanBridge   MacvlanMode = 4
	MacvlanPassthru MacvlanMode = 8
)

// MacvlanKind is a link with a MAC address of its own on its parent.
type MacvlanKind struct {
	Mode MacvlanMode // the kernel's default (VEPA) if 0
	// BCQueueLen is the wanted length of the broadcast queue, in packets; the
	// kernel's default if 0.
	BCQueueLen uint32
}

// IPVlanMode says at which layer an ipvlan link works.
type IPVlanMode uint16

// The modes of an ipvlan link.
const (
	IPVlanL2 IPVlanMode = iota
	IPVlanL3
	IPVlanL3S
)

// IPVlanKind is a link that shares its parent's MAC address.
type IPVlanKind struct {
	Mode  IPVlanMode
	Flags uint16 // 1: private, 2: VEPA
}

// BondKind is a bond.
type BondKind struct {
	Mode   uint8  // 0: balance-rr, 1: active-backup, …, as in linux/if_bonding.h
	MIIMon uint32 // milliseconds
}

// UnknownKind is what a look-up gives for a link of a kind that is not here.
type UnknownKind string

// Kind is the name that the kernel has for it.
func (VethKind) Kind() string      { return "veth" }
func (BridgeKind) Kind() string    { return "bridge" }
func (DummyKind) Kind() string     { return "dummy" }
func (IFBKind) Kind() string       { return "ifb" }
func (WireguardKind) Kind() string { return "wireguard" }
func (VRFKind) Kind() string       { return "vrf" }
func (VLANKind) Kind() string      { return "vlan" }
func (MacvlanKind) Kind() string   { return "macvlan" }
func (IPVlanKind) Kind() string    { return "ipvlan" }
func (BondKind) Kind() string      { return "bond" }
func (k UnknownKind) Kind() string { return string(k) }

func (DummyKind) encode(*encoder) error     { return nil }
func (IFBKind) encode(*encoder) error       { return nil }
func (WireguardKind) encode(*encoder) error { return nil }
func (UnknownKind) encode(*encoder) error   { return unix.EOPNOTSUPP }

// vethInfoPeer is VETH_INFO_PEER: a whole link message in an attribute.
const vethInfoPeer = 1

func (k VethKind) encode(e *encoder) error {
	up := b2u32(k.Peer.Up) * unix.IFF_UP
	var err error
	e.nest(vethInfoPeer, func() {
		e.b = append(e.b, ifInfo(k.Peer.Index, up, up)...)
		err = k.Peer.encodeCommon(e)
	})
	return err
}

func (k BridgeKind) encode(e *encoder) error {
	// Only when asked for: a kernel without VLAN filtering refuses it.
	if k.VLANFiltering {
		e.bool(unix.IFLA_BR_VLAN_FILTERING, true)
	}
	if k.DefaultPVID != nil {
		e.u16(unix.IFLA_BR_VLAN_DEFAULT_PVID, *k.DefaultPVID)
	}
	if k.AgeingTime != nil {
		e.u32(unix.IFLA_BR_AGEING_TIME, *k.AgeingTime)
	}
	if k.McastSnooping != nil {
		e.bool(unix.IFLA_BR_MCAST_SNOOPING, *k.McastSnooping)
	}
	return nil
}

func (k VRFKind) encode(e *encoder) error {
	e.u32(unix.IFLA_VRF_TABLE, k.Table)
	return nil
}

func (k VLANKind) encode(e *encoder) error {
	e.u16(unix.IFLA_VLAN_ID, k.ID)
	if k.Protocol != 0 {
		e.be16(unix.IFLA_VLAN_PROTOCOL, k.Protocol)
	}
	return nil
}

func (k MacvlanKind) encode(e *encoder) error {
	if k.Mode != 0 {
		e.u32(unix.IFLA_MACVLAN_MODE, uint32(k.Mode))
	}
	if k.BCQueueLen != 0 {
		e.u32(unix.IFLA_MACVLAN_BC_QUEUE_LEN, k.BCQueueLen)
	}
	return nil
}

func (k IPVlanKind) encode(e *encoder) error {
	e.u16(unix.IFLA_IPVLAN_MODE, uint16(k.Mode))
	if k.Flags != 0 {
		e.u16(unix.IFLA_IPVLAN_FLAGS, k.Flags)
	}
	return nil
}

func (k BondKind) encode(e *encoder) error {
	e.u8(unix.IFLA_BOND_MODE, k.Mode)
	if k.MIIMon != 0 {
		e.u32(unix.IFLA_BOND_MIIMON, k.MIIMon)
	}
	return nil
}
