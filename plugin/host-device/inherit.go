package hostdevice

import (
	"slices"

	"github.com/containernetworking/cni/pkg/types"
	current "github.com/containernetworking/cni/pkg/types/100"

	"github.com/fairlead-net/fairlead/cni"
	"github.com/fairlead-net/fairlead/resource"
)

// inherit states what was configured on the device on the host
// (useInterfaceNetwork), beside what IPAM gave. config is nil where it is
// unknown.
func (s *statement) inherit(guest cni.Guest, config *resource.DeviceConfig, ipam cni.Known[*current.Result]) ([]resource.Resource, error) {
	// The rules do not go with the device, so they are stated in any case.
	rules := &resource.SourceRules{On: guest.On, Owner: s.Req.ID().Owner()}
	rules.In = resource.Sandbox
	if config == nil {
		list, err := guest.Configure(cni.Known[*current.Result]{})
		return append(list, rules), err
	}
	given := &current.Result{}
	if result, known := ipam.Get(); known {
		given = cni.CopyResult(result)
	}
	n := len(given.Routes)
	var routes []resource.Resource
	for _, r := range config.Routes {
		if slices.ContainsFunc(given.Routes, func(g *types.Route) bool { return sameRoute(g, r) }) {
			continue
		}
		route := *r
		route.On, route.N = guest.On, n+len(routes)
		routes = append(routes, &route)
	}
	for _, a := range config.Addresses {
		given.IPs = append(given.IPs, &current.IPConfig{Address: cni.IPNet(a)})
	}
	list, err := guest.Configure(cni.Know(given))
	rules.Carried = config.Rules
	list = append(list, routes...)
	if len(rules.Carried) > 0 {
		list = append(list, rules)
	}
	return list, err
}

// sameRoute tells whether IPAM gave a route to the same destination, in the
// same table: its word counts.
func sameRoute(given *types.Route, r *resource.Route) bool {
	dst, err := cni.Prefix(given.Dst)
	table := uint32(0)
	if given.Table != nil {
		table = uint32(*given.Table)
	}
	return err == nil && dst == r.Dst && table == r.Table && given.Priority == r.Priority
}

// addInherited adds to the result what is there beside IPAM's.
func addInherited(out *current.Result, config *resource.DeviceConfig) {
	if config == nil {
		return
	}
	given := out.Routes
	for _, a := range config.Addresses {
		out.IPs = append(out.IPs, &current.IPConfig{Address: cni.IPNet(a)})
	}
	for _, r := range config.Routes {
		if slices.ContainsFunc(given, func(g *types.Route) bool { return sameRoute(g, r) }) {
			continue
		}
		route := &types.Route{Dst: cni.IPNet(r.Dst), GW: r.Gateway.AsSlice(), MTU: r.MTU, AdvMSS: r.AdvMSS, Priority: r.Priority}
		if r.Table != 0 {
			route.Table = current.Int(int(r.Table))
		}
		if r.Scope != nil && *r.Scope != 0 {
			route.Scope = current.Int(int(*r.Scope))
		}
		out.Routes = append(out.Routes, route)
	}
}
