package kernel

import (
	"encoding/binary"
	"fmt"
	"net/netip"

	"golang.org/x/sys/unix"
)

// MainTable is the routing table that is used unless another is named.
const MainTable uint32 = unix.RT_TABLE_MAIN

// rtaNHID is RTA_NH_ID.
const rtaNHID = 30

// RouteType says what is done with a packet; the zero value is unicast.
type RouteType uint8

// The types of routes.
const (
	RouteUnicast     RouteType = unix.RTN_UNICAST
	RouteLocal       RouteType = unix.RTN_LOCAL
	RouteBroadcast   RouteType = unix.RTN_BROADCAST
	RouteAnycast     RouteType = unix.RTN_ANYCAST
	RouteMulticast   RouteType = unix.RTN_MULTICAST
	RouteBlackhole   RouteType = unix.RTN_BLACKHOLE
	RouteUnreachable RouteType = unix.RTN_UNREACHABLE
	RouteProhibit    RouteType = unix.RTN_PROHIBIT
	RouteThrow       RouteType = unix.RTN_THROW
)

// Route is an entry of a routing table. In a call that makes one, what is left
// zero is the kernel's choice; in one that removes one, it matches anything
// (but for Dst and Table).
type Route struct {
	Dst     netip.Prefix // 0.0.0.0/0 or ::/0 for a default route
	Gateway netip.Addr   // of either family: an IPv4 route may have an IPv6 gateway
	Source  netip.Addr   // preferred source address
	Link    int          // index of the link that packets leave by
	Table   uint32       // MainTable if 0
	Metric  int          // priority: the lowest wins; the kernel makes 0 of IPv6 1024
	MTU     int          // bytes
	AdvMSS  int          // bytes
	// Scope nil: found out from the type and the gateway, as ip-route does. IPv6
	// has none.
	Scope    *Scope
	Type     RouteType // RouteUnicast if 0
	Protocol int       // who made it: RTPROT_STATIC if 0
	OnLink   bool      // the gateway is on the link even if no route says so
	TOS      uint8     // IPv4
	Encap    Encap
	NextHops []NextHop // several ways; then Gateway and Link are not set
	NHID     uint32    // a nexthop object of that number

	// What the kernel tells.
	LinkDown, Dead bool
	Cloned         bool // an answer to "which way", not an entry
}

// NextHop is one of several ways.
type NextHop struct {
	Gateway netip.Addr
	Link    int
	Weight  int // 1 to 256; 1 if 0
	OnLink  bool
	Encap   Encap
}

// Encap is what a route wraps packets in.
type Encap interface {
	encapType() uint16
	encode(e *encoder)
}

// AddRoute adds a route. It is an error (Exists) when the table has one with
// this destination, TOS and metric.
func (n *Namespace) AddRoute(r Route) error {
	return n.call("route.add", r.String(), func() error {
		return n.newRoute(r, unix.NLM_F_CREATE|unix.NLM_F_EXCL)
	})
}

// AddRouteBeside adds a route whether or not the table has others with this
// destination, TOS and metric. An IPv4 route then comes before them; an IPv6
// route becomes one of several next hops. The very same route is an error
// (Exists).
func (n *Namespace) AddRouteBeside(r Route) error {
	return n.call("route.add", r.String(), func() error { return n.newRoute(r, unix.NLM_F_CREATE) })
}

// ReplaceRoute adds a route, in place of the one with this destination, TOS
// and metric if there is one.
func (n *Namespace) ReplaceRoute(r Route) error {
	return n.call("route.replace", r.String(), func() error {
		return n.newRoute(r, unix.NLM_F_CREATE|unix.NLM_F_REPLACE)
	})
}

// DelRoute removes the first route that matches what of r is set. It is false
// when there is none.
func (n *Namespace) DelRoute(r Route) (bool, error) {
	return n.remove(ObjectRoute, "route.del", r.String(), func() error {
		// Nowhere matches every scope; no type and no protocol match every one.
		fixed := rtMsg(r, ScopeNowhere, r.Type, r.Protocol)
		if r.Scope != nil {
			fixed = rtMsg(r, *r.Scope, r.Type, r.Protocol)
		}
		req := newRequest(unix.RTM_DELROUTE, 0, fixed)
		if err := r.encode(&req.encoder); err != nil {
			return err
		}
		return n.change(req)
	})
}

func (n *Namespace) newRoute(r Route, flags uint16) error {
	if r.Type == 0 {
		r.Type = RouteUnicast
	}
	if r.Protocol == 0 {
		r.Protocol = unix.RTPROT_STATIC
	}
	scope := r.naturalScope()
	if r.Scope != nil {
		scope = *r.Scope
	}
	req := newRequest(unix.RTM_NEWROUTE, flags, rtMsg(r, scope, r.Type, r.Protocol))
	if err := r.encode(&req.encoder); err != nil {
		return err
	}
	return n.change(req)
}

func (r Route) naturalScope() Scope {
	switch {
	case r.Dst.IsValid() && r.Dst.Addr().Is6():
		return ScopeUniverse
	case r.Type == RouteLocal:
		return ScopeHost
	case r.Type == RouteBroadcast, r.Type == RouteMulticast, r.Type == RouteAnycast:
		return ScopeLink
	case r.Type == RouteUnicast && !r.Gateway.IsValid() && len(r.NextHops) == 0 && r.NHID == 0:
		return ScopeLink
	}
	return ScopeUniverse
}

func (r Route) table() uint32 {
	if r.Table == 0 {
		return MainTable
	}
	return r.Table
}

// rtMsg is struct rtmsg. The table goes into an attribute, where it has room.
func rtMsg(r Route, scope Scope, t RouteType, protocol int) []byte {
	b := make([]byte, unix.SizeofRtMsg)
	b[0], b[1], b[3] = family(r.Dst.Addr()), uint8(r.Dst.Bits()), r.TOS
	b[5], b[6], b[7] = uint8(protocol), uint8(scope), uint8(t)
	if r.OnLink {
		binary.NativeEndian.PutUint32(b[8:], unix.RTNH_F_ONLINK)
	}
	return b
}

func (r Route) encode(e *encoder) error {
	if !r.Dst.IsValid() {
		return fmt.Errorf("no destination: %w", unix.EINVAL)
	}
	e.u32(unix.RTA_TABLE, r.table())
	if r.Dst.Bits() > 0 {
		e.addr(unix.RTA_DST, r.Dst.Masked().Addr())
	}
	encodeGateway(e, r.Dst.Addr(), r.Gateway)
	e.addrIf(unix.RTA_PREFSRC, r.Source)
	if r.Link != 0 {
		e.u32(unix.RTA_OIF, uint32(r.Link))
	}
	if r.Metric != 0 {
		e.u32(unix.RTA_PRIORITY, uint32(r.Metric))
	}
	if r.NHID != 0 {
		e.u32(rtaNHID, r.NHID)
	}
	r.encodeMetrics(e)
	encodeEncap(e, r.Encap)
	if len(r.NextHops) > 0 {
		e.nest(unix.RTA_MULTIPATH, func() {
			for _, h := range r.NextHops {
				h.encode(e, r.Dst.Addr())
			}
		})
	}
	return nil
}

func (r Route) encodeMetrics(e *encoder) {
	if r.MTU == 0 && r.AdvMSS == 0 {
		return
	}
	e.nest(unix.RTA_METRICS, func() {
		if r.MTU != 0 {
			e.u32(unix.RTAX_MTU, uint32(r.MTU))
		}
		if r.AdvMSS != 0 {
			e.u32(unix.RTAX_ADVMSS, uint32(r.AdvMSS))
		}
	})
}

// encodeGateway uses RTA_VIA for a gateway of the other family.
func encodeGateway(e *encoder, dst, gw netip.Addr) {
	switch {
	case !gw.IsValid():
	case gw.Is4() == dst.Is4():
		e.addr(unix.RTA_GATEWAY, gw)
	default:
		via := binary.NativeEndian.AppendUint16(nil, uint16(family(gw)))
		e.bytes(unix.RTA_VIA, append(via, gw.AsSlice()...))
	}
}

func encodeEncap(e *encoder, c Encap) {
	if c == nil {
		return
	}
	e.u16(unix.RTA_ENCAP_TYPE, c.encapType())
	e.nest(unix.RTA_ENCAP|unix.NLA_F_NESTED, func() { c.encode(e) })
}

// encode appends struct rtnexthop with its attributes.
func (h NextHop) encode(e *encoder, dst netip.Addr) {
	at := len(e.b)
	e.b = append(e.b, make([]byte, unix.SizeofRtNexthop)...)
	if h.OnLink {
		e.b[at+2] = unix.RTNH_F_ONLINK
	}
	if h.Weight > 0 {
		e.b[at+3] = uint8(h.Weight - 1)
	}
	binary.NativeEndian.PutUint32(e.b[at+4:], uint32(h.Link))
	encodeGateway(e, dst, h.Gateway)
	encodeEncap(e, h.Encap)
	binary.NativeEndian.PutUint16(e.b[at:], uint16(len(e.b)-at))
}

// String is short, for messages.
func (r Route) String() string {
	s := r.Dst.String()
	if r.Gateway.IsValid() {
		s += " via " + r.Gateway.String()
	}
	if r.Link != 0 {
		s += fmt.Sprintf(" dev %d", r.Link)
	}
	if r.Table != 0 && r.Table != MainTable {
		s += fmt.Sprintf(" table %d", r.Table)
	}
	return s
}
