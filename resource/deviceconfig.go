package resource

import (
	"cmp"
	"net/netip"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/fairlead-net/fairlead/kernel"
)

// DeviceConfig is what someone has configured on a device of the host, and the
// kernel, the network and the way the device is named have not.
type DeviceConfig struct {
	Addresses []netip.Prefix `json:"addresses,omitempty"`
	// Routes are numbered from 0, those without a gateway first.
	Routes []*Route     `json:"routes,omitempty"`
	Rules  []SourceRule `json:"rules,omitempty"`
}

func configOf(ns *kernel.Namespace, index int) (*DeviceConfig, error) {
	c := &DeviceConfig{}
	for _, read := range []func(*kernel.Namespace, int) error{c.readAddresses, c.readRoutes, c.readRules} {
		if err := read(ns, index); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// readAddresses leaves out what goes no further than the link, and IPv6
// addresses that the network gave for a time: it will give them again.
func (c *DeviceConfig) readAddresses(ns *kernel.Namespace, index int) error {
	all, err := ns.Addresses(index)
	for _, a := range all {
		if a.Scope == kernel.ScopeUniverse && (a.Permanent || a.Prefix.Addr().Is4()) {
			c.Addresses = append(c.Addresses, a.Prefix)
		}
	}
	return err
}

// readRoutes leaves out what follows from addresses or comes from the network.
func (c *DeviceConfig) readRoutes(ns *kernel.Namespace, index int) error {
	all, err := ns.Routes(kernel.RouteFilter{Link: index, AllTables: true, Type: kernel.RouteUnicast})
	if err != nil {
		return err
	}
	slices.SortStableFunc(all, func(a, b kernel.Route) int { return cmp.Compare(reach(b), reach(a)) })
	for _, r := range all {
		if r.Table == unix.RT_TABLE_LOCAL || r.Protocol == unix.RTPROT_KERNEL || r.Protocol == unix.RTPROT_RA ||
			r.Dst.Addr().IsLinkLocalUnicast() || r.Dst.Addr().IsMulticast() {
			continue
		}
		route := &Route{
			N: len(c.Routes), Dst: r.Dst, Gateway: r.Gateway, Source: r.Source,
			MTU: r.MTU, AdvMSS: r.AdvMSS, Priority: r.Metric, OnLink: r.OnLink,
		}
		if r.Table != kernel.MainTable {
			route.Table = r.Table
		}
		if r.Dst.Addr().Is6() && r.Metric == ip6Metric {
			route.Priority = 0 // said by nobody
		}
		if r.Scope != nil && r.Dst.Addr().Is4() {
			scope := uint8(*r.Scope)
			route.Scope = &scope
		}
		c.Routes = append(c.Routes, route)
	}
	return nil
}

// ip6Metric is what the kernel takes for an IPv6 route without a metric.
const ip6Metric = 1024

// reach orders routes: a gateway has to be reached by a nearer one.
func reach(r kernel.Route) int {
	if !r.Gateway.IsValid() {
		return 1
	}
	return 0
}

// readRules finds those that send packets from the addresses to the tables of
// the routes.
func (c *DeviceConfig) readRules(ns *kernel.Namespace, _ int) error {
	all, err := ns.Rules(0)
	for _, k := range all {
		if !k.From.IsValid() || !slices.ContainsFunc(c.Routes, func(r *Route) bool { return r.Table != 0 && r.Table == k.Table }) {
			continue
		}
		for _, a := range c.Addresses {
			rule := SourceRule{From: a.Addr(), Table: k.Table}
			if k.From.Contains(a.Addr()) && !slices.Contains(c.Rules, rule) {
				c.Rules = append(c.Rules, rule)
			}
		}
	}
	return err
}
