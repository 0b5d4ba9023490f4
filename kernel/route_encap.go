package kernel

import (
	"encoding/binary"
	"fmt"
	"net/netip"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// TunnelEncap tells a tunnel with CollectMetadata where to send. The family is
// that of Remote.
type TunnelEncap struct {
	ID            uint64 // VNI or key
	Local, Remote netip.Addr
	TTL, TOS      uint8
}

// SRv6Encap wraps packets in IPv6 with a segment routing header.
type SRv6Encap struct {
	Mode     SRv6Mode
	Segments []netip.Addr // in the order of travel
}

// SRv6Mode says how the segments are attached.
type SRv6Mode uint32

// The modes of SRv6 encapsulation.
const (
	SRv6Inline SRv6Mode = iota
	SRv6Wrap
	SRv6L2
	SRv6WrapReduced
	SRv6L2Reduced
)

// SRv6Local is what is done with packets for a local segment.
type SRv6Local struct {
	Action   SRv6Action
	Table    uint32 // End.T, End.DT6
	VRFTable uint32 // End.DT4, End.DT46, and End.DT6 by VRF
	NextHop  netip.Addr
	OutLink  int
}

// SRv6Action is the behaviour of a local segment.
type SRv6Action uint32

// Behaviours of a local segment.
const (
	SRv6End     SRv6Action = 1
	SRv6EndX    SRv6Action = 2
	SRv6EndT    SRv6Action = 3
	SRv6EndDX6  SRv6Action = 5
	SRv6EndDX4  SRv6Action = 6
	SRv6EndDT6  SRv6Action = 7
	SRv6EndDT4  SRv6Action = 8
	SRv6EndDT46 SRv6Action = 16
)

// String is the name that RFC 8986 gives it.
func (a SRv6Action) String() string {
	switch a {
	case SRv6End:
		return "End"
	case SRv6EndX:
		return "End.X"
	case SRv6EndT:
		return "End.T"
	case SRv6EndDX6:
		return "End.DX6"
	case SRv6EndDX4:
		return "End.DX4"
	case SRv6EndDT6:
		return "End.DT6"
	case SRv6EndDT4:
		return "End.DT4"
	case SRv6EndDT46:
		return "End.DT46"
	}
	return fmt.Sprintf("action %d", uint32(a))
}

// OpaqueEncap is what a look-up gives for an encapsulation that is not here.
type OpaqueEncap uint16

// The attributes of enum lwtunnel_ip_t; those of IPv6 are the same.
const (
	lwtID  = 1
	lwtDst = 2
	lwtSrc = 3
	lwtTTL = 4
	lwtTOS = 5
)

func (t TunnelEncap) encapType() uint16 {
	if t.Remote.Is4() {
		return unix.LWTUNNEL_ENCAP_IP
	}
	return unix.LWTUNNEL_ENCAP_IP6
}

func (SRv6Encap) encapType() uint16     { return unix.LWTUNNEL_ENCAP_SEG6 }
func (SRv6Local) encapType() uint16     { return unix.LWTUNNEL_ENCAP_SEG6_LOCAL }
func (o OpaqueEncap) encapType() uint16 { return uint16(o) }

func (t TunnelEncap) encode(e *encoder) {
	e.bytes(lwtID, binary.BigEndian.AppendUint64(nil, t.ID))
	e.addrIf(lwtDst, t.Remote)
	e.addrIf(lwtSrc, t.Local)
	if t.TTL != 0 {
		e.u8(lwtTTL, t.TTL)
	}
	if t.TOS != 0 {
		e.u8(lwtTOS, t.TOS)
	}
}

// srhFixed is the length of struct ipv6_sr_hdr before its segments.
const srhFixed = 8

// encode appends struct seg6_iptunnel_encap, with the segments in the order of
// the wire: the last one first.
func (s SRv6Encap) encode(e *encoder) {
	segs := s.Segments
	if s.Mode == SRv6Inline {
		// The last segment is the packet's own destination: the kernel fills it in.
		segs = append(append([]netip.Addr(nil), segs...), netip.IPv6Unspecified())
	}
	b := binary.NativeEndian.AppendUint32(nil, uint32(s.Mode))
	last := byte(len(segs) - 1)
	b = append(b, 0, byte(2*len(segs)), 4 /* segment routing */, last, last, 0, 0, 0)
	for i := len(segs) - 1; i >= 0; i-- {
		b = append(b, segs[i].AsSlice()...)
	}
	e.bytes(nl.SEG6_IPTUNNEL_SRH, b)
}

func (s SRv6Local) encode(e *encoder) {
	e.u32(nl.SEG6_LOCAL_ACTION, uint32(s.Action))
	if s.Table != 0 {
		e.u32(nl.SEG6_LOCAL_TABLE, s.Table)
	}
	if s.VRFTable != 0 {
		e.u32(nl.SEG6_LOCAL_VRFTABLE, s.VRFTable)
	}
	e.addr46(nl.SEG6_LOCAL_NH4, nl.SEG6_LOCAL_NH6, s.NextHop)
	if s.OutLink != 0 {
		e.u32(nl.SEG6_LOCAL_OIF, uint32(s.OutLink))
	}
}

func (OpaqueEncap) encode(*encoder) {}

// decodeEncap reads RTA_ENCAP; nil when there is none.
func decodeEncap(route attrs) (Encap, error) {
	if !route.has(unix.RTA_ENCAP_TYPE) {
		return nil, nil
	}
	typ := getU16(route[unix.RTA_ENCAP_TYPE])
	a := attrs{}
	if err := a.read(route[unix.RTA_ENCAP]); err != nil {
		return nil, err
	}
	switch typ {
	case unix.LWTUNNEL_ENCAP_IP, unix.LWTUNNEL_ENCAP_IP6:
		return decodeTunnelEncap(a), nil
	case unix.LWTUNNEL_ENCAP_SEG6:
		return decodeSRv6Encap(a[nl.SEG6_IPTUNNEL_SRH])
	case unix.LWTUNNEL_ENCAP_SEG6_LOCAL:
		return SRv6Local{
			Action:   SRv6Action(getU32(a[nl.SEG6_LOCAL_ACTION])),
			Table:    getU32(a[nl.SEG6_LOCAL_TABLE]),
			VRFTable: getU32(a[nl.SEG6_LOCAL_VRFTABLE]),
			NextHop:  a.addr46(nl.SEG6_LOCAL_NH4, nl.SEG6_LOCAL_NH6),
			OutLink:  getI32(a[nl.SEG6_LOCAL_OIF]),
		}, nil
	}
	return OpaqueEncap(typ), nil
}

func decodeTunnelEncap(a attrs) TunnelEncap {
	t := TunnelEncap{
		Remote: a.addr46(lwtDst, lwtDst),
		Local:  a.addr46(lwtSrc, lwtSrc),
		TTL:    getU8(a[lwtTTL]),
		TOS:    getU8(a[lwtTOS]),
	}
	if v := a[lwtID]; len(v) == 8 {
		t.ID = binary.BigEndian.Uint64(v)
	}
	return t
}

func decodeSRv6Encap(b []byte) (Encap, error) {
	if len(b) < 4+srhFixed || (len(b)-4-srhFixed)%16 != 0 {
		return nil, errMalformed
	}
	s := SRv6Encap{Mode: SRv6Mode(getU32(b))}
	for b = b[4+srhFixed:]; len(b) > 0; b = b[16:] {
		s.Segments = append([]netip.Addr{getAddr(b[:16])}, s.Segments...)
	}
	if s.Mode == SRv6Inline && len(s.Segments) > 0 {
		s.Segments = s.Segments[:len(s.Segments)-1]
	}
	return s, nil
}
