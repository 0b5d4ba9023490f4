package oracle

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// attrMask takes the flags off an attribute's number.
const attrMask = 0x3fff

// attr is a netlink attribute.
type attr struct {
	kind uint16
	data []byte
}

// list takes attributes apart.
func list(b []byte) ([]attr, error) {
	var all []attr
	for len(b) >= unix.NLA_HDRLEN {
		size := int(binary.NativeEndian.Uint16(b))
		if size < unix.NLA_HDRLEN || size > len(b) {
			return nil, errors.New("a netlink attribute is cut short")
		}
		all = append(all, attr{binary.NativeEndian.Uint16(b[2:]) & attrMask, b[unix.NLA_HDRLEN:size]})
		b = b[min(len(b), (size+3)&^3):]
	}
	return all, nil
}

// table is attributes by their number, the last of each.
type table map[uint16][]byte

func tableOf(b []byte) (table, error) {
	all, err := list(b)
	if err != nil {
		return nil, err
	}
	t := make(table, len(all))
	for _, a := range all {
		t[a.kind] = a.data
	}
	return t, nil
}

// headed is tableOf for a message with a fixed head of some bytes.
func headed(data []byte, head int) ([]byte, table, error) {
	if len(data) < head {
		return nil, nil, errors.New("a netlink message is cut short")
	}
	t, err := tableOf(data[head:])
	return data[:head], t, err
}

func (t table) u32(kind uint16) uint32    { return u32(t[kind]) }
func (t table) text(kind uint16) string   { return text(t[kind]) }
func (t table) has(kind uint16) bool      { _, ok := t[kind]; return ok }
func (t table) addr(kind uint16) string   { return address(t[kind]) }
func (t table) ip(kind uint16) netip.Addr { a, _ := netip.AddrFromSlice(t[kind]); return a }
func (t table) number(kind uint16) string { return number(t[kind]) }
func (t table) index(kind uint16) int32   { return int32(t.u32(kind)) }
func text(b []byte) string                { return strings.TrimRight(string(b), "\x00") }
func put16(b []byte, at int, v uint16)    { binary.NativeEndian.PutUint16(b[at:], v) }
func put32(b []byte, at int, v uint32)    { binary.NativeEndian.PutUint32(b[at:], v) }
func native16(b []byte, at int) uint16    { return binary.NativeEndian.Uint16(b[at:]) }
func native32(b []byte, at int) uint32    { return binary.NativeEndian.Uint32(b[at:]) }
func zero(b []byte) bool                  { return !slices.ContainsFunc(b, func(c byte) bool { return c != 0 }) }
func u32attr(kind uint16, v uint32) []byte {
	b := make([]byte, 8)
	put16(b, 0, 8)
	put16(b, 2, kind)
	put32(b, 4, v)
	return b
}

func u32(b []byte) uint32 {
	if len(b) < 4 {
		return 0
	}
	return native32(b, 0)
}

// number shows an integer of any size, in the machine's byte order.
func number(b []byte) string {
	switch len(b) {
	case 1:
		return strconv.Itoa(int(b[0]))
	case 2:
		return strconv.Itoa(int(native16(b, 0)))
	case 4:
		return strconv.FormatUint(uint64(native32(b, 0)), 10)
	case 8:
		return strconv.FormatUint(binary.NativeEndian.Uint64(b), 10)
	}
	return hex.EncodeToString(b)
}

// bigNumber shows one in the network's byte order.
func bigNumber(b []byte) string {
	b = slices.Clone(b)
	slices.Reverse(b)
	return number(b)
}

func address(b []byte) string {
	a, ok := netip.AddrFromSlice(b)
	if !ok {
		return hex.EncodeToString(b)
	}
	return a.String()
}

func mac(b []byte) string {
	parts := make([]string, len(b))
	for i, c := range b {
		parts[i] = hex.EncodeToString([]byte{c})
	}
	return strings.Join(parts, ":")
}

// field says how an attribute is shown: not at all without a show, nor when it
// is zero or as usual.
type field struct {
	name  string
	show  func(*netns, []byte) string
	usual string
}

func plain(f func([]byte) string) func(*netns, []byte) string {
	return func(_ *netns, b []byte) string { return f(b) }
}

// num, big, ip and dev are the fields that most attributes are.
func num(name string) field { return field{name: name, show: plain(number)} }
func big(name string) field { return field{name: name, show: plain(bigNumber)} }
func ip(name string) field  { return field{name: name, show: plain(address)} }
func dev(name string) field {
	return field{name: name, show: func(ns *netns, b []byte) string { return ns.linkName(int32(u32(b))) }}
}

// usually is a field with a value that goes without saying.
func (f field) usually(v string) field { f.usual = v; return f }

// schema says how the attributes of a thing are shown. One that it does not know
// is shown by its number, so that nothing is overlooked.
type schema map[uint16]field

// ignoring adds attributes that are not shown: counters, timers, what follows
// from others.
func (s schema) ignoring(kinds ...uint16) schema {
	for _, k := range kinds {
		s[k] = field{}
	}
	return s
}

func (s schema) render(ns *netns, raw []byte) ([]string, error) {
	all, err := list(raw)
	if err != nil {
		return nil, err
	}
	return s.renderAll(ns, all), nil
}

func (s schema) renderAll(ns *netns, all []attr) []string {
	slices.SortStableFunc(all, func(a, b attr) int { return int(a.kind) - int(b.kind) })
	var parts []string
	for _, a := range all {
		f, known := s[a.kind]
		if !known {
			f = field{name: fmt.Sprintf("attribute%d", a.kind), show: plain(hex.EncodeToString)}
		}
		if f.show == nil || (zero(a.data) && (f.usual == "" || f.usual == "0")) {
			continue
		}
		if v := f.show(ns, a.data); v != f.usual {
			parts = append(parts, f.name+"="+v)
		}
	}
	return parts
}
