package kernel

import (
	"net/netip"

	"golang.org/x/sys/unix"
)

// The family of generic netlink that sets SRv6 up (linux/seg6_genl.h).
const (
	seg6Family    = "SEG6"
	seg6Version   = 1
	seg6SetTunSrc = 3
	seg6GetTunSrc = 4
	seg6AttrDst   = 1
)

// SRv6Source is the source address of the packets that SRv6Encap makes; the
// zero Addr: the kernel takes one of the link that the route leads by. There is
// one for the whole namespace. It is false where this kernel has no SRv6.
func (n *Namespace) SRv6Source() (source netip.Addr, ok bool, err error) {
	err = n.call("seg6.get", "source", func() error {
		return n.generic(seg6Family, seg6Version, seg6GetTunSrc, func(*encoder) {}, func(a attrs) {
			if source = getAddr(a[seg6AttrDst]); source.IsUnspecified() {
				source = netip.Addr{}
			}
		})
	})
	if Absent(ObjectFamily, err) || Unsupported(err) {
		return netip.Addr{}, false, nil
	}
	return source, err == nil, err
}

// SetSRv6Source sets it; the zero Addr leaves the choice to the kernel again.
func (n *Namespace) SetSRv6Source(source netip.Addr) error {
	if !source.IsValid() {
		source = netip.IPv6Unspecified()
	}
	return n.call("seg6.set", source.String(), func() error {
		return n.generic(seg6Family, seg6Version, seg6SetTunSrc, func(e *encoder) { e.addr(seg6AttrDst, source) }, nil)
	})
}

// generic makes one call of a family of generic netlink, on a socket of its
// own: such calls are rare. each, where there is one, gets the answer.
func (n *Namespace) generic(family string, version, command uint8, encode func(*encoder), each func(attrs)) error {
	var s *socket
	err := n.do(func() (err error) {
		s, err = openSocket(unix.NETLINK_GENERIC)
		return err
	})
	if err != nil {
		return err
	}
	defer s.close()
	find := newRequest(unix.GENL_ID_CTRL, 0, genlHeader(unix.CTRL_CMD_GETFAMILY, 1))
	find.str(unix.CTRL_ATTR_FAMILY_NAME, family)
	var id uint16
	_, err = s.exchange(find, readGeneric(func(a attrs) { id = getU16(a[unix.CTRL_ATTR_FAMILY_ID]) }))
	if err != nil {
		return err
	}
	r := newRequest(id, 0, genlHeader(command, version))
	encode(&r.encoder)
	if each == nil {
		r.acknowledged()
		_, err = s.exchange(r, nil)
		return err
	}
	_, err = s.exchange(r, readGeneric(each))
	return err
}

// genlHeader is struct genlmsghdr.
func genlHeader(command, version uint8) []byte { return []byte{command, version, 0, 0} }

func readGeneric(each func(attrs)) func(b []byte) error {
	return func(b []byte) error {
		if len(b) < unix.GENL_HDRLEN {
			return errMalformed
		}
		a := attrs{}
		if err := a.read(b[unix.GENL_HDRLEN:]); err != nil {
			return err
		}
		each(a)
		return nil
	}
}
