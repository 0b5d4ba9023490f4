package main

import (
	"errors"
	"fmt"
	"net/netip"

	"golang.org/x/sys/unix"
)

// setElement adds an address to a named set of the inet family, or removes it.
// One rule that masquerades what comes from the set exists already, so this is
// the least that masquerades one more container. None to remove is fine.
func setElement(a netip.Addr, table, set string, add bool) error {
	typ, flags := uint16(unix.NFT_MSG_NEWSETELEM), uint16(create)
	if !add {
		typ, flags = unix.NFT_MSG_DELSETELEM, unix.NLM_F_ACK
	}
	m := newMessage(unix.NFNL_SUBSYS_NFTABLES<<8|typ, flags, []byte{unix.NFPROTO_INET, unix.NFNETLINK_V0, 0, 0}).
		text(unix.NFTA_SET_ELEM_LIST_TABLE, table).
		text(unix.NFTA_SET_ELEM_LIST_SET, set).
		nest(nested(unix.NFTA_SET_ELEM_LIST_ELEMENTS), func(m message) message {
			return m.nest(nested(unix.NFTA_LIST_ELEM), func(m message) message {
				return m.nest(nested(unix.NFTA_SET_ELEM_KEY), func(m message) message {
					return m.attr(unix.NFTA_DATA_VALUE, a.AsSlice())
				})
			})
		})
	c, err := dial(unix.NETLINK_NETFILTER)
	if err != nil {
		return err
	}
	err = c.do(batch(unix.NFNL_MSG_BATCH_BEGIN), m, batch(unix.NFNL_MSG_BATCH_END))
	if err != nil && (add || !errors.Is(err, unix.ENOENT)) {
		return fmt.Errorf("set %s: %w", set, err)
	}
	return nil
}

func nested(typ uint16) uint16 { return typ | unix.NLA_F_NESTED }

// batch is a message that begins or ends an nftables transaction; it names the
// subsystem, in network order.
func batch(typ uint16) message {
	return newMessage(typ, 0, []byte{unix.AF_UNSPEC, unix.NFNETLINK_V0, 0, unix.NFNL_SUBSYS_NFTABLES})
}
