package kernel

import (
	"bytes"
	"encoding/binary"
	"errors"
	"net/netip"
	"strconv"

	"golang.org/x/sys/unix"
)

var errMalformed = errors.New("malformed answer")

func align(n int) int { return (n + unix.NLA_ALIGNTO - 1) &^ (unix.NLA_ALIGNTO - 1) }

// encoder appends netlink attributes, in the machine's byte order unless the
// name says otherwise.
type encoder struct{ b []byte }

// open begins an attribute and gives its place, for end.
func (e *encoder) open(t uint16) int {
	at := len(e.b)
	e.b = binary.NativeEndian.AppendUint16(e.b, 0)
	e.b = binary.NativeEndian.AppendUint16(e.b, t)
	return at
}

func (e *encoder) end(at int) {
	binary.NativeEndian.PutUint16(e.b[at:], uint16(len(e.b)-at))
	for len(e.b)%unix.NLA_ALIGNTO != 0 {
		e.b = append(e.b, 0)
	}
}

func (e *encoder) bytes(t uint16, v []byte) {
	at := e.open(t)
	e.b = append(e.b, v...)
	e.end(at)
}

func (e *encoder) str(t uint16, v string) {
	at := e.open(t)
	e.b = append(append(e.b, v...), 0)
	e.end(at)
}

func (e *encoder) flag(t uint16)         { e.end(e.open(t)) }
func (e *encoder) u8(t uint16, v uint8)  { e.bytes(t, []byte{v}) }
func (e *encoder) bool(t uint16, v bool) { e.u8(t, b2u8(v)) }
func (e *encoder) u16(t, v uint16)       { e.bytes(t, binary.NativeEndian.AppendUint16(nil, v)) }
func (e *encoder) be16(t, v uint16)      { e.bytes(t, binary.BigEndian.AppendUint16(nil, v)) }
func (e *encoder) u32(t uint16, v uint32) {
	e.bytes(t, binary.NativeEndian.AppendUint32(nil, v))
}
func (e *encoder) be32(t uint16, v uint32) { e.bytes(t, binary.BigEndian.AppendUint32(nil, v)) }

func (e *encoder) addr(t uint16, a netip.Addr) { e.bytes(t, a.AsSlice()) }

// addrIf leaves an address out that is not set.
func (e *encoder) addrIf(t uint16, a netip.Addr) {
	if a.IsValid() {
		e.addr(t, a)
	}
}

// addr46 is for what has an attribute a family.
func (e *encoder) addr46(t4, t6 uint16, a netip.Addr) {
	if a.Is4() {
		e.addr(t4, a)
	} else {
		e.addrIf(t6, a)
	}
}

// nest puts what f appends inside an attribute.
func (e *encoder) nest(t uint16, f func()) {
	at := e.open(t)
	f()
	e.end(at)
}

func b2u32(v bool) uint32 { return uint32(b2u8(v)) }

func b2u8(v bool) uint8 {
	if v {
		return 1
	}
	return 0
}

// eachAttr calls f for each attribute in b, with the flags of its type taken
// off.
func eachAttr(b []byte, f func(t uint16, v []byte) error) error {
	for len(b) >= unix.SizeofNlAttr {
		size := int(binary.NativeEndian.Uint16(b))
		if size < unix.SizeofNlAttr || size > len(b) {
			return errMalformed
		}
		t := binary.NativeEndian.Uint16(b[2:]) &^ (unix.NLA_F_NESTED | unix.NLA_F_NET_BYTEORDER)
		if err := f(t, b[unix.SizeofNlAttr:size]); err != nil {
			return err
		}
		b = b[min(align(size), len(b)):]
	}
	return nil
}

// Values of attributes. One that is too short reads as 0.

func getU8(v []byte) uint8 {
	if len(v) < 1 {
		return 0
	}
	return v[0]
}

func getU16(v []byte) uint16 {
	if len(v) < 2 {
		return 0
	}
	return binary.NativeEndian.Uint16(v)
}

func getBE16(v []byte) uint16 {
	if len(v) < 2 {
		return 0
	}
	return binary.BigEndian.Uint16(v)
}

func getU32(v []byte) uint32 {
	if len(v) < 4 {
		return 0
	}
	return binary.NativeEndian.Uint32(v)
}

func getBE32(v []byte) uint32 {
	if len(v) < 4 {
		return 0
	}
	return binary.BigEndian.Uint32(v)
}

func getI32(v []byte) int { return int(int32(getU32(v))) }

func getAddr(v []byte) netip.Addr {
	a, _ := netip.AddrFromSlice(v)
	return a
}

// text is a string that may end in a zero byte.
func text(v []byte) string {
	if i := bytes.IndexByte(v, 0); i >= 0 {
		v = v[:i]
	}
	return string(v)
}

// attrs are attributes by type. They share the memory that they were read from.
type attrs map[uint16][]byte

func (a attrs) read(b []byte) error {
	return eachAttr(b, func(t uint16, v []byte) error {
		a[t] = v
		return nil
	})
}

func (a attrs) has(t uint16) bool {
	_, ok := a[t]
	return ok
}

func (a attrs) bool(t uint16) *bool {
	v, ok := a[t]
	if !ok {
		return nil
	}
	on := getU8(v) != 0
	return &on
}

func (a attrs) u16(t uint16) *uint16 {
	v, ok := a[t]
	if !ok {
		return nil
	}
	u := getU16(v)
	return &u
}

func (a attrs) u32(t uint16) *uint32 {
	v, ok := a[t]
	if !ok {
		return nil
	}
	u := getU32(v)
	return &u
}

// addr46 is the address of either attribute; all zeroes is none.
func (a attrs) addr46(t4, t6 uint16) netip.Addr {
	for _, t := range []uint16{t4, t6} {
		if ip := getAddr(a[t]); ip.IsValid() && !ip.IsUnspecified() {
			return ip
		}
	}
	return netip.Addr{}
}

// object names a link by its index; 0 is all of them.
func object(index int) string {
	if index == 0 {
		return ""
	}
	return strconv.Itoa(index)
}
