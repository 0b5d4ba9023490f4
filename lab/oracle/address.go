package oracle

import (
	"bytes"
	"fmt"
	"net/netip"
	"strings"

	"golang.org/x/sys/unix"
)

// ipAddress is an address of a link.
type ipAddress struct {
	link         *link
	local, other netip.Prefix // other is the peer's, or the same
	flags        uint32
	scope        byte
	attrs        table
}

const (
	ifaProto         = 11 // IFA_PROTO, since Linux 5.18
	kernelLinkLocal  = 3  // IFAPROT_KERNEL_LL
	forever          = ^uint32(0)
	eui64Bit         = 0x02
	linkLocalFromMAC = "fe80::/64"
)

// listAddresses lists the addresses of the namespace, without those that the
// kernel gives to every link that is up: they come when they like.
func (ns *netns) listAddresses() ([]ipAddress, error) {
	answer, err := ns.conn.dump(unix.RTM_GETADDR, make([]byte, unix.SizeofIfAddrmsg))
	if err != nil {
		return nil, fmt.Errorf("addresses: %w", err)
	}
	var all []ipAddress
	for _, m := range answer {
		a, err := ns.decodeAddress(m.data)
		if err != nil {
			return nil, fmt.Errorf("addresses: %w", err)
		}
		if !a.ofKernel() {
			all = append(all, a)
		}
	}
	return all, nil
}

func (ns *netns) decodeAddress(data []byte) (a ipAddress, err error) {
	head, t, err := headed(data, unix.SizeofIfAddrmsg)
	if err != nil {
		return a, err
	}
	a = ipAddress{link: ns.byIdx[int32(native32(head, 4))], flags: uint32(head[2]), scope: head[3], attrs: t}
	if a.link == nil {
		return a, errMoved
	}
	if t.has(unix.IFA_FLAGS) {
		a.flags = t.u32(unix.IFA_FLAGS)
	}
	other := t.ip(unix.IFA_ADDRESS)
	local := other
	if t.has(unix.IFA_LOCAL) {
		local = t.ip(unix.IFA_LOCAL)
	}
	a.local, a.other = netip.PrefixFrom(local, int(head[1])), netip.PrefixFrom(other, int(head[1]))
	return a, nil
}

// ofKernel is true for the link-local address that the kernel makes from the MAC
// address or otherwise.
func (a ipAddress) ofKernel() bool {
	if !netip.MustParsePrefix(linkLocalFromMAC).Contains(a.local.Addr()) {
		return false
	}
	if p := a.attrs[ifaProto]; len(p) == 1 && p[0] == kernelLinkLocal {
		return true
	}
	m, b := a.link.mac, a.local.Addr().As16()
	return len(m) == 6 && bytes.Equal(b[8:], []byte{m[0] ^ eui64Bit, m[1], m[2], 0xff, 0xfe, m[3], m[4], m[5]})
}

// tellAddresses tells addresses. That of its prefix has its route goes without
// saying, but not that it has none.
func (ns *netns) tellAddresses(all []ipAddress, onLink func(*link, netip.Prefix) bool) {
	for _, a := range all {
		var value []string
		if a.other.Addr() != a.local.Addr() {
			value = append(value, "peer="+a.other.Addr().String())
		}
		value = append(value, schema{
			unix.IFA_BROADCAST: ip("brd"), unix.IFA_ANYCAST: ip("anycast"), unix.IFA_RT_PRIORITY: num("metric"), ifaProto: num("proto"),
			unix.IFA_LABEL:     {name: "label", show: plain(text), usual: a.link.name},
			unix.IFA_CACHEINFO: {name: "lifetime", show: plain(lifetime), usual: "forever"},
		}.renderKnown(ns, a.attrs)...)
		if a.scope != 0 {
			value = append(value, "scope="+scopeName(a.scope))
		}
		for _, f := range []struct {
			bit  uint32
			name string
		}{
			{unix.IFA_F_NODAD, "nodad"}, {unix.IFA_F_DADFAILED, "dadfailed"}, {unix.IFA_F_HOMEADDRESS, "home"},
			{unix.IFA_F_NOPREFIXROUTE, "noprefixroute"}, {unix.IFA_F_MANAGETEMPADDR, "mngtmpaddr"}, {unix.IFA_F_MCAUTOJOIN, "autojoin"},
		} {
			if a.flags&f.bit != 0 && (f.bit != unix.IFA_F_NODAD || a.local.Addr().Is6()) {
				value = append(value, f.name)
			}
		}
		if a.wantsRoute() && !onLink(a.link, a.other.Masked()) {
			value = append(value, "(its prefix has no route)")
		}
		ns.tell("address", a.local.String()+" dev "+a.link.name, strings.Join(value, " "))
	}
}

// wantsRoute is true when the kernel makes a route for the address's prefix.
func (a ipAddress) wantsRoute() bool {
	if a.link.flags&unix.IFF_UP == 0 || a.link.flags&unix.IFF_LOOPBACK != 0 || a.flags&unix.IFA_F_NOPREFIXROUTE != 0 {
		return false
	}
	if a.local.Addr().Is4() {
		return a.other.Bits() < 32 || a.other.Addr() != a.local.Addr()
	}
	return !a.local.Addr().IsLinkLocalUnicast() && a.flags&unix.IFA_F_DADFAILED == 0
}

// lifetime is all that is told of an address's: the rest is a clock.
func lifetime(b []byte) string {
	if len(b) < 8 {
		return "?"
	}
	preferred, valid := native32(b, 0), native32(b, 4)
	switch {
	case preferred == 0:
		return "deprecated"
	case valid != forever:
		return "limited"
	}
	return "forever"
}

func scopeName(s byte) string {
	return named(int(s), map[int]string{
		unix.RT_SCOPE_SITE: "site", unix.RT_SCOPE_LINK: "link", unix.RT_SCOPE_HOST: "host", unix.RT_SCOPE_NOWHERE: "nowhere",
	})
}
