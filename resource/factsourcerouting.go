package resource

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/fairlead-net/fairlead/engine"
	"github.com/fairlead-net/fairlead/kernel"
)

// FindSourceRouting is the fact which routing tables of the container an
// interface may have to itself, and which of the main table's routes lead by
// way of it.
type FindSourceRouting struct {
	Link   string
	Tables int // how many are wanted
}

// SourceRouting is what FindSourceRouting finds.
type SourceRouting struct {
	Tables []uint32 `json:"tables"`
	// Routes that need no gateway come first.
	Routes []SourceRoute `json:"routes,omitempty"`
}

// SourceRoutingName is the name of the fact.
const SourceRoutingName = "source-routing"

// firstSourceTable is where the search for tables begins, as the reference
// suite's does.
const firstSourceTable = 100

func (FindSourceRouting) Name() string { return SourceRoutingName }

// Lock is that of all who choose tables.
func (FindSourceRouting) Lock() string { return VRFTable{}.Lock() }

// Within gives each container tables of its own, and a lock of its own.
func (FindSourceRouting) Within() engine.Ref { return Sandbox }

// Find looks it up.
func (f FindSourceRouting) Find(_ context.Context, env Env) (any, error) { return f.Look(env) }

// Look is Find, with its type.
func (f FindSourceRouting) Look(env Env) (SourceRouting, error) {
	ns, link, err := On{Side: Container, Link: f.Link}.need(env)
	if err != nil {
		return SourceRouting{}, err
	}
	taken, err := usedTables(ns)
	if err != nil {
		return SourceRouting{}, fmt.Errorf("find a routing table: %w", err)
	}
	var found SourceRouting
	for table := uint32(firstSourceTable); len(found.Tables) < f.Tables && table != 0; table++ {
		if !taken[table] && !KernelTable(table) {
			found.Tables = append(found.Tables, table)
		}
	}
	if len(found.Tables) < f.Tables {
		return SourceRouting{}, errNoTable
	}
	routes, err := ns.Routes(kernel.RouteFilter{Link: link.Index, Type: kernel.RouteUnicast})
	if err != nil {
		return SourceRouting{}, err
	}
	for _, r := range routes {
		found.Routes = append(found.Routes, sourceRoutes(r, link.Index)...)
	}
	slices.SortStableFunc(found.Routes, func(a, b SourceRoute) int {
		return cmp.Compare(len(a.Gateway.AsSlice()), len(b.Gateway.AsSlice()))
	})
	return found, nil
}

// sourceRoutes is the part of a route that leads by way of the link: of IPv6,
// which makes one route of several, each next hop there. What a SourceRoute
// can't say stays where it is, and so do the routes to IPv6's link-local
// addresses, without which the link has no neighbours.
func sourceRoutes(r kernel.Route, link int) []SourceRoute {
	v6 := r.Dst.Addr().Is6()
	if r.Encap != nil || r.NHID != 0 || r.TOS != 0 || len(r.NextHops) > 0 && !v6 ||
		v6 && (r.Dst.Addr().IsLinkLocalUnicast() || r.Dst.Addr().IsMulticast()) {
		return nil
	}
	hops := r.NextHops
	if len(hops) == 0 {
		hops = []kernel.NextHop{{Gateway: r.Gateway, Link: r.Link, OnLink: r.OnLink}}
	}
	var list []SourceRoute
	for _, h := range hops {
		if h.Link != link || h.Encap != nil {
			continue
		}
		s := SourceRoute{
			Dst: r.Dst, Gateway: h.Gateway, Source: r.Source, MTU: r.MTU, AdvMSS: r.AdvMSS,
			Priority: r.Metric, OnLink: h.OnLink, Protocol: r.Protocol,
		}
		if r.Protocol == unix.RTPROT_STATIC {
			s.Protocol = 0
		}
		if r.Scope != nil && !v6 {
			scope := uint8(*r.Scope)
			s.Scope = &scope
		}
		list = append(list, s)
	}
	return list
}
