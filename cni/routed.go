package cni

import (
	"fmt"
	"net/netip"

	current "github.com/containernetworking/cni/pkg/types/100"

	"github.com/fairlead-net/fairlead/engine"
	"github.com/fairlead-net/fairlead/resource"
)

// Routed is a link between a container and the host, which routes: no neighbour
// of the container's network is on it. The same for ptp and vpc.
type Routed struct {
	Guest, Host resource.On // the link's two ends
	Leases      []engine.Ref
	Table       uint32 // of the host's routes to the container; 0: main
	// Scope is that of the host's IPv4 routes; nil: the kernel's choice.
	Scope *uint8
	// VRF is the VRF that the host's end is in, or "".
	VRF string
	// Over is Route.Over of the host's routes.
	Over string
	// Announce has the container tell the host when its MAC address changes.
	Announce bool
}

// GuestEnd is the container's: its addresses, and the networks of all of them by
// way of the host's end. Routes to the gateway and by way of it come before
// those of the IPAM result, which may go by way of the gateway too.
func (r Routed) GuestEnd(ipam Known[*current.Result]) ([]resource.Resource, error) {
	guest := Guest{On: r.Guest, Leases: r.Leases, NoPrefixRoute: true}
	if r.Announce {
		guest.Sysctls = announcements()
	}
	result, known := ipam.Get()
	if !known {
		return guest.Configure(ipam)
	}
	bare := CopyResult(result)
	bare.Routes = nil
	list, err := guest.Configure(Know(bare))
	if err != nil {
		return nil, err
	}
	n := 0
	for _, ip := range result.IPs {
		addr, gw, err := endsOf(ip)
		if err != nil {
			return nil, err
		}
		list = append(list,
			&resource.Route{On: r.Guest, N: n, Dst: Alone(gw), Source: addr.Addr()},
			&resource.Route{On: r.Guest, N: n + 1, Dst: addr.Masked(), Gateway: gw, Source: addr.Addr()})
		n += 2
	}
	routes, err := Routes(r.Guest, n, result)
	return append(list, routes...), err
}

// HostEnd is the host's: the gateways' addresses as some of its own, and the
// container's addresses behind it. All of it lives on the link.
func (r Routed) HostEnd(ipam Known[*current.Result]) ([]resource.Resource, error) {
	result, known := ipam.Get()
	if !known {
		return nil, nil
	}
	var list []resource.Resource
	forwarding := map[bool]bool{}
	for n, ip := range result.IPs {
		addr, gw, err := endsOf(ip)
		if err != nil {
			return nil, err
		}
		if v6 := gw.Is6(); !forwarding[v6] {
			forwarding[v6] = true
			list = append(list, r.forwarding(v6)...)
		}
		route := &resource.Route{On: r.Host, N: n, Dst: Alone(addr.Addr()), Table: r.Table, Over: r.Over}
		if gw.Is4() {
			route.Scope = r.Scope
		}
		list = append(list, &resource.Address{On: r.Host, N: n, Address: Alone(gw), NoDAD: true}, route)
	}
	return list, nil
}

// forwarding is that of what comes in by the link. In a VRF it may come in by
// that.
func (r Routed) forwarding(ipv6 bool) []resource.Resource {
	if r.VRF == "" {
		return resource.Forwarding(ipv6, r.Host.Link)
	}
	return resource.Forwarding(ipv6, r.Host.Link, r.VRF)
}

// Alone is the network of one address.
func Alone(a netip.Addr) netip.Prefix { return netip.PrefixFrom(a, a.BitLen()) }

// endsOf are the two addresses of the link.
func endsOf(ip *current.IPConfig) (addr netip.Prefix, gw netip.Addr, err error) {
	if addr, err = Prefix(ip.Address); err != nil {
		return addr, gw, err
	}
	if gw = Gateway(ip.Gateway); !gw.IsValid() || gw.Is4() != addr.Addr().Is4() {
		return addr, gw, fmt.Errorf("ipam gave %s without a gateway, which is the host's end of the link", addr)
	}
	return addr, gw, nil
}
