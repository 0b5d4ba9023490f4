package kernel

import (
	"strconv"

	"golang.org/x/sys/unix"
)

// SetLink changes a link, all of it in one message. It is an error (Absent
// ObjectLink) when there is none of that index. The kernel applies the changes
// one after another: after a failure some may have been made.
func (n *Namespace) SetLink(index int, c LinkChange) error {
	return n.call("link.set", strconv.Itoa(index), func() error { return n.setLink(index, c) })
}

func (n *Namespace) setLink(index int, c LinkChange) error {
	typ := uint16(unix.RTM_SETLINK)
	if c.Port != nil || c.Info != nil {
		// Only this one looks at the kind's and the port's own attributes.
		typ = unix.RTM_NEWLINK
	}
	flags, mask := c.flags()
	r := newRequest(typ, 0, ifInfo(index, flags, mask))
	if c.Name != nil {
		r.str(unix.IFLA_IFNAME, *c.Name)
	}
	if c.Alias != nil {
		r.bytes(unix.IFLA_IFALIAS, []byte(*c.Alias))
	}
	if c.Group != nil {
		r.u32(unix.IFLA_GROUP, *c.Group)
	}
	if c.Master != nil {
		r.u32(unix.IFLA_MASTER, uint32(*c.Master))
	}
	if c.Index != nil {
		r.u32(unix.IFLA_NEW_IFINDEX, uint32(*c.Index))
	}
	common := LinkSpec{TxQLen: c.TxQLen, MAC: c.MAC, Netns: c.Netns}
	if c.MTU != nil {
		common.MTU = *c.MTU
	}
	if err := common.encodeCommon(&r.encoder); err != nil {
		return err
	}
	encodeAddrGen(&r.encoder, c.AddrGenMode)
	if typ == unix.RTM_NEWLINK {
		if err := encodeInfo(&r.encoder, c.Info, c.Port); err != nil {
			return err
		}
	}
	return n.change(r)
}

func encodeAddrGen(e *encoder, m *AddrGenMode) {
	if m == nil {
		return
	}
	e.nest(unix.IFLA_AF_SPEC, func() {
		e.nest(unix.AF_INET6, func() { e.u8(unix.IFLA_INET6_ADDR_GEN_MODE, uint8(*m)) })
	})
}

// flags gives the wanted IFF_ flags, and which of them are meant.
func (c LinkChange) flags() (flags, mask uint32) {
	set := func(want *bool, flag uint32) {
		if want == nil {
			return
		}
		mask |= flag
		if *want {
			flags |= flag
		}
	}
	set(c.Up, unix.IFF_UP)
	set(c.Promisc, unix.IFF_PROMISC)
	set(c.AllMulti, unix.IFF_ALLMULTI)
	if c.ARP != nil {
		noARP := !*c.ARP
		set(&noARP, unix.IFF_NOARP)
	}
	return flags, mask
}

// DelLink removes a link, and what lives by it: its peer, its addresses and
// routes. It is false when there was none of that index.
func (n *Namespace) DelLink(index int) (bool, error) {
	return n.remove(ObjectLink, "link.del", strconv.Itoa(index), func() error {
		return n.change(newRequest(unix.RTM_DELLINK, 0, ifInfo(index, 0, 0)))
	})
}

// remove turns "there is none" into false.
func (n *Namespace) remove(k Object, op, object string, f func() error) (bool, error) {
	err := n.call(op, object, f)
	if Absent(k, err) {
		return false, nil
	}
	return err == nil, err
}
