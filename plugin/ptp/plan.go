// Package ptp is the ptp plugin: a veth pair between the container and the
// host, which routes. See README.md.
package ptp

import (
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

// scopeHost is RT_SCOPE_HOST (linux/rtnetlink.h), which the reference gives the
// route to the container; IPv6 routes have no scope.
const scopeHost = 254

// Network gives the container its addresses, and routes all of their networks
// by way of the host's end: no neighbour of the container's network is on the
// link. The host's end has the gateway's address and a route to the container.
func (s *statement) Network(_ cni.Facts, ipam cni.Known[*current.Result]) ([]resource.Resource, error) {
	veth, scope := s.veth(), uint8(scopeHost)
	link := cni.Routed{Guest: veth.Guest(), Host: veth.HostEnd(), Leases: s.Lease(), Scope: &scope}
	list, err := link.HostEnd(ipam)
	if err != nil {
		return nil, err
	}
	guest, err := link.GuestEnd(ipam)
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
