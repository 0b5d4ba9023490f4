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
	Routes []*Route `json:"routes,omitempty"`
	// Rules are in the order in which they are looked at.
	Rules []CarriedRule `json:"carried,omitempty"`
}

func configOf(ns *kernel.Namespace, link kernel.Link) (*DeviceConfig, error) {
	c := &DeviceConfig{}
	if err := c.readAddresses(ns, link.Index); err != nil {
		return nil, err
	}
	if err := c.readRoutes(ns, link.Index); err != nil {
		return nil, err
	}
	return c, c.readRules(ns, link.Name)
}

// readAddresses leaves out what goes no further than the link, and IPv6
// addresses that the network gave for a time: it will give them again.
func (c *DeviceConfig) readAddresses(ns *kernel.Namespace, link int) error {
	all, err := ns.Addresses(link)
	for _, a := range all {
		if a.Scope == kernel.ScopeUniverse && (a.Permanent || a.Prefix.Addr().Is4()) {
			c.Addresses = append(c.Addresses, a.Prefix)
		}
	}
	return err
}

// readRoutes leaves out what follows from addresses or comes from the network.
func (c *DeviceConfig) readRoutes(ns *kernel.Namespace, link int) error {
	all, err := ns.Routes(kernel.RouteFilter{Link: link, AllTables: true, Type: kernel.RouteUnicast})
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
