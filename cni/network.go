package cni

import (
	"fmt"
	"net"
	"net/netip"

	"github.com/containernetworking/cni/pkg/types"
	current "github.com/containernetworking/cni/pkg/types/100"

	"github.com/fairlead-net/fairlead/engine"
	"github.com/fairlead-net/fairlead/resource"
)

// Guest is how a container's interface gets its addresses and routes: the same
// for every plugin that makes an interface (rule 10: parameters, addresses, up,
// routes).
type Guest struct {
	On     resource.On
	Leases []engine.Ref
	// DAD asks the network for IPv6 addresses before they are used. It is
	// for networks where another may have them.
	DAD bool
	// NoPrefixRoute leaves the routes to the addresses' own networks out.
	NoPrefixRoute bool
	// Sysctls are set first.
	Sysctls []resource.LinkSysctl
}

// announcements have the kernel tell the network of a link's addresses, when it
// comes up and when its MAC address changes.
func announcements() []resource.LinkSysctl {
	return []resource.LinkSysctl{
		{Family: "ipv4", Name: "arp_notify", Value: "1", IfPresent: true, Refines: true},
		{Family: "ipv6", Name: "ndisc_notify", Value: "1", IfPresent: true, Refines: true},
	}
}

// Configure states what an IPAM result means for the interface. With the result
// unknown it states one address, for the sake of the lease that it rests on
// (rules 3 and 4).
func (g Guest) Configure(ipam Known[*current.Result]) ([]resource.Resource, error) {
	result, known := ipam.Get()
	if !known {
		return []resource.Resource{&resource.Address{On: g.On, Leases: g.Leases}}, nil
	}
	addrs, err := prefixes(result.IPs)
	if err != nil {
		return nil, err
	}
	list := g.sysctls(addrs)
	var settle []netip.Addr
	for n, p := range addrs {
		list = append(list, &resource.Address{
			On: g.On, N: n, Address: p, NoDAD: !g.DAD, NoPrefixRoute: g.NoPrefixRoute, Leases: g.Leases,
		})
		if p.Addr().Is6() && g.DAD {
			settle = append(settle, p.Addr())
		}
	}
	list = append(list, &resource.LinkUp{On: g.On})
	if len(settle) > 0 {
		list = append(list, &resource.Settled{On: g.On, Addresses: settle})
	}
	routes, err := Routes(g.On, 0, result)
	return append(list, routes...), err
}

func (g Guest) sysctls(addrs []netip.Prefix) []resource.Resource {
	values := g.Sysctls
	var list []resource.Resource
	for _, p := range addrs {
		if p.Addr().Is6() {
			// IPv6 may be off in a new namespace; and addresses of a link that
			// goes down for a moment are to stay.
			values = append(values,
				resource.LinkSysctl{Family: "ipv6", Name: "disable_ipv6", Value: "0"},
				resource.LinkSysctl{Family: "ipv6", Name: "keep_addr_on_down", Value: "1", IfPresent: true, Refines: true})
			list = append(list, &resource.EnsuredSysctl{
				Side: resource.Container, Name: "net/ipv6/conf/lo/disable_ipv6", Value: "0", IfPresent: true,
			})
			break
		}
	}
	if len(values) == 0 {
		return list
	}
	return append(list, &resource.LinkSysctls{On: g.On, Values: values})
}

// prefixes are the addresses of a result, with their networks' lengths.
func prefixes(ips []*current.IPConfig) ([]netip.Prefix, error) {
	list := make([]netip.Prefix, 0, len(ips))
	for _, ip := range ips {
		p, err := Prefix(ip.Address)
		if err != nil {
			return nil, err
		}
		list = append(list, p)
	}
	return list, nil
}

// Prefix converts; an IPv4 address becomes one of 4 bytes.
func Prefix(n net.IPNet) (netip.Prefix, error) {
	addr, ok := netip.AddrFromSlice(n.IP)
	bits, size := n.Mask.Size()
	addr = addr.Unmap()
	if ok && size == 128 && addr.Is4() {
		bits -= 96
	}
	if !ok || size == 0 || bits < 0 || bits > addr.BitLen() {
		return netip.Prefix{}, fmt.Errorf("%s is no address with a network's length", n.String())
	}
	return netip.PrefixFrom(addr, bits), nil
}

// IPNet converts back.
func IPNet(p netip.Prefix) net.IPNet {
	return net.IPNet{IP: p.Addr().AsSlice(), Mask: net.CIDRMask(p.Bits(), p.Addr().BitLen())}
}

// Gateway converts a gateway; the zero Addr is none.
func Gateway(ip net.IP) netip.Addr {
	addr, _ := netip.AddrFromSlice(ip)
	return addr.Unmap()
}

// Routes are the routes of a result, numbered from first. One without a gateway
// has that of the first address of its family.
func Routes(on resource.On, first int, result *current.Result) ([]resource.Resource, error) {
	var list []resource.Resource
	for n, r := range result.Routes {
		dst, err := Prefix(r.Dst)
		if err != nil {
			return nil, fmt.Errorf("route: %w", err)
		}
		route := &resource.Route{
			On: on, N: first + n, Dst: dst, Gateway: Gateway(r.GW),
			MTU: r.MTU, AdvMSS: r.AdvMSS, Priority: r.Priority,
		}
		if !route.Gateway.IsValid() {
			route.Gateway = firstGateway(result.IPs, dst.Addr().Is4())
		}
		if err := place(route, r); err != nil {
			return nil, err
		}
		list = append(list, route)
	}
	return list, nil
}

// place sets what a route says of its table and scope.
func place(route *resource.Route, r *types.Route) error {
	if r.Table != nil {
		if *r.Table < 0 || int64(*r.Table) > 0xffffffff {
			return fmt.Errorf("route to %s: table %d is out of range", route.Dst, *r.Table)
		}
		route.Table = uint32(*r.Table)
	}
	if r.Scope != nil {
		if *r.Scope < 0 || *r.Scope > 255 {
			return fmt.Errorf("route to %s: scope %d is out of range", route.Dst, *r.Scope)
		}
		scope := uint8(*r.Scope)
		route.Scope = &scope
	}
	return nil
}

func firstGateway(ips []*current.IPConfig, v4 bool) netip.Addr {
	for _, ip := range ips {
		if gw := Gateway(ip.Gateway); gw.IsValid() && gw.Is4() == v4 {
			return gw
		}
	}
	return netip.Addr{}
}

// MergeDNS gives the configuration's DNS where it says anything, be it an empty
// list, else IPAM's.
func MergeDNS(conf, ipam types.DNS) types.DNS {
	if conf.Nameservers == nil && conf.Search == nil && conf.Options == nil && conf.Domain == "" {
		return ipam
	}
	return conf
}

// promised are the interfaces, addresses and routes that prevResult says are in
// the container, as things to observe.
func promised(prev *current.Result, ifName string) ([]resource.Resource, error) {
	var list []resource.Resource
	links := map[string]*resource.SeenLink{}
	for _, i := range prev.Interfaces {
		if i.Sandbox != "" {
			links[i.Name] = &resource.SeenLink{Name: i.Name, MAC: i.Mac, MTU: i.Mtu}
			list = append(list, links[i.Name])
		}
	}
	count := map[string]int{}
	for _, ip := range prev.IPs {
		name := ifName
		if n := ip.Interface; n != nil && *n >= 0 && *n < len(prev.Interfaces) {
			if prev.Interfaces[*n].Sandbox == "" {
				continue
			}
			name = prev.Interfaces[*n].Name
		}
		p, err := Prefix(ip.Address)
		if err != nil {
			return nil, fmt.Errorf("prevResult: %w", err)
		}
		if link := links[name]; link != nil {
			link.Up = true
		}
		list = append(list, &resource.Address{On: resource.On{Side: resource.Container, Link: name}, N: count[name], Address: p})
		count[name]++
	}
	if len(prev.Interfaces) > 0 && links[ifName] == nil {
		return list, nil // what it has is a virtual machine's
	}
	routes, err := Routes(resource.On{Side: resource.Container, Link: ifName}, 0, prev)
	if err != nil {
		return nil, fmt.Errorf("prevResult: %w", err)
	}
	return append(list, routes...), nil
}
