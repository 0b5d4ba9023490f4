package kernel

import (
	"encoding/binary"
	"fmt"
	"net/netip"

	"golang.org/x/sys/unix"
)

// Scope says how far an address or a route is good.
type Scope uint8

// The scopes.
const (
	ScopeUniverse Scope = 0
	ScopeSite     Scope = 200
	ScopeLink     Scope = 253
	ScopeHost     Scope = 254
	ScopeNowhere  Scope = 255
)

// Address is an address of a link.
type Address struct {
	Link      int          // index
	Prefix    netip.Prefix // the address itself, with the length of its network
	Peer      netip.Addr   // the other end of a point-to-point link; else not set
	Broadcast netip.Addr   // IPv4
	Label     string       // IPv4: the link's name if not set
	Scope     Scope
	Metric    uint32 // of the route to its network

	NoDAD         bool // IPv6: usable at once
	NoPrefixRoute bool // no route to its network comes with it
	Home          bool
	Permanent     bool // not for a time only; a new address is, unless ValidLft is set

	ValidLft, PreferredLft uint32 // seconds; 0: for ever

	// What the kernel found out.
	Tentative  bool // IPv6: not known yet to be unique
	DADFailed  bool // IPv6: another one has it
	Secondary  bool // IPv4: not the first of its network
	Deprecated bool
}

const forever = ^uint32(0)

// family is AF_INET or AF_INET6.
func family(a netip.Addr) uint8 {
	if a.Is4() {
		return unix.AF_INET
	}
	return unix.AF_INET6
}

// ifAddr is struct ifaddrmsg.
func ifAddr(family uint8, bits int, scope Scope, index int) []byte {
	b := make([]byte, unix.SizeofIfAddrmsg)
	b[0], b[1], b[3] = family, uint8(bits), uint8(scope)
	binary.NativeEndian.PutUint32(b[4:], uint32(index))
	return b
}

// AddAddress gives an address to a link. It is an error (Exists) when the link
// has it.
func (n *Namespace) AddAddress(a Address) error {
	return n.call("address.add", a.Prefix.String(), func() error {
		return n.newAddress(a, unix.NLM_F_CREATE|unix.NLM_F_EXCL)
	})
}

// ReplaceAddress gives an address to a link, or changes the flags and
// lifetimes of one that it has.
func (n *Namespace) ReplaceAddress(a Address) error {
	return n.call("address.replace", a.Prefix.String(), func() error {
		return n.newAddress(a, unix.NLM_F_CREATE|unix.NLM_F_REPLACE)
	})
}

// DelAddress takes an address from a link; Link, Prefix and Peer name it. It
// is false when the link does not have it, or is not there.
func (n *Namespace) DelAddress(a Address) (bool, error) {
	ok, err := n.remove(ObjectAddress, "address.del", a.Prefix.String(), func() error {
		r, err := a.request(unix.RTM_DELADDR, 0)
		if err != nil {
			return err
		}
		return n.change(r)
	})
	if Absent(ObjectLink, err) {
		return false, nil
	}
	return ok, err
}

func (n *Namespace) newAddress(a Address, flags uint16) error {
	r, err := a.request(unix.RTM_NEWADDR, flags)
	if err != nil {
		return err
	}
	if a.Label != "" {
		r.str(unix.IFA_LABEL, a.Label)
	}
	r.addrIf(unix.IFA_BROADCAST, a.Broadcast)
	if a.Metric != 0 {
		r.u32(unix.IFA_RT_PRIORITY, a.Metric)
	}
	if f := a.flags(); f != 0 {
		r.u32(unix.IFA_FLAGS, f)
	}
	if a.ValidLft != 0 || a.PreferredLft != 0 {
		r.bytes(unix.IFA_CACHEINFO, cacheInfo(a.PreferredLft, a.ValidLft))
	}
	return n.change(r)
}

func (a Address) request(typ, flags uint16) (*request, error) {
	if !a.Prefix.IsValid() {
		return nil, fmt.Errorf("no address: %w", unix.EINVAL)
	}
	ip := a.Prefix.Addr()
	r := newRequest(typ, flags, ifAddr(family(ip), a.Prefix.Bits(), a.Scope, a.Link))
	r.addr(unix.IFA_LOCAL, ip)
	if a.Peer.IsValid() {
		ip = a.Peer
	}
	r.addr(unix.IFA_ADDRESS, ip)
	return r, nil
}

func (a Address) flags() uint32 {
	var f uint32
	for _, v := range []struct {
		on   bool
		flag uint32
	}{
		{a.NoDAD, unix.IFA_F_NODAD},
		{a.NoPrefixRoute, unix.IFA_F_NOPREFIXROUTE},
		{a.Home, unix.IFA_F_HOMEADDRESS},
	} {
		if v.on {
			f |= v.flag
		}
	}
	return f
}

// cacheInfo is struct ifa_cacheinfo.
func cacheInfo(preferred, valid uint32) []byte {
	if valid == 0 {
		valid = forever
	}
	if preferred == 0 {
		preferred = valid
	}
	b := make([]byte, unix.SizeofIfaCacheinfo)
	binary.NativeEndian.PutUint32(b[0:], preferred)
	binary.NativeEndian.PutUint32(b[4:], valid)
	return b
}

// Addresses lists the addresses of a link, IPv4's first, all of them; of
// every link if link is 0. A link that is not there has none.
func (n *Namespace) Addresses(link int) (all []Address, err error) {
	err = n.call("address.list", object(link), func() error {
		for _, f := range []uint8{unix.AF_INET, unix.AF_INET6} {
			// The kernel filters by the index: it was asked to be strict.
			r := newRequest(unix.RTM_GETADDR, 0, ifAddr(f, 0, 0, link))
			part, err := dumpFamily(n, f, r, decodeAddress)
			if err != nil && !Absent(ObjectLink, err) && !Unsupported(err) {
				return err
			}
			all = append(all, part...)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return keep(all, func(a Address) bool { return link == 0 || a.Link == link }), nil
}

func decodeAddress(b []byte) (Address, bool, error) {
	if len(b) < unix.SizeofIfAddrmsg {
		return Address{}, false, errMalformed
	}
	a := attrs{}
	if err := a.read(b[unix.SizeofIfAddrmsg:]); err != nil {
		return Address{}, false, err
	}
	flags := uint32(b[2])
	if v, ok := a[unix.IFA_FLAGS]; ok {
		flags = getU32(v)
	}
	ad := Address{
		Link:          int(getU32(b[4:])),
		Scope:         Scope(b[3]),
		Label:         text(a[unix.IFA_LABEL]),
		Broadcast:     getAddr(a[unix.IFA_BROADCAST]),
		Metric:        getU32(a[unix.IFA_RT_PRIORITY]),
		NoDAD:         flags&unix.IFA_F_NODAD != 0,
		NoPrefixRoute: flags&unix.IFA_F_NOPREFIXROUTE != 0,
		Home:          flags&unix.IFA_F_HOMEADDRESS != 0,
		Permanent:     flags&unix.IFA_F_PERMANENT != 0,
		Tentative:     flags&unix.IFA_F_TENTATIVE != 0,
		DADFailed:     flags&unix.IFA_F_DADFAILED != 0,
		Deprecated:    flags&unix.IFA_F_DEPRECATED != 0,
	}
	if b[0] == unix.AF_INET {
		ad.Secondary = flags&unix.IFA_F_SECONDARY != 0
	}
	ad.setAddrs(getAddr(a[unix.IFA_LOCAL]), getAddr(a[unix.IFA_ADDRESS]), int(b[1]))
	if ci := a[unix.IFA_CACHEINFO]; len(ci) >= 8 && getU32(ci[4:]) != forever {
		ad.PreferredLft, ad.ValidLft = getU32(ci), getU32(ci[4:])
	}
	return ad, true, nil
}

// setAddrs: IPv6 gives IFA_ADDRESS alone where there is no peer.
func (a *Address) setAddrs(local, address netip.Addr, bits int) {
	if !local.IsValid() {
		local = address
	}
	a.Prefix = netip.PrefixFrom(local, bits)
	if address != local {
		a.Peer = address
	}
}
