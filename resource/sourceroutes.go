package resource

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/fairlead-net/fairlead/engine"
	"github.com/fairlead-net/fairlead/kernel"
)

// SourceRoutes are the routes by way of an interface of the container, taken
// from the main table and put into tables of their own. They go with the
// interface; where it lives on they are put back.
type SourceRoutes struct {
	On
	Tables []SourceTable `json:"tables,omitempty"` // none: not known
	// Moved are the routes that leave the main table, in this order.
	Moved []SourceRoute `json:"moved,omitempty"`
	// Hints are routes of the main table to the networks of the interface's
	// addresses, which say from which address to send.
	Hints []SourceRoute `json:"hints,omitempty"`

	// Index is what Create saw of the interface: a hint.
	Index int `json:"index,omitempty"`
}

// SourceTable is one routing table.
type SourceTable struct {
	Table  uint32        `json:"table"`
	Routes []SourceRoute `json:"routes"` // in the order of their making
}

// SourceRoute is a route by way of the interface, in whatever table.
type SourceRoute struct {
	Dst      netip.Prefix `json:"dst"`
	Gateway  netip.Addr   `json:"gateway,omitzero"`
	Source   netip.Addr   `json:"source,omitzero"` // preferred source address
	MTU      int          `json:"mtu,omitempty"`   // bytes
	AdvMSS   int          `json:"advmss,omitempty"`
	Priority int          `json:"priority,omitempty"`
	Scope    *uint8       `json:"scope,omitempty"`
	OnLink   bool         `json:"onLink,omitempty"`
	Protocol int          `json:"protocol,omitempty"` // who made it; 0: static
	// Found: it is there already, and stays.
	Found bool `json:"found,omitempty"`
}

// route is how the kernel's room says it.
func (r SourceRoute) route(link int, table uint32) kernel.Route {
	k := kernel.Route{
		Link: link, Table: table, Dst: r.Dst, Gateway: r.Gateway, Source: r.Source, MTU: r.MTU, AdvMSS: r.AdvMSS,
		Metric: r.Priority, OnLink: r.OnLink, Protocol: r.Protocol,
	}
	if r.Scope != nil {
		scope := kernel.Scope(*r.Scope)
		k.Scope = &scope
	}
	return k
}

// entry names the route in a table.
func (r SourceRoute) entry(link int, table uint32) kernel.Route {
	return kernel.Route{Link: link, Table: table, Dst: r.Dst, Gateway: r.Gateway, Source: r.Source, Metric: r.Priority}
}

func (r SourceRoute) String() string {
	if r.Gateway.IsValid() {
		return fmt.Sprintf("the route to %s via %s", r.Dst, r.Gateway)
	}
	return fmt.Sprintf("the route to %s", r.Dst)
}

func (s *SourceRoutes) Kind() string { return "source-routes.1" }
func (s *SourceRoutes) Key() string  { return s.key() }

// Create fills the tables before it takes anything from the main one.
func (s *SourceRoutes) Create(_ context.Context, env Env) error {
	ns, link, err := s.need(env)
	if err != nil {
		return err
	}
	s.Index = link.Index
	begun := false
	try := func(err error) error {
		if kernel.Exists(err) {
			err = engine.Conflict(err)
		}
		if err != nil && !begun {
			return unsure(err)
		}
		begun = true
		return engine.Partial(err)
	}
	for _, t := range s.Tables {
		for _, r := range t.Routes {
			if err := try(ns.AddRoute(r.route(link.Index, t.Table))); err != nil {
				return fmt.Errorf("%s in table %d: %w", r, t.Table, err)
			}
		}
	}
	var moved []SourceRoute
	for _, r := range s.Moved {
		there, err := ns.DelRoute(r.entry(link.Index, kernel.MainTable))
		if err := try(err); err != nil {
			return fmt.Errorf("take %s from the main table: %w", r, err)
		}
		if there {
			moved = append(moved, r)
		}
	}
	s.Moved = moved
	for _, r := range s.Hints {
		if r.Found {
			continue
		}
		if err := try(ns.AddRoute(r.route(link.Index, kernel.MainTable))); err != nil {
			return fmt.Errorf("%s from %s: %w", r, r.Source, err)
		}
	}
	return nil
}

func (s *SourceRoutes) Observe(_ context.Context, env Env) (engine.State, error) {
	ns, link, ok, err := s.recorded(env, s.Index, "")
	if err != nil || !ok {
		return absentUnless(err)
	}
	all, err := ns.Routes(kernel.RouteFilter{Link: link.Index, AllTables: true})
	if err != nil {
		return engine.State{}, err
	}
	var d drift
	look := func(r SourceRoute, table uint32, in string) {
		if !slices.ContainsFunc(all, func(k kernel.Route) bool { return r.isIn(k, link.Index, table) }) {
			d.add("%s is missing in %s", r, in)
		}
	}
	for _, t := range s.Tables {
		for _, r := range t.Routes {
			look(r, t.Table, fmt.Sprintf("table %d", t.Table))
		}
	}
	for _, r := range s.Hints {
		look(r, kernel.MainTable, "the main table")
	}
	return d.state(), nil
}

// isIn tells whether the kernel's route is this one, in the table.
func (r SourceRoute) isIn(k kernel.Route, link int, table uint32) bool {
	return k.Table == table && k.Dst == r.Dst.Masked() && k.Via(link, r.Gateway) &&
		(r.Priority == 0 || k.Metric == r.Priority) && (!r.Source.IsValid() || k.Source == r.Source) &&
		(r.MTU == 0 || k.MTU == r.MTU) && (r.AdvMSS == 0 || k.AdvMSS == r.AdvMSS)
}

// Remove puts the routes back where the interface lives on: first those that
// left last, by which others may lead.
func (s *SourceRoutes) Remove(_ context.Context, env Env) error {
	ns, link, ok, err := s.recorded(env, s.Index, "")
	if err != nil || !ok {
		return err
	}
	for _, r := range s.Hints {
		if r.Found {
			continue
		}
		if err := drop(ns, r.entry(link.Index, kernel.MainTable)); err != nil {
			return err
		}
	}
	for _, r := range slices.Backward(s.Moved) {
		if err := r.putBack(ns, link.Index); err != nil {
			return err
		}
	}
	for _, t := range s.Tables {
		for _, r := range slices.Backward(t.Routes) {
			if err := drop(ns, r.entry(link.Index, t.Table)); err != nil {
				return err
			}
		}
	}
	return nil
}

func drop(ns *kernel.Namespace, r kernel.Route) error {
	if _, err := ns.DelRoute(r); err != nil && !kernel.Unsupported(err) && !kernel.Absent(kernel.ObjectLink, err) {
		return err
	}
	return nil
}

// putBack adds the route to the main table again, if that can be: there may be
// another one by now, or no way to its gateway. What routers say they say
// again.
func (r SourceRoute) putBack(ns *kernel.Namespace, link int) error {
	if r.Protocol == unix.RTPROT_RA {
		return nil
	}
	k := r.route(link, kernel.MainTable)
	add := ns.AddRoute
	if r.Dst.Addr().Is6() {
		add = ns.AddRouteBeside // another network's makes one route of both
	}
	err := add(k)
	if kernel.Exists(err) || kernel.Refused(err) || kernel.Unsupported(err) || kernel.Absent(kernel.ObjectWay, err) ||
		kernel.Absent(kernel.ObjectLink, err) || errors.Is(err, unix.ENETDOWN) {
		return nil
	}
	return err
}

// Amend expects the interface's routes in the tables that they were moved to
// (rule 14).
func (s *SourceRoutes) Amend(earlier Resource) Resource {
	route, ok := earlier.(*Route)
	if !ok || route.Side != s.Side || route.Link != s.Link || route.Table != 0 && route.Table != kernel.MainTable {
		return earlier
	}
	is := func(r SourceRoute) bool {
		return r.Dst == route.Dst.Masked() && r.Gateway == route.Gateway && (route.Priority == 0 || r.Priority == route.Priority)
	}
	if !slices.ContainsFunc(s.Moved, is) {
		return earlier
	}
	for _, t := range s.Tables {
		if slices.ContainsFunc(t.Routes, is) {
			moved := *route
			moved.Table = t.Table
			return &moved
		}
	}
	return earlier
}
