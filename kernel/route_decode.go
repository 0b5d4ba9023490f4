package kernel

import (
	"net/netip"

	"golang.org/x/sys/unix"
)

func decodeRoute(b []byte) (Route, bool, error) {
	if len(b) < unix.SizeofRtMsg {
		return Route{}, false, errMalformed
	}
	any := netip.IPv4Unspecified()
	switch b[0] {
	case unix.AF_INET:
	case unix.AF_INET6:
		any = netip.IPv6Unspecified()
	default:
		// A dump of a family that has no routes may tell of others'.
		return Route{}, false, nil
	}
	scope := Scope(b[6])
	flags := getU32(b[8:])
	r := Route{
		Table:    uint32(b[4]),
		TOS:      b[3],
		Protocol: int(b[5]),
		Scope:    &scope,
		Type:     RouteType(b[7]),
		OnLink:   flags&unix.RTNH_F_ONLINK != 0,
		Dead:     flags&unix.RTNH_F_DEAD != 0,
		LinkDown: flags&unix.RTNH_F_LINKDOWN != 0,
		Cloned:   flags&unix.RTM_F_CLONED != 0,
	}
	dst, bits := any, int(b[1])
	a := attrs{}
	if err := a.read(b[unix.SizeofRtMsg:]); err != nil {
		return Route{}, false, err
	}
	if ip := getAddr(a[unix.RTA_DST]); ip.IsValid() {
		dst = ip
	}
	r.Dst = netip.PrefixFrom(dst, bits)
	if v, ok := a[unix.RTA_TABLE]; ok {
		r.Table = getU32(v)
	}
	r.Source = getAddr(a[unix.RTA_PREFSRC])
	r.Link = getI32(a[unix.RTA_OIF])
	r.Metric = int(getU32(a[unix.RTA_PRIORITY]))
	r.NHID = getU32(a[rtaNHID])
	r.Gateway = decodeGateway(a)
	var err error
	if r.Encap, err = decodeEncap(a); err != nil {
		return Route{}, false, err
	}
	if r.NextHops, err = decodeNextHops(a[unix.RTA_MULTIPATH]); err != nil {
		return Route{}, false, err
	}
	return r, true, eachAttr(a[unix.RTA_METRICS], func(t uint16, v []byte) error {
		switch t {
		case unix.RTAX_MTU:
			r.MTU = getI32(v)
		case unix.RTAX_ADVMSS:
			r.AdvMSS = getI32(v)
		}
		return nil
	})
}

func decodeGateway(a attrs) netip.Addr {
	if v := a[unix.RTA_VIA]; len(v) > 2 {
		return getAddr(v[2:])
	}
	return getAddr(a[unix.RTA_GATEWAY])
}

func decodeNextHops(b []byte) ([]NextHop, error) {
	var all []NextHop
	for len(b) >= unix.SizeofRtNexthop {
		size := int(getU16(b))
		if size < unix.SizeofRtNexthop || size > len(b) {
			return nil, errMalformed
		}
		a := attrs{}
		if err := a.read(b[unix.SizeofRtNexthop:size]); err != nil {
			return nil, err
		}
		encap, err := decodeEncap(a)
		if err != nil {
			return nil, err
		}
		all = append(all, NextHop{
			Gateway: decodeGateway(a),
			Link:    getI32(b[4:]),
			Weight:  int(b[3]) + 1,
			OnLink:  b[2]&unix.RTNH_F_ONLINK != 0,
			Encap:   encap,
		})
		b = b[min(align(size), len(b)):]
	}
	return all, nil
}
