package kernel

import (
	"encoding/binary"
	"fmt"

	"golang.org/x/sys/unix"
)

// ifInfo is struct ifinfomsg.
func ifInfo(index int, flags, change uint32) []byte {
	b := make([]byte, unix.SizeofIfInfomsg)
	binary.NativeEndian.PutUint32(b[4:], uint32(index))
	binary.NativeEndian.PutUint32(b[8:], flags)
	binary.NativeEndian.PutUint32(b[12:], change)
	return b
}

// AddLink makes a link, all of it in one message. It is an error (Exists) when
// there is one of that name, or with the kind's own key (a VLAN's number).
func (n *Namespace) AddLink(s LinkSpec) error {
	return n.call("link.add", s.Name, func() error {
		if s.Kind == nil {
			return fmt.Errorf("no kind: %w", unix.EINVAL)
		}
		err := n.newLink(s)
		if s.Via != "" && Exists(err) && s.elsewhere(n) {
			return n.newLinkVia(s, err)
		}
		return err
	})
}

func (n *Namespace) newLink(s LinkSpec) error {
	up := b2u32(s.Up) * unix.IFF_UP
	r := newRequest(unix.RTM_NEWLINK, unix.NLM_F_CREATE|unix.NLM_F_EXCL, ifInfo(s.Index, up, up))
	if err := n.encodeParent(&r.encoder, s); err != nil {
		return err
	}
	if s.Group != 0 {
		r.u32(unix.IFLA_GROUP, s.Group)
	}
	if s.Master != 0 {
		r.u32(unix.IFLA_MASTER, uint32(s.Master))
	}
	if err := s.encodeCommon(&r.encoder); err != nil {
		return err
	}
	if err := encodeInfo(&r.encoder, s.Kind, nil); err != nil {
		return err
	}
	return n.change(r)
}

// newLinkVia makes the link under its other name, unless exists is about a
// link of the wanted name that is here, and renames it. Up comes last: a link
// that is up can't be renamed everywhere.
func (n *Namespace) newLinkVia(s LinkSpec, exists error) error {
	if _, taken, err := n.Link(s.Name); err != nil || taken {
		return exists
	}
	via := s
	via.Name, via.Up = s.Via, false
	if err := n.newLink(via); err != nil {
		return err
	}
	l, ok, err := n.Link(s.Via)
	if err == nil && !ok {
		err = unix.ENODEV
	}
	if err != nil {
		return fmt.Errorf("rename %s: %w", s.Via, err)
	}
	c := LinkChange{Name: &s.Name}
	if s.Up {
		c.Up = &s.Up
	}
	if err := n.setLink(l.Index, c); err != nil {
		_ = n.change(newRequest(unix.RTM_DELLINK, 0, ifInfo(l.Index, 0, 0)))
		return err
	}
	return nil
}

// elsewhere says whether the lower device is in another namespace than n.
func (s LinkSpec) elsewhere(n *Namespace) bool {
	return s.Parent != 0 && s.ParentNetns != nil && s.ParentNetns.id != n.id
}

// encodeParent names the lower device, where it is in another namespace by the
// number that it has in this one.
func (n *Namespace) encodeParent(e *encoder, s LinkSpec) error {
	if s.Parent == 0 {
		return nil
	}
	e.u32(unix.IFLA_LINK, uint32(s.Parent))
	if !s.elsewhere(n) {
		return nil
	}
	id, err := n.netnsID(s.ParentNetns)
	if err != nil {
		return err
	}
	e.u32(unix.IFLA_LINK_NETNSID, uint32(id))
	return nil
}

// encodeCommon appends what a veth's peer may have too.
func (s LinkSpec) encodeCommon(e *encoder) error {
	if s.Name != "" {
		e.str(unix.IFLA_IFNAME, s.Name)
	}
	if s.MTU != 0 {
		e.u32(unix.IFLA_MTU, uint32(s.MTU))
	}
	if s.TxQLen != nil {
		e.u32(unix.IFLA_TXQLEN, uint32(*s.TxQLen))
	}
	if len(s.MAC) != 0 {
		e.bytes(unix.IFLA_ADDRESS, s.MAC)
	}
	if s.NumTxQueues != 0 {
		e.u32(unix.IFLA_NUM_TX_QUEUES, uint32(s.NumTxQueues))
	}
	if s.NumRxQueues != 0 {
		e.u32(unix.IFLA_NUM_RX_QUEUES, uint32(s.NumRxQueues))
	}
	return e.namespace(unix.IFLA_NET_NS_FD, s.Netns)
}

// encodeInfo appends IFLA_LINKINFO: the link's kind with what belongs to it,
// and what belongs to it as a member of a bridge.
func encodeInfo(e *encoder, k LinkKind, p *BridgePort) error {
	var err error
	e.nest(unix.IFLA_LINKINFO, func() {
		if k != nil {
			e.str(unix.IFLA_INFO_KIND, k.Kind())
			e.nest(unix.IFLA_INFO_DATA, func() { err = k.encode(e) })
		}
		if p != nil {
			e.str(unix.IFLA_INFO_SLAVE_KIND, "bridge")
			e.nest(unix.IFLA_INFO_SLAVE_DATA, func() { p.encode(e) })
		}
	})
	return err
}
