package main

import (
	"encoding/binary"
	"net/netip"

	"golang.org/x/sys/unix"
)

// addresses parses the container's address with its length, and the gateway.
func addresses(address, gateway string) (netip.Prefix, netip.Addr, error) {
	p, err := netip.ParsePrefix(address)
	if err != nil {
		return p, netip.Addr{}, err
	}
	g, err := netip.ParseAddr(gateway)
	return p, g, err
}

func family(a netip.Addr) byte {
	if a.Is4() {
		return unix.AF_INET
	}
	return unix.AF_INET6
}

func newAddress(link int32, p netip.Prefix, flags uint32) message {
	h := make([]byte, unix.SizeofIfAddrmsg)
	h[0], h[1] = family(p.Addr()), byte(p.Bits())
	binary.NativeEndian.PutUint32(h[4:], uint32(link))
	a := p.Addr().AsSlice()
	return newMessage(unix.RTM_NEWADDR, create, h).
		attr(unix.IFA_LOCAL, a).attr(unix.IFA_ADDRESS, a).number(unix.IFA_FLAGS, flags)
}

// route is a unicast route of the main table. Without a gateway it is on the
// link; without dst it is the default one.
type route struct {
	dst     netip.Prefix
	gateway netip.Addr
	link    int32
}

func newRoute(r route) message {
	h := make([]byte, unix.SizeofRtMsg)
	h[4], h[5], h[6], h[7] = unix.RT_TABLE_MAIN, unix.RTPROT_BOOT, unix.RT_SCOPE_UNIVERSE, unix.RTN_UNICAST
	if r.dst.IsValid() {
		h[0], h[1] = family(r.dst.Addr()), byte(r.dst.Bits())
	}
	if r.gateway.IsValid() {
		h[0] = family(r.gateway)
	} else {
		h[6] = unix.RT_SCOPE_LINK
	}
	m := newMessage(unix.RTM_NEWROUTE, create, h)
	if r.dst.IsValid() {
		m = m.attr(unix.RTA_DST, r.dst.Addr().AsSlice())
	}
	if r.gateway.IsValid() {
		m = m.attr(unix.RTA_GATEWAY, r.gateway.AsSlice())
	}
	return m.number(unix.RTA_OIF, uint32(r.link))
}
