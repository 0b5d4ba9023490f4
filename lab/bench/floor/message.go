package main

import (
	"encoding/binary"

	"golang.org/x/sys/unix"
)

// message is one netlink message while it is being written.
type message []byte

// newMessage begins a message of type typ that asks for an acknowledgement;
// header is the fixed part that the type prescribes.
func newMessage(typ, flags uint16, header []byte) message {
	m := make(message, unix.SizeofNlMsghdr, 256)
	binary.NativeEndian.PutUint16(m[4:], typ)
	binary.NativeEndian.PutUint16(m[6:], flags|unix.NLM_F_REQUEST)
	return append(m, header...)
}

// attr appends an attribute, padded to four bytes as netlink wants it.
func (m message) attr(typ uint16, data []byte) message {
	m = binary.NativeEndian.AppendUint16(m, uint16(unix.SizeofNlAttr+len(data)))
	m = binary.NativeEndian.AppendUint16(m, typ)
	m = append(m, data...)
	for len(m)%unix.NLMSG_ALIGNTO != 0 {
		m = append(m, 0)
	}
	return m
}

// text appends a string attribute, with the zero byte at its end.
func (m message) text(typ uint16, s string) message { return m.attr(typ, append([]byte(s), 0)) }

// number appends a 32-bit attribute in the machine's order.
func (m message) number(typ uint16, n uint32) message {
	return m.attr(typ, binary.NativeEndian.AppendUint32(nil, n))
}

// nest appends an attribute that holds what inside appends.
func (m message) nest(typ uint16, inside func(message) message) message {
	start := len(m)
	m = inside(m.attr(typ, nil))
	binary.NativeEndian.PutUint16(m[start:], uint16(len(m)-start))
	return m
}

// linkHeader is struct ifinfomsg; up says whether the link is to be put up.
func linkHeader(index int32, change, up bool) []byte {
	h := make([]byte, unix.SizeofIfInfomsg)
	binary.NativeEndian.PutUint32(h[4:], uint32(index))
	if up {
		binary.NativeEndian.PutUint32(h[8:], unix.IFF_UP)
	}
	if change {
		binary.NativeEndian.PutUint32(h[12:], unix.IFF_UP)
	}
	return h
}
