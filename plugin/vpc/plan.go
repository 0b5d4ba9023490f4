// Package vpc is the vpc plugin: containers and virtual machines in isolated
// networks that span nodes. See README.md.
package vpc

import (
	"context"
	"net/netip"
	"slices"

	current "github.com/containernetworking/cni/pkg/types/100"

	"github.com/fairlead-net/fairlead/attachment"
	"github.com/fairlead-net/fairlead/cni"
	"github.com/fairlead-net/fairlead/engine"
	"github.com/fairlead-net/fairlead/resource"
)

// Plugin is the vpc plugin.
func Plugin() cni.Plugin {
	return cni.Plugin{
		Name:  "vpc",
		About: "a pod, or a virtual machine's tap device, in an isolated network that spans nodes",
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

func (s *statement) isTap() bool { return s.conf.Mode == modeTap }

func (s *statement) vrf() *resource.VRF {
	return &resource.VRF{Name: attachment.VRFOfVPC(s.conf.VPC), VPC: s.conf.VPC}
}

// veth is the pair of veth mode. host-device moves the guest's end.
func (s *statement) veth() *resource.Veth {
	id := s.Req.ID()
	v := resource.NewVeth(id)
	v.Alias, v.VRF, v.Passing = id.AliasIn(s.conf.VPC, s.conf.Attachment), s.vrf().Name, id.Owner().GuestVeth()
	v.MTU = s.conf.MTU
	return v
}

func (s *statement) tap() *resource.Tap {
	c := s.conf
	t := resource.NewVPCTap(s.Req.ID(), c.VPC, c.Attachment)
	t.MultiQueue, t.User, t.Group, t.MTU, t.Leases = *c.MultiQueue, c.Owner, c.Group, c.MTU, s.Lease()
	return t
}

// on is the host's end of the attachment.
func (s *statement) on() resource.On {
	if s.isTap() {
		return s.tap().On()
	}
	return s.veth().HostEnd()
}

// Facts: the VPC's table and its zone, and how the host sends to other nodes.
func (s *statement) Facts() []cni.Fact {
	c := s.conf
	facts := []cni.Fact{resource.VRFTable{
		VRF: s.vrf().Name, VPC: c.VPC, Table: c.Table, First: c.Tables.First, Last: c.Tables.Last,
	}, resource.FindVPCZone{VPC: c.VPC, VRF: s.vrf().Name}}
	if c.srv6 != nil && len(c.srv6.remotes) > 0 {
		facts = append(facts, resource.FindWay{To: c.srv6.remotes[0].segment})
	}
	return facts
}

func (s *statement) table(facts cni.Facts) (table uint32, err error) {
	_, err = facts.Get(resource.VRFTableName, &table)
	return table, err
}

// way is the zero Way where there is none, or it is unknown.
func (s *statement) way(facts cni.Facts) (way resource.Way, err error) {
	_, err = facts.Get(resource.FindWay{}.Name(), &way)
	return way, err
}

// overhead is what wrapping a packet for one segment adds, in bytes: an IPv6
// header, and a routing header with one segment (RFC 8754).
const overhead = 40 + 8 + 16

// Link is the VPC's VRF, and a link that is in it from the first.
func (s *statement) Link(facts cni.Facts) ([]resource.Resource, error) {
	if s.conf.VPC == "" {
		return nil, nil
	}
	table, err := s.table(facts)
	if err != nil {
		return nil, err
	}
	way, err := s.way(facts)
	if err != nil {
		return nil, err
	}
	mtu := s.conf.MTU
	if mtu == 0 && way.MTU > overhead {
		mtu = way.MTU - overhead
	}
	vrf := s.vrf()
	vrf.Table = table
	zone := &resource.VPCZone{VPC: vrf.VPC, VRF: vrf.Name}
	if _, err := facts.Get(resource.VPCZoneName, &zone.Zone); err != nil {
		return nil, err
	}
	list := []resource.Resource{vrf, &resource.VRFRules{Side: resource.Host, VRF: vrf.Name}, zone}
	if s.conf.srv6 != nil {
		list = append(list, resource.StrictVRFs())
	}
	if s.isTap() {
		tap := s.tap()
		tap.MTU = mtu
		return append(list, tap), nil
	}
	veth := s.veth()
	veth.MTU = mtu
	return append(list, veth), nil
}

// Network is how the VPC reaches other nodes, then the host's end of the
// attachment, then the container's.
func (s *statement) Network(facts cni.Facts, ipam cni.Known[*current.Result]) ([]resource.Resource, error) {
	if s.conf.VPC == "" {
		return nil, nil
	}
	table, err := s.table(facts)
	if err != nil {
		return nil, err
	}
	beyond, err := s.beyond(facts, ipam)
	if err != nil {
		return nil, err
	}
	own := &resource.VPCAddresses{On: s.on()}
	if result, known := ipam.Get(); known {
		for _, ip := range result.IPs {
			own.Addresses = append(own.Addresses, cni.Gateway(ip.Address.IP))
		}
	}
	list := append([]resource.Resource{own}, beyond...)
	link := cni.Routed{
		Guest: s.veth().Guest(), Host: s.on(), VRF: s.vrf().Name, Leases: s.Lease(), Table: table,
		Over: s.conf.VPC + "/" + s.conf.Attachment, Announce: true,
	}
	host, err := link.HostEnd(ipam)
	if err != nil {
		return nil, err
	}
	if s.isTap() {
		return once(append(list, s.tapEnd(host, table, ipam)...)), nil
	}
	list = append(list, host...)
	list = append(list, s.neighbours(ipam)...)
	list = append(list, s.routes(table, ipam)...)
	if s.Req.Conf.IPAM.Type == "" {
		return once(append(list, &resource.LinkUp{On: link.Guest})), nil
	}
	guest, err := link.GuestEnd(ipam)
	return once(append(list, guest...)), err
}

// once leaves out what is stated a second time: forwarding.
func once(list []resource.Resource) []resource.Resource {
	seen := map[engine.Ref]bool{}
	return slices.DeleteFunc(list, func(r resource.Resource) bool {
		ref := engine.RefOf(r)
		again := seen[ref]
		seen[ref] = true
		return again
	})
}

// tapEnd is the device up, before its routes: the machine behind it has its
// address from elsewhere. It may take its neighbours for near; the host answers
// in their place. The claim comes last.
func (s *statement) tapEnd(host []resource.Resource, table uint32, ipam cni.Known[*current.Result]) []resource.Resource {
	tap := s.tap()
	list := []resource.Resource{
		&resource.LinkSysctls{On: tap.On(), Values: []resource.LinkSysctl{{Family: "ipv4", Name: "proxy_arp", Value: "1", IfPresent: true}}},
		&resource.LinkUp{On: tap.On()},
	}
	list = append(list, host...)
	list = append(list, s.routes(table, ipam)...)
	claim := &resource.TapClaim{On: tap.On(), Owner: tap.Owner, Alias: tap.Alias}
	for _, r := range list {
		switch r := r.(type) {
		case *resource.Address:
			claim.Keep = append(claim.Keep, r.Address)
		case *resource.Route:
			claim.Keep = append(claim.Keep, r.Dst)
		}
	}
	return append(list, claim)
}

// neighbours say which MAC address the container's addresses have: the first
// packet need not wait.
func (s *statement) neighbours(ipam cni.Known[*current.Result]) []resource.Resource {
	result, known := ipam.Get()
	if !known {
		return nil
	}
	var list []resource.Resource
	veth := s.veth()
	for n, ip := range result.IPs {
		list = append(list, &resource.Neighbour{On: veth.HostEnd(), N: n, Address: cni.Gateway(ip.Address.IP), MAC: veth.MAC})
	}
	return list
}

// routes are what else is reached by way of the attachment, numbered after the
// routes to its addresses.
func (s *statement) routes(table uint32, ipam cni.Known[*current.Result]) []resource.Resource {
	n := 0
	if result, known := ipam.Get(); known {
		n = len(result.IPs)
	} else if s.Req.Conf.IPAM.Type != "" {
		return nil // they live on the link
	}
	var list []resource.Resource
	for i, r := range s.conf.routes {
		list = append(list, s.forwarding(r.dst.Addr().Is6())...)
		list = append(list, &resource.Route{
			On: s.on(), N: n + i, Dst: r.dst, Gateway: r.via, OnLink: r.via.IsValid(), Table: table,
			Over: s.conf.VPC + "/" + s.conf.Attachment,
		})
	}
	return list
}

// beyond is the VPC's segment on this node, and the ways to its prefixes on
// others.
func (s *statement) beyond(facts cni.Facts, ipam cni.Known[*current.Result]) ([]resource.Resource, error) {
	c := s.conf.srv6
	if c == nil {
		return nil, nil
	}
	share := func(use resource.RouteUse, dst netip.Prefix) *resource.VRFRoute {
		return &resource.VRFRoute{VPC: s.conf.VPC, VRF: s.vrf().Name, Use: use, Dst: dst}
	}
	local := share(resource.LocalSegment, cni.Alone(c.segment))
	local.IPv4 = s.hasIPv4(ipam)
	list := append(s.forwarding(true), local)
	if len(c.remotes) == 0 {
		return list, nil
	}
	way, err := s.way(facts)
	if err != nil {
		return nil, err
	}
	source := &resource.SRv6Source{Address: way.Source}
	if c.source.IsValid() {
		source = &resource.SRv6Source{Address: c.source, Asked: true}
	}
	list = append(list, source)
	ways := map[netip.Addr]bool{}
	for _, r := range c.remotes {
		if !ways[r.segment] {
			ways[r.segment] = true
			list = append(list, share(resource.SegmentWay, cni.Alone(r.segment)))
		}
		route := share(resource.RemoteRoute, r.prefix)
		route.SID = r.segment
		list = append(list, route)
	}
	return list, nil
}

// forwarding is that of what comes in by the attachment, and of what comes out of
// a segment: that comes in by the VRF.
func (s *statement) forwarding(ipv6 bool) []resource.Resource {
	return resource.Forwarding(ipv6, s.on().Link, s.vrf().Name)
}

// hasIPv4 tells whether any address or network of the VPC that is known here is
// IPv4.
func (s *statement) hasIPv4(ipam cni.Known[*current.Result]) bool {
	if result, known := ipam.Get(); known {
		for _, ip := range result.IPs {
			if cni.Gateway(ip.Address.IP).Is4() {
				return true
			}
		}
	}
	return slices.ContainsFunc(s.conf.routes, func(r route) bool { return r.dst.Addr().Is4() }) ||
		slices.ContainsFunc(s.conf.srv6.remotes, func(r remote) bool { return r.prefix.Addr().Is4() })
}

// Status tells whether segments could lead to VRFs.
func (s *statement) Status(_ context.Context, env resource.Env) error {
	if s.conf.srv6 == nil {
		return nil
	}
	return resource.StrictVRFsReady(env)
}

// Result: the host's end and the container's, which has the addresses; or the
// tap device, and the addresses are for the machine behind it.
func (s *statement) Result(made cni.Made) (*current.Result, error) {
	out := &current.Result{}
	if made.IPAM != nil {
		out = cni.CopyResult(made.IPAM)
	}
	last := 0
	if s.isTap() {
		tap := s.tap()
		out.Interfaces = []*current.Interface{{Name: tap.Name, Mac: tap.MAC}}
	} else {
		veth := s.veth()
		out.Interfaces = []*current.Interface{
			{Name: veth.Host, Mac: veth.HostMAC},
			{Name: veth.Name, Mac: veth.MAC, Sandbox: s.Req.Netns},
		}
		last = 1
	}
	for _, ip := range out.IPs {
		ip.Interface = current.Int(last)
	}
	out.DNS = cni.MergeDNS(s.Req.Conf.DNS, out.DNS)
	return out, nil
}

var _ cni.Statuser = (*statement)(nil)
