package kernel

import (
	"encoding/binary"
	"strconv"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// BridgeVLAN is a VLAN, or a range of them, that a port of a bridge, or the
// bridge itself, takes part in.
type BridgeVLAN struct {
	ID       uint16
	Last     uint16 // the end of a range; 0: just ID
	PVID     bool   // untagged frames that come in belong to it
	Untagged bool   // its frames go out untagged
}

// VLANFlags say how a VLAN is to be on a port.
type VLANFlags struct {
	PVID, Untagged bool
	Self           bool // of the bridge itself, not of a port
}

// AddBridgeVLAN adds a VLAN to a port. That it is there already is success.
func (n *Namespace) AddBridgeVLAN(index int, vid uint16, f VLANFlags) error {
	return n.AddBridgeVLANs(index, f.Self, BridgeVLAN{ID: vid, PVID: f.PVID, Untagged: f.Untagged})
}

// DelBridgeVLAN takes a VLAN from a port. The kernel does not tell whether it
// was there; it is false when the link is not there, or no port.
func (n *Namespace) DelBridgeVLAN(index int, vid uint16, f VLANFlags) (bool, error) {
	return n.DelBridgeVLANs(index, f.Self, BridgeVLAN{ID: vid})
}

// AddBridgeVLANs adds VLANs to a port, or, with self, to a bridge itself, in
// one message.
func (n *Namespace) AddBridgeVLANs(index int, self bool, vlans ...BridgeVLAN) error {
	return n.call("bridge_vlan.add", strconv.Itoa(index), func() error {
		return n.change(vlanRequest(unix.RTM_SETLINK, index, self, vlans))
	})
}

// DelBridgeVLANs takes VLANs from a port, or, with self, from a bridge itself.
func (n *Namespace) DelBridgeVLANs(index int, self bool, vlans ...BridgeVLAN) (bool, error) {
	ok, err := n.remove(ObjectBridgeVLAN, "bridge_vlan.del", strconv.Itoa(index), func() error {
		return n.change(vlanRequest(unix.RTM_DELLINK, index, self, vlans))
	})
	if Absent(ObjectLink, err) {
		return false, nil
	}
	return ok, err
}

func vlanRequest(typ uint16, index int, self bool, vlans []BridgeVLAN) *request {
	fixed := ifInfo(index, 0, 0)
	fixed[0] = unix.AF_BRIDGE
	r := newRequest(typ, 0, fixed)
	r.nest(unix.IFLA_AF_SPEC, func() {
		if self {
			r.u16(nl.IFLA_BRIDGE_FLAGS, nl.BRIDGE_FLAGS_SELF)
		}
		for _, v := range vlans {
			v.encode(&r.encoder)
		}
	})
	return r
}

func (v BridgeVLAN) encode(e *encoder) {
	var flags uint16
	if v.PVID {
		flags |= nl.BRIDGE_VLAN_INFO_PVID
	}
	if v.Untagged {
		flags |= nl.BRIDGE_VLAN_INFO_UNTAGGED
	}
	if v.Last <= v.ID {
		e.bytes(nl.IFLA_BRIDGE_VLAN_INFO, vlanInfo(flags, v.ID))
		return
	}
	e.bytes(nl.IFLA_BRIDGE_VLAN_INFO, vlanInfo(flags|nl.BRIDGE_VLAN_INFO_RANGE_BEGIN, v.ID))
	e.bytes(nl.IFLA_BRIDGE_VLAN_INFO, vlanInfo(flags|nl.BRIDGE_VLAN_INFO_RANGE_END, v.Last))
}

// vlanInfo is struct bridge_vlan_info.
func vlanInfo(flags, vid uint16) []byte {
	return binary.NativeEndian.AppendUint16(binary.NativeEndian.AppendUint16(nil, flags), vid)
}

// The attributes of RTM_GETVLAN.
const (
	vlandbEntry = 1
	vlandbInfo  = 1
	vlandbRange = 2
)

// BridgeVLANs lists the VLANs of a port, or of a bridge itself; neighbouring
// ones come as a range. A link that is not there has none.
func (n *Namespace) BridgeVLANs(index int) (all []BridgeVLAN, err error) {
	err = n.call("bridge_vlan.list", strconv.Itoa(index), func() error {
		// struct br_vlan_msg: by link, unlike a dump by RTM_GETLINK.
		fixed := make([]byte, 8)
		fixed[0] = unix.AF_BRIDGE
		binary.NativeEndian.PutUint32(fixed[4:], uint32(index))
		parts, err := dumpFamily(n, unix.AF_BRIDGE, newRequest(unix.RTM_GETVLAN, 0, fixed), decodeVLANs)
		if Absent(ObjectLink, err) {
			return nil
		}
		for _, p := range parts {
			all = append(all, p...)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return all, nil
}

func decodeVLANs(b []byte) ([]BridgeVLAN, bool, error) {
	if len(b) < 8 {
		return nil, false, errMalformed
	}
	var all []BridgeVLAN
	err := eachAttr(b[8:], func(t uint16, v []byte) error {
		if t != vlandbEntry {
			return nil
		}
		a := attrs{}
		if err := a.read(v); err != nil {
			return err
		}
		info := a[vlandbInfo]
		if len(info) < 4 {
			return errMalformed
		}
		flags := getU16(info)
		all = append(all, BridgeVLAN{
			ID:       getU16(info[2:]),
			Last:     getU16(a[vlandbRange]),
			PVID:     flags&nl.BRIDGE_VLAN_INFO_PVID != 0,
			Untagged: flags&nl.BRIDGE_VLAN_INFO_UNTAGGED != 0,
		})
		return nil
	})
	return all, true, err
}
