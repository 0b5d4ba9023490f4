package inject

import (
	"encoding/binary"

	"golang.org/x/sys/unix"
)

// A Message is one request of netlink.
type Message struct {
	Type, Flags uint16
	Seq         uint32
	Body        []byte // behind the header

	// What an Event knows besides.
	Name      string   // of the type: "RTM_DELLINK", "NFT_MSG_NEWRULE"
	Link      string   // name of the interface that it is about, or has as its device
	Addresses []string // "192.0.2.1/24"
	Text      string   // one line for people

	whole []byte
}

// Messages takes apart what is sent by a socket of netlink. What makes no
// sense ends the list.
func Messages(sent []byte) []Message {
	var all []Message
	for len(sent) >= unix.SizeofNlMsghdr {
		size := int(binary.NativeEndian.Uint32(sent))
		if size < unix.SizeofNlMsghdr || size > len(sent) {
			break
		}
		all = append(all, Message{
			Type: binary.NativeEndian.Uint16(sent[4:]), Flags: binary.NativeEndian.Uint16(sent[6:]),
			Seq: binary.NativeEndian.Uint32(sent[8:]), Body: sent[unix.SizeofNlMsghdr:size],
			whole: sent[:size],
		})
		sent = sent[min(align(size), len(sent)):]
	}
	return all
}

// LinkIndex is the interface that a message about a link (RTM_…LINK) is about,
// by its index; 0 where it is named otherwise.
func (m Message) LinkIndex() int {
	if len(m.Body) < unix.SizeofIfInfomsg {
		return 0
	}
	return int(int32(binary.NativeEndian.Uint32(m.Body[4:])))
}

// Attributes are those behind the first size bytes of the body, by their type;
// of several of one type, the last.
func (m Message) Attributes(size int) map[uint16][]byte {
	all := map[uint16][]byte{}
	if len(m.Body) < size {
		return all
	}
	for b := m.Body[size:]; len(b) >= unix.SizeofNlAttr; {
		n := int(binary.NativeEndian.Uint16(b))
		if n < unix.SizeofNlAttr || n > len(b) {
			break
		}
		all[binary.NativeEndian.Uint16(b[2:])&^(unix.NLA_F_NESTED|unix.NLA_F_NET_BYTEORDER)] = b[unix.SizeofNlAttr:n]
		b = b[min(align(n), len(b)):]
	}
	return all
}

// align rounds up to netlink's boundary of 4 bytes.
func align(n int) int { return (n + 3) &^ 3 }
