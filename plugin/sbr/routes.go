package sbr

import (
	"net/netip"
	"slices"

	"github.com/fairlead-net/fairlead/resource"
)

// move states which of the routes by way of the interface go to which table.
// Those of a family that has no address stay in the main one.
func (c *config) move(out *resource.SourceRoutes, found resource.SourceRouting) {
	for i, s := range c.sources {
		table := resource.SourceTable{Table: found.Tables[i]}
		for _, r := range found.Routes {
			if c.belongs(r, s) {
				table.Routes = append(table.Routes, r)
			}
		}
		if dflt := s.defaultRoute(); s.gateway.IsValid() && !slices.ContainsFunc(table.Routes, func(r resource.SourceRoute) bool {
			return samePlace(r, dflt)
		}) {
			table.Routes = append(table.Routes, dflt)
		}
		out.Tables = append(out.Tables, table)
	}
	if c.AddSourceHints {
		out.Hints = c.hints(found.Routes)
	}
	// Routes that others may lead by go last.
	for _, byGateway := range []bool{true, false} {
		for _, r := range found.Routes {
			if r.Gateway.IsValid() == byGateway && c.leaves(r, out.Hints) {
				out.Moved = append(out.Moved, r)
			}
		}
	}
}

// belongs tells whether the route goes to the address's table: it speaks of
// the address's network, or of none of the addresses'.
func (c *config) belongs(r resource.SourceRoute, s source) bool {
	if !s.ofFamily(r) {
		return false
	}
	speaksOf := func(s source) bool { return s.prefix.Contains(r.Source) || s.prefix.Contains(r.Gateway) }
	return speaksOf(s) || !slices.ContainsFunc(c.sources, speaksOf)
}

func (s source) ofFamily(r resource.SourceRoute) bool {
	return r.Dst.Addr().Is4() == s.prefix.Addr().Is4()
}

// defaultRoute is by way of the address's gateway.
func (s source) defaultRoute() resource.SourceRoute {
	everywhere := netip.IPv4Unspecified()
	if s.prefix.Addr().Is6() {
		everywhere = netip.IPv6Unspecified()
	}
	return resource.SourceRoute{Dst: netip.PrefixFrom(everywhere, 0), Gateway: s.gateway}
}

// scopeLink is the scope of IPv4 routes without a gateway.
const scopeLink = 253

// ip6Priority is what the kernel makes of IPv6's priority 0.
const ip6Priority = 1024

// samePlace tells whether a table has room for one of the two only.
func samePlace(a, b resource.SourceRoute) bool {
	priority := func(r resource.SourceRoute) int {
		if r.Priority == 0 && r.Dst.Addr().Is6() {
			return ip6Priority
		}
		return r.Priority
	}
	return a.Dst == b.Dst && priority(a) == priority(b)
}

// hints are the routes to the addresses' networks that say which address to
// send from. Of two addresses in one network the last one counts.
func (c *config) hints(routes []resource.SourceRoute) []resource.SourceRoute {
	var list []resource.SourceRoute
	for _, s := range c.sources {
		hint := resource.SourceRoute{Dst: s.prefix.Masked(), Source: s.prefix.Addr()}
		hint.Found = slices.ContainsFunc(routes, func(r resource.SourceRoute) bool { return isHint(r, hint) })
		list = slices.DeleteFunc(list, func(o resource.SourceRoute) bool { return o.Dst == hint.Dst })
		list = append(list, hint)
	}
	return list
}

// isHint tells whether a route says what the hint does.
func isHint(r, hint resource.SourceRoute) bool {
	return samePlace(r, hint) && r.Source == hint.Source && !r.Gateway.IsValid()
}

// leaves tells whether the route goes from the main table. With hints, routes
// of IPv4 without a gateway stay where no hint takes their place.
func (c *config) leaves(r resource.SourceRoute, hints []resource.SourceRoute) bool {
	if !slices.ContainsFunc(c.sources, func(s source) bool { return s.ofFamily(r) }) {
		return false
	}
	for _, h := range hints {
		if samePlace(r, h) {
			return !isHint(r, h)
		}
	}
	onLink := r.Scope != nil && *r.Scope == scopeLink
	return !c.AddSourceHints || !onLink
}
