// Package ptp is the ptp plugin: a veth pair between the container and the
// host, which routes. See README.md.
package ptp

import (
	"fmt"
	"net/netip"

	current "github.com/containernetworking/cni/pkg/types/100"

	"github.com/fairlead-net/fairlead/cni"
	"github.com/fairlead-net/fairlead/resource"
)

// Plugin is the ptp plugin.
func Plugin() cni.Plugin {
	return cni.Plugin{
		Name:  "ptp",
		About: "a veth pair between the container and the host, which routes",
		Prepare: func(req *cni.Request) (cni.Statement, error) {
			conf, err := parse(req)
			if err != nil {
				return nil, err
			}
			return &statement{Base: cni.Base{Req: req}, conf: conf}, nil
		},
	}
}

type statement struct {
	cni.Base
	conf *config
}

func (s *statement) veth() *resource.Veth {
	v := resource.NewVeth(s.Req.ID())
	v.MTU = s.conf.MTU
	return v
}

// Link is the pair.
func (s *statement) Link(cni.Facts) ([]resource.Resource, error) {
	return []resource.Resource{s.veth()}, nil
}

// Network gives the container its addresses, and routes all of their networks
// by way of the host's end: no neighbour of the container's network is on the
// link. The host's end has the gateway's address and a route to the container.
func (s *statement) Network(_ cni.Facts, ipam cni.Known[*current.Result]) ([]resource.Resource, error) {
	veth := s.veth()
	list, err := s.host(veth, ipam)
	if err != nil {
		return nil, err
	}
	guest, err := s.guest(veth, ipam)
	if err != nil {
		return nil, err
	}
	list = append(list, guest...)
	if !s.conf.IPMasq {
		return list, nil
	}
	masq, err := cni.Masquerade(s.Req, s.conf.IPMasqBackend, ipam)
	return append(list, masq...), err
}

// guest is the container's end. Routes to the gateway and by way of it come
// before those of the IPAM result, which may go by way of the gateway too.
func (s *statement) guest(veth *resource.Veth, ipam cni.Known[*current.Result]) ([]resource.Resource, error) {
	guest := cni.Guest{On: veth.Guest(), Leases: s.Lease(), NoPrefixRoute: true}
	result, known := ipam.Get()
	if !known {
		return guest.Configure(ipam)
	}
	bare := cni.CopyResult(result)
	bare.Routes = nil
	list, err := guest.Configure(cni.Know(bare))
	if err != nil {
		return nil, err
	}
	n := 0
	for _, ip := range result.IPs {
		addr, gw, err := ends(ip)
		if err != nil {
			return nil, err
		}
		list = append(list,
			&resource.Route{On: veth.Guest(), N: n, Dst: host(gw), Source: addr.Addr()},
			&resource.Route{On: veth.Guest(), N: n + 1, Dst: addr.Masked(), Gateway: gw, Source: addr.Addr()})
		n += 2
	}
	routes, err := cni.Routes(veth.Guest(), n, result)
	return append(list, routes...), err
}

// host is the host's end: the gateway's address as one of its own, and the
// container's address behind it.
func (s *statement) host(veth *resource.Veth, ipam cni.Known[*current.Result]) ([]resource.Resource, error) {
	result, known := ipam.Get()
	if !known {
		return nil, nil // all of it lives on the link
	}
	var list []resource.Resource
	forwarding := map[bool]bool{}
	for n, ip := range result.IPs {
		addr, gw, err := ends(ip)
		if err != nil {
			return nil, err
		}
		if v6 := gw.Is6(); !forwarding[v6] {
			forwarding[v6] = true
			list = append(list, resource.Forwarding(v6))
		}
		list = append(list,
			&resource.Address{On: veth.HostEnd(), N: n, Address: host(gw), NoDAD: true},
			&resource.Route{On: veth.HostEnd(), N: n, Dst: host(addr.Addr()), Scope: scopeHost(addr.Addr())})
	}
	return list, nil
}

func host(a netip.Addr) netip.Prefix { return netip.PrefixFrom(a, a.BitLen()) }

// scopeHost is RT_SCOPE_HOST (linux/rtnetlink.h), which the reference gives the
// route to the container; IPv6 routes have no scope.
func scopeHost(a netip.Addr) *uint8 {
	if !a.Is4() {
		return nil
	}
	scope := uint8(254)
	return &scope
}

// ends are the two addresses of the link.
func ends(ip *current.IPConfig) (addr netip.Prefix, gw netip.Addr, err error) {
	if addr, err = cni.Prefix(ip.Address); err != nil {
		return addr, gw, err
	}
	if gw = cni.Gateway(ip.Gateway); !gw.IsValid() || gw.Is4() != addr.Addr().Is4() {
		return addr, gw, fmt.Errorf("ipam gave %s without a gateway, which is the host's end of the link", addr)
	}
	return addr, gw, nil
}

// Result: the host's end and the container's; every address is the
// container's.
func (s *statement) Result(made cni.Made) (*current.Result, error) {
	veth := s.veth()
	out := cni.CopyResult(made.IPAM)
	out.Interfaces = []*current.Interface{
		{Name: veth.Host, Mac: veth.HostMAC},
		{Name: veth.Name, Mac: veth.MAC, Sandbox: s.Req.Netns},
	}
	for _, ip := range out.IPs {
		ip.Interface = current.Int(1)
	}
	out.DNS = cni.MergeDNS(s.Req.Conf.DNS, out.DNS)
	return out, nil
}
