package kernel

import (
	"maps"
	"net/netip"
	"slices"

	"golang.org/x/sys/unix"
)

func decodeIPRule(b []byte) (Rule, bool, error) {
	if len(b) < unix.SizeofRtMsg {
		return Rule{}, false, errMalformed
	}
	a := attrs{}
	if err := a.read(b[unix.SizeofRtMsg:]); err != nil {
		return Rule{}, false, err
	}
	r := Rule{
		Family:   int(b[0]),
		TOS:      b[3],
		Table:    uint32(b[4]),
		Action:   RuleAction(b[7]),
		Invert:   getU32(b[8:])&unix.FIB_RULE_INVERT != 0,
		Priority: int(getU32(a[unix.FRA_PRIORITY])),
		From:     decodePrefix(a[unix.FRA_SRC], b[2]),
		To:       decodePrefix(a[unix.FRA_DST], b[1]),
		InLink:   text(a[unix.FRA_IIFNAME]),
		OutLink:  text(a[unix.FRA_OIFNAME]),
		Mark:     getU32(a[unix.FRA_FWMARK]),
		Mask:     getU32(a[unix.FRA_FWMASK]),
		IPProto:  getU8(a[unix.FRA_IP_PROTO]),
		SrcPorts: decodePorts(a[unix.FRA_SPORT_RANGE]),
		DstPorts: decodePorts(a[unix.FRA_DPORT_RANGE]),
		L3MDev:   getU8(a[unix.FRA_L3MDEV]) != 0,
		Goto:     int(getU32(a[unix.FRA_GOTO])),
		Protocol: int(getU8(a[unix.FRA_PROTOCOL])),
	}
	if v, ok := a[unix.FRA_TABLE]; ok {
		r.Table = getU32(v)
	}
	// All bits set says that none are suppressed.
	if v, ok := a[unix.FRA_SUPPRESS_PREFIXLEN]; ok && getI32(v) >= 0 {
		l := getI32(v)
		r.SuppressPrefixLen = &l
	}
	r.Other = otherAttrs(a)
	return r, r.Family == unix.AF_INET || r.Family == unix.AF_INET6, nil
}

// Of Linux 6.15, and in no list of x/sys/unix yet.
const (
	fraSrcPortMask = 0x1c
	fraDstPortMask = 0x1d
)

// otherAttrs are those that have no field in Rule.
func otherAttrs(a attrs) string {
	var e encoder
	for _, t := range slices.Sorted(maps.Keys(a)) {
		switch t {
		case unix.FRA_PRIORITY, unix.FRA_SRC, unix.FRA_DST, unix.FRA_IIFNAME, unix.FRA_OIFNAME, unix.FRA_FWMARK,
			unix.FRA_FWMASK, unix.FRA_IP_PROTO, unix.FRA_SPORT_RANGE, unix.FRA_DPORT_RANGE, unix.FRA_L3MDEV,
			unix.FRA_GOTO, unix.FRA_PROTOCOL, unix.FRA_TABLE, unix.FRA_SUPPRESS_PREFIXLEN, unix.FRA_PAD:
		case fraSrcPortMask, fraDstPortMask:
			if getU16(a[t]) != 0xffff { // else it is one port, as every kernel says it
				e.bytes(t, a[t])
			}
		default:
			e.bytes(t, a[t])
		}
	}
	return string(e.b)
}

func decodePrefix(v []byte, bits uint8) netip.Prefix {
	ip := getAddr(v)
	if !ip.IsValid() {
		return netip.Prefix{}
	}
	return netip.PrefixFrom(ip, int(bits))
}

func decodePorts(v []byte) PortRange {
	if len(v) < 4 {
		return PortRange{}
	}
	return PortRange{First: getU16(v), Last: getU16(v[2:])}
}
