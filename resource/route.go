package resource

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"

	"github.com/fairlead-net/fairlead/attachment"
	"github.com/fairlead-net/fairlead/engine"
	"github.com/fairlead-net/fairlead/kernel"
)

// Route is a route by way of a link. Like an Address it is identified by its
// place, since it may be unknown at DEL.
type Route struct {
	On
	N        int          `json:"n"` // place among the link's routes, from 0
	Dst      netip.Prefix `json:"dst,omitzero"`
	Gateway  netip.Addr   `json:"gateway,omitzero"`
	Source   netip.Addr   `json:"source,omitzero"` // preferred source address
	MTU      int          `json:"mtu,omitempty"`   // bytes
	AdvMSS   int          `json:"advmss,omitempty"`
	Priority int          `json:"priority,omitempty"`
	Table    uint32       `json:"table,omitempty"` // 0: main
	// Scope is the kernel's number; nil: link without a gateway, else universe.
	Scope  *uint8 `json:"scope,omitempty"`
	OnLink bool   `json:"onLink,omitempty"` // the gateway is on the link though no route says so
	// Over, on the host, is the attachment of a VPC whose earlier container may
	// have such a route: it is replaced. "VPC/ATTACHMENT"; "": none.
	Over string `json:"over,omitempty"`
}

func (r *Route) Kind() string { return "route.1" }
func (r *Route) Key() string  { return r.key(ordinal(r.N)) }

var errUnknownRoute = errors.New("the route is unknown")

func (r *Route) String() string {
	s := r.Dst.String()
	if r.Gateway.IsValid() {
		s += " via " + r.Gateway.String()
	}
	if r.Table != 0 {
		s += fmt.Sprintf(" in table %d", r.Table)
	}
	return s
}

// route is how the kernel's room says it.
func (r *Route) route(link int) kernel.Route {
	k := kernel.Route{
		Link: link, Dst: r.Dst, Gateway: r.Gateway, Source: r.Source, MTU: r.MTU, AdvMSS: r.AdvMSS,
		Metric: r.Priority, Table: r.Table, OnLink: r.OnLink,
	}
	if r.Scope != nil {
		scope := kernel.Scope(*r.Scope)
		k.Scope = &scope
	}
	return k
}

// entry names the route in its table, with what the kernel need not complete.
func (r *Route) entry(link int) kernel.Route {
	return kernel.Route{Link: link, Dst: r.Dst, Gateway: r.Gateway, Metric: r.Priority, Table: r.Table}
}

func (r *Route) Create(_ context.Context, env Env) error {
	if !r.Dst.IsValid() {
		return errUnknownRoute
	}
	ns, link, err := r.need(env)
	if err != nil {
		return err
	}
	err = ns.AddRoute(r.route(link.Index))
	if !kernel.Exists(err) {
		return unsure(err)
	}
	// On a link of ours the very same route can only be ours.
	_, there, lookErr := ns.Route(r.entry(link.Index))
	if lookErr == nil && there && r.In != "" && r.In != Sandbox {
		return nil
	}
	if lookErr == nil && !there && r.Over != "" {
		return r.replace(ns, link.Index, err)
	}
	// Another network of the container may have such a route already; on the
	// host it would take another's traffic.
	if lookErr == nil && !there && r.Side == Container {
		return unsure(ns.AddRouteBeside(r.route(link.Index)))
	}
	return engine.Conflict(err)
}

// replace takes the place of a route by way of an earlier link of the same
// attachment of a VPC.
func (r *Route) replace(ns *kernel.Namespace, link int, exists error) error {
	key := r.entry(0)
	key.Gateway = netip.Addr{}
	found, ok, err := ns.Route(key)
	if err != nil {
		return err
	}
	if !ok {
		return exists // it went meanwhile
	}
	earlier, ok, err := ns.LinkByIndex(found.Link)
	if err != nil {
		return err
	}
	vpc, name, _ := strings.Cut(r.Over, "/")
	if ok && !attachment.InVPC(earlier.Alias, vpc, name) {
		return engine.Conflict(fmt.Errorf("%s has a route to %s %s: %w", earlier.Name, r.Dst, aliasOf(earlier), exists))
	}
	return unsure(ns.ReplaceRoute(r.route(link)))
}

// Observe looks in the route's table, then in all: a later plugin may have
// moved it (rule 14).
func (r *Route) Observe(_ context.Context, env Env) (engine.State, error) {
	if !r.Dst.IsValid() {
		return engine.State{}, errUnknownRoute
	}
	ns, link, ok, err := r.find(env)
	if err != nil || !ok {
		return missing(err, r)
	}
	found, ok, err := ns.Route(r.entry(link.Index))
	if err == nil && !ok {
		found, ok, err = r.elsewhere(ns, link.Index)
	}
	if err != nil || !ok {
		return missing(err, r)
	}
	var d drift
	if r.MTU != 0 && found.MTU != r.MTU {
		d.add("the mtu of the route to %s is %d, want %d", r.Dst, found.MTU, r.MTU)
	}
	if r.AdvMSS != 0 && found.AdvMSS != r.AdvMSS {
		d.add("the advmss of the route to %s is %d, want %d", r.Dst, found.AdvMSS, r.AdvMSS)
	}
	return d.state(), nil
}

func (r *Route) elsewhere(ns *kernel.Namespace, link int) (kernel.Route, bool, error) {
	all, err := ns.Routes(kernel.RouteFilter{Link: link, AllTables: true})
	if err != nil {
		return kernel.Route{}, false, err
	}
	for _, found := range all {
		if found.Dst == r.Dst.Masked() && found.Via(link, r.Gateway) && (r.Priority == 0 || found.Metric == r.Priority) {
			return found, true, nil
		}
	}
	return kernel.Route{}, false, nil
}

func (r *Route) Remove(_ context.Context, env Env) error {
	ns, link, ok, err := r.find(env)
	if err != nil || !ok {
		return err
	}
	if !r.Dst.IsValid() {
		return errUnknownRoute
	}
	_, err = ns.DelRoute(r.entry(link.Index))
	if kernel.Unsupported(err) {
		return nil // rule 8: this kernel has no such family
	}
	return err
}
