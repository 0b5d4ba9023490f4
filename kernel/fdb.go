package kernel

import (
	"net"
	"net/netip"

	"golang.org/x/sys/unix"
)

// FDBEntry says where frames for a MAC address go: to a port of a bridge, or
// to another end of a VXLAN tunnel.
type FDBEntry struct {
	Link  int // the port, or the tunnel
	MAC   net.HardwareAddr
	Dst   netip.Addr // of a tunnel: the other end
	VLAN  uint16
	VNI   uint32
	Self  bool   // the entry is the link's own, not its bridge's
	State uint16 // unix.NUD_PERMANENT if 0; NUD_NOARP, NUD_REACHABLE
	// ExtLearned marks what a control plane learnt; it does not age.
	ExtLearned bool
}

// AddFDB adds an entry. It is an error (Exists) when there is one, but for a
// bridge's with ExtLearned: the kernel changes that.
func (n *Namespace) AddFDB(e FDBEntry) error {
	return n.call("fdb.add", e.MAC.String(), func() error {
		return n.change(e.request(unix.RTM_NEWNEIGH, unix.NLM_F_CREATE|unix.NLM_F_EXCL))
	})
}

// AppendFDB adds another end for the MAC address to a tunnel.
func (n *Namespace) AppendFDB(e FDBEntry) error {
	return n.call("fdb.append", e.MAC.String(), func() error {
		return n.change(e.request(unix.RTM_NEWNEIGH, unix.NLM_F_CREATE|unix.NLM_F_APPEND))
	})
}

// ReplaceFDB adds an entry, or changes the one that there is.
func (n *Namespace) ReplaceFDB(e FDBEntry) error {
	return n.call("fdb.replace", e.MAC.String(), func() error {
		return n.change(e.request(unix.RTM_NEWNEIGH, unix.NLM_F_CREATE|unix.NLM_F_REPLACE))
	})
}

// DelFDB removes an entry. It is false when there is none, or no such link.
func (n *Namespace) DelFDB(e FDBEntry) (bool, error) {
	ok, err := n.remove(ObjectNeighbour, "fdb.del", e.MAC.String(), func() error {
		return n.change(e.request(unix.RTM_DELNEIGH, 0))
	})
	if Absent(ObjectLink, err) {
		return false, nil
	}
	return ok, err
}

// FDB lists the entries of a port or tunnel. A link that is not there has none.
func (n *Namespace) FDB(link int) (all []FDBEntry, err error) {
	err = n.call("fdb.list", object(link), func() error {
		r := newRequest(unix.RTM_GETNEIGH, 0, ndMsg(unix.AF_BRIDGE, link, 0, 0))
		all, err = dumpFamily(n, unix.AF_BRIDGE, r, decodeFDB)
		if Absent(ObjectLink, err) {
			return nil
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return keep(all, func(e FDBEntry) bool { return e.Link == link }), nil
}

func (e FDBEntry) request(typ, flags uint16) *request {
	state, ntf := e.State, uint8(unix.NTF_MASTER)
	if e.Self {
		ntf = unix.NTF_SELF
	}
	if e.ExtLearned {
		ntf |= unix.NTF_EXT_LEARNED
	}
	if state == 0 {
		state = unix.NUD_PERMANENT
	}
	r := newRequest(typ, flags, ndMsg(unix.AF_BRIDGE, e.Link, state, ntf))
	r.bytes(unix.NDA_LLADDR, e.MAC)
	r.addrIf(unix.NDA_DST, e.Dst)
	if e.VLAN != 0 {
		r.u16(unix.NDA_VLAN, e.VLAN)
	}
	if e.VNI != 0 {
		r.u32(unix.NDA_VNI, e.VNI)
	}
	return r
}

func decodeFDB(b []byte) (FDBEntry, bool, error) {
	if len(b) < unix.SizeofNdMsg {
		return FDBEntry{}, false, errMalformed
	}
	a := attrs{}
	if err := a.read(b[unix.SizeofNdMsg:]); err != nil {
		return FDBEntry{}, false, err
	}
	return FDBEntry{
		Link:       getI32(b[4:]),
		MAC:        hardwareAddr(a[unix.NDA_LLADDR]),
		Dst:        getAddr(a[unix.NDA_DST]),
		VLAN:       getU16(a[unix.NDA_VLAN]),
		VNI:        getU32(a[unix.NDA_VNI]),
		Self:       b[10]&unix.NTF_SELF != 0,
		State:      getU16(b[8:]),
		ExtLearned: b[10]&unix.NTF_EXT_LEARNED != 0,
	}, b[0] == unix.AF_BRIDGE, nil
}
