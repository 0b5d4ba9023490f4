package kernel

import (
	"encoding/binary"
	"fmt"
	"net"
	"net/netip"

	"golang.org/x/sys/unix"
)

// Neighbour says which MAC address an address of the link's network has.
type Neighbour struct {
	Link  int // index
	Addr  netip.Addr
	MAC   net.HardwareAddr
	State uint16 // unix.NUD_…; NUD_PERMANENT if 0
	// Proxy answers for the address on the link. It has neither MAC nor state,
	// and is an entry of its own.
	Proxy    bool
	Router   bool
	Protocol uint8 // who made it
}

// ndaProtocol is NDA_PROTOCOL.
const ndaProtocol = 12

// ndMsg is struct ndmsg.
func ndMsg(family uint8, link int, state uint16, flags uint8) []byte {
	b := make([]byte, unix.SizeofNdMsg)
	b[0] = family
	binary.NativeEndian.PutUint32(b[4:], uint32(link))
	binary.NativeEndian.PutUint16(b[8:], state)
	b[10] = flags
	return b
}

// AddNeighbour adds an entry. It is an error (Exists) when there is one.
func (n *Namespace) AddNeighbour(e Neighbour) error {
	return n.call("neighbour.add", e.Addr.String(), func() error {
		return n.newNeighbour(e, unix.NLM_F_CREATE|unix.NLM_F_EXCL)
	})
}

// ReplaceNeighbour adds an entry, or changes the one that there is.
func (n *Namespace) ReplaceNeighbour(e Neighbour) error {
	return n.call("neighbour.replace", e.Addr.String(), func() error {
		return n.newNeighbour(e, unix.NLM_F_CREATE|unix.NLM_F_REPLACE)
	})
}

// DelNeighbour removes an entry; Link, Addr and Proxy name it. It is false
// when there is none, or no such link.
func (n *Namespace) DelNeighbour(e Neighbour) (bool, error) {
	ok, err := n.remove(ObjectNeighbour, "neighbour.del", e.Addr.String(), func() error {
		r, err := e.key(unix.RTM_DELNEIGH, 0)
		if err != nil {
			return err
		}
		return n.change(r)
	})
	if Absent(ObjectLink, err) {
		return false, nil
	}
	return ok, err
}

// Neighbour looks an entry up; Link, Addr and Proxy name it.
func (n *Namespace) Neighbour(key Neighbour) (found Neighbour, ok bool, err error) {
	err = n.call("neighbour.get", key.Addr.String(), func() error {
		r, err := key.key(unix.RTM_GETNEIGH, 0)
		if err != nil {
			return err
		}
		return n.get(r, func(b []byte) (err error) {
			found, ok, err = decodeNeighbour(b)
			return err
		})
	})
	if Absent(ObjectNeighbour, err) || Absent(ObjectLink, err) {
		return Neighbour{}, false, nil
	}
	return found, ok, err
}

// Neighbours lists the entries of a link, proxy entries left out. A link that
// is not there has none.
func (n *Namespace) Neighbours(link int) (all []Neighbour, err error) {
	err = n.call("neighbour.list", object(link), func() error {
		for _, f := range []uint8{unix.AF_INET, unix.AF_INET6} {
			r := newRequest(unix.RTM_GETNEIGH, 0, ndMsg(f, 0, 0, 0))
			if link != 0 {
				r.u32(unix.NDA_IFINDEX, uint32(link))
			}
			part, err := dumpFamily(n, f, r, decodeNeighbour)
			if err != nil && !Absent(ObjectLink, err) && !Unsupported(err) {
				return err
			}
			all = append(all, part...)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return keep(all, func(e Neighbour) bool { return link == 0 || e.Link == link }), nil
}

func (n *Namespace) newNeighbour(e Neighbour, flags uint16) error {
	r, err := e.key(unix.RTM_NEWNEIGH, flags)
	if err != nil {
		return err
	}
	if len(e.MAC) != 0 {
		r.bytes(unix.NDA_LLADDR, e.MAC)
	}
	if e.Protocol != 0 {
		r.u8(ndaProtocol, e.Protocol)
	}
	return n.change(r)
}

// key begins a request with what names the entry.
func (e Neighbour) key(typ, flags uint16) (*request, error) {
	if !e.Addr.IsValid() {
		return nil, fmt.Errorf("no address: %w", unix.EINVAL)
	}
	state, ntf := e.State, b2u8(e.Proxy)*unix.NTF_PROXY
	switch {
	case typ != unix.RTM_NEWNEIGH:
		state = 0
	case state == 0 && !e.Proxy:
		state = unix.NUD_PERMANENT
	}
	if typ == unix.RTM_NEWNEIGH {
		ntf |= b2u8(e.Router) * unix.NTF_ROUTER
	}
	r := newRequest(typ, flags, ndMsg(family(e.Addr), e.Link, state, ntf))
	r.addr(unix.NDA_DST, e.Addr)
	return r, nil
}

func decodeNeighbour(b []byte) (Neighbour, bool, error) {
	if len(b) < unix.SizeofNdMsg {
		return Neighbour{}, false, errMalformed
	}
	a := attrs{}
	if err := a.read(b[unix.SizeofNdMsg:]); err != nil {
		return Neighbour{}, false, err
	}
	e := Neighbour{
		Link:     getI32(b[4:]),
		Addr:     getAddr(a[unix.NDA_DST]),
		MAC:      hardwareAddr(a[unix.NDA_LLADDR]),
		State:    getU16(b[8:]),
		Proxy:    b[10]&unix.NTF_PROXY != 0,
		Router:   b[10]&unix.NTF_ROUTER != 0,
		Protocol: getU8(a[ndaProtocol]),
	}
	return e, b[0] == unix.AF_INET || b[0] == unix.AF_INET6, nil
}
