package resource

import (
	"context"
	"fmt"
	"net/netip"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/fairlead-net/fairlead/engine"
	"github.com/fairlead-net/fairlead/kernel"
)

// VPCAddresses is that no address of an attachment is the host's own, too. The
// kernel looks into its table of local addresses before it asks for the VRF, so
// that the host would answer in the attachment's place. Nothing is made.
type VPCAddresses struct {
	On
	Addresses []netip.Addr `json:"addresses,omitempty"`
}

func (a *VPCAddresses) Kind() string { return "vpc-addresses.1" }
func (a *VPCAddresses) Key() string  { return a.key() }

func (a *VPCAddresses) Create(_ context.Context, env Env) error {
	taken, err := a.taken(env.Host)
	if err != nil || !taken.IsValid() {
		return err
	}
	return engine.Conflict(fmt.Errorf("%s is an address of this node, too, which would answer for it: "+
		"take it from the node, or move the rule of local addresses behind that for VRFs", taken))
}

func (a *VPCAddresses) Observe(_ context.Context, env Env) (engine.State, error) {
	var d drift
	taken, err := a.taken(env.Host)
	if taken.IsValid() {
		d.add("%s is an address of this node, too, which answers for it", taken)
	}
	return d.state(), err
}

// Remove has nothing to take away.
func (a *VPCAddresses) Remove(context.Context, Env) error { return nil }

// taken is the first address that the host answers for; the zero Addr: none.
func (a *VPCAddresses) taken(ns *kernel.Namespace) (netip.Addr, error) {
	for _, address := range a.Addresses {
		route, ok, err := ns.RouteTo(address)
		if err != nil {
			return netip.Addr{}, err
		}
		own := []kernel.RouteType{kernel.RouteLocal, kernel.RouteBroadcast, kernel.RouteAnycast}
		if !ok || !slices.Contains(own, route.Type) {
			continue
		}
		if first, err := localFirst(ns, address.Is6()); err != nil || first {
			return address, err
		}
	}
	return netip.Addr{}, nil
}

// localFirst tells whether local addresses are looked for before VRFs are.
func localFirst(ns *kernel.Namespace, ipv6 bool) (bool, error) {
	family := unix.AF_INET
	if ipv6 {
		family = unix.AF_INET6
	}
	rules, err := ns.Rules(family)
	if err != nil {
		return false, err
	}
	for _, r := range rules {
		switch {
		case r.Family != family:
		case forAllVRFs(r):
			return false, nil
		case r.Action == kernel.RuleToTable && r.Table == unix.RT_TABLE_LOCAL && !r.L3MDev:
			return true, nil
		}
	}
	return false, nil
}
