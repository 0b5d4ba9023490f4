package kernel

import (
	"encoding/binary"
	"net/netip"
	"slices"

	"golang.org/x/sys/unix"
)

// RouteFilter says which routes to list; what is zero matches anything.
type RouteFilter struct {
	Family   int    // unix.AF_INET or AF_INET6; 0: both
	Table    uint32 // MainTable if 0, unless AllTables is set
	Link     int    // index
	Protocol int
	Type     RouteType
	// AllTables lists every table, those of local addresses included.
	AllTables bool
}

// Routes lists routes, all that match. There are none in a table, or by a
// link, that is not there.
func (n *Namespace) Routes(f RouteFilter) (all []Route, err error) {
	err = n.call("route.list", object(f.Link), func() error {
		all, err = n.routes(f)
		return err
	})
	return all, err
}

func (n *Namespace) routes(f RouteFilter) ([]Route, error) {
	var all []Route
	for _, fam := range []int{unix.AF_INET, unix.AF_INET6} {
		if f.Family != 0 && f.Family != fam {
			continue
		}
		part, err := dumpFamily(n, uint8(fam), f.request(uint8(fam)), decodeRoute)
		if err != nil && !f.nothing(err) {
			return nil, err
		}
		all = append(all, part...)
	}
	return keep(all, f.matches), nil
}

// nothing says that err means that nothing can match.
func (f RouteFilter) nothing(err error) bool {
	return Absent(ObjectRouteTable, err) || f.Link != 0 && Absent(ObjectLink, err) || Unsupported(err)
}

// request lets the kernel filter: it was asked to be strict.
func (f RouteFilter) request(family uint8) *request {
	b := make([]byte, unix.SizeofRtMsg)
	b[0], b[5], b[7] = family, uint8(f.Protocol), uint8(f.Type)
	r := newRequest(unix.RTM_GETROUTE, 0, b)
	if !f.AllTables {
		r.u32(unix.RTA_TABLE, Route{Table: f.Table}.table())
	}
	if f.Link != 0 {
		r.u32(unix.RTA_OIF, uint32(f.Link))
	}
	return r
}

func (f RouteFilter) matches(r Route) bool {
	byLink := f.Link == 0 || r.Link == f.Link
	for _, h := range r.NextHops {
		byLink = byLink || h.Link == f.Link
	}
	return byLink && !r.Cloned &&
		(f.AllTables || r.Table == Route{Table: f.Table}.table()) &&
		(f.Protocol == 0 || r.Protocol == f.Protocol) &&
		(f.Type == 0 || r.Type == f.Type)
}

// Route looks up the entry with this destination, table and, if they are set,
// metric, TOS, link, gateway and type.
func (n *Namespace) Route(key Route) (found Route, ok bool, err error) {
	err = n.call("route.get", key.String(), func() error {
		found, ok, err = n.route(key)
		return err
	})
	return found, ok, err
}

func (n *Namespace) route(key Route) (Route, bool, error) {
	// The entry that a packet would take is the wanted one, mostly, and costs
	// the same whatever else there is. When it is another one, that proves
	// nothing.
	if key.table() == MainTable || key.table() == unix.RT_TABLE_LOCAL {
		if r, err := n.lookup(key.Dst.Addr(), true, key.Link); err == nil && key.names(r) {
			return r, true, nil
		}
	}
	fam := int(family(key.Dst.Addr()))
	all, err := n.routes(RouteFilter{Family: fam, Table: key.Table, Link: key.Link, Type: key.Type})
	if err != nil {
		return Route{}, false, err
	}
	for _, r := range all {
		if key.names(r) {
			return r, true, nil
		}
	}
	return Route{}, false, nil
}

// names says whether x is the entry that r asks for.
func (r Route) names(x Route) bool {
	return x.Dst == r.Dst.Masked() && x.Table == r.table() &&
		(r.Metric == 0 || x.Metric == r.Metric) &&
		(r.TOS == 0 || x.TOS == r.TOS) &&
		(r.Type == 0 || x.Type == r.Type) &&
		x.Via(r.Link, r.Gateway)
}

// Via says whether the route, or one of its next hops, goes by way of the link
// and the gateway; 0 and the zero Addr ask for any. IPv6 makes one route of
// several that differ in these alone.
func (r Route) Via(link int, gateway netip.Addr) bool {
	hop := func(l int, g netip.Addr) bool {
		return (link == 0 || l == link) && (!gateway.IsValid() || g == gateway)
	}
	return hop(r.Link, r.Gateway) ||
		slices.ContainsFunc(r.NextHops, func(h NextHop) bool { return hop(h.Link, h.Gateway) })
}

// RouteTo says which way a packet to dst would go. It is false when there is
// no route to it.
func (n *Namespace) RouteTo(dst netip.Addr) (r Route, ok bool, err error) {
	err = n.call("route.to", dst.String(), func() error {
		r, err = n.lookup(dst, false, 0)
		return err
	})
	if Absent(ObjectWay, err) || Unsupported(err) {
		return Route{}, false, nil
	}
	return r, err == nil, err
}

// lookup asks which way a packet would go; with entry, which entry of the
// tables sends it there.
func (n *Namespace) lookup(dst netip.Addr, entry bool, link int) (found Route, err error) {
	b := make([]byte, unix.SizeofRtMsg)
	b[0], b[1] = family(dst), uint8(dst.BitLen())
	var flags uint32
	if dst.Is4() {
		flags = unix.RTM_F_LOOKUP_TABLE // IPv6 names the table anyway
	}
	if entry {
		flags |= unix.RTM_F_FIB_MATCH
	}
	binary.NativeEndian.PutUint32(b[8:], flags)
	r := newRequest(unix.RTM_GETROUTE, 0, b)
	r.addr(unix.RTA_DST, dst)
	if link != 0 {
		r.u32(unix.RTA_OIF, uint32(link))
	}
	err = n.get(r, func(b []byte) error {
		found, _, err = decodeRoute(b)
		return err
	})
	return found, err
}

// DefaultRoutes lists the routes to everywhere in the main table, of a family
// (unix.AF_INET or AF_INET6), or of both if it is 0.
func (n *Namespace) DefaultRoutes(family int) ([]Route, error) {
	all, err := n.Routes(RouteFilter{Family: family})
	return keep(all, func(r Route) bool {
		return r.Dst.Bits() == 0 && (r.Type == RouteUnicast)
	}), err
}
