// Package bridge is the bridge plugin: a veth pair, its host's end a port of a
// Linux bridge. See README.md.
package bridge

import (
	"net"
	"net/netip"

	"github.com/containernetworking/cni/pkg/types"
	current "github.com/containernetworking/cni/pkg/types/100"

	"github.com/fairlead-net/fairlead/cni"
	"github.com/fairlead-net/fairlead/resource"
)

// Plugin is the bridge plugin.
func Plugin() cni.Plugin {
	return cni.Plugin{
		Name:  "bridge",
		About: "a veth pair between the container and a bridge on the host",
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

// Facts: the bridge's address is derived from the machine.
func (s *statement) Facts() []cni.Fact { return []cni.Fact{resource.MachineID{}} }

// Link is the bridge, the pair, and how the bridge treats its port.
func (s *statement) Link(facts cni.Facts) ([]resource.Resource, error) {
	bridge, err := s.bridge(facts)
	if err != nil {
		return nil, err
	}
	veth := s.veth()
	list := []resource.Resource{bridge, veth}
	if port := s.port(veth); port != nil {
		list = append(list, port)
	}
	if s.conf.MACSpoofCheck {
		list = append(list, s.spoofCheck(veth)...)
	}
	if veth.HostDown {
		list = append(list, &resource.LinkUp{On: veth.HostEnd()})
	}
	return list, nil
}

func (s *statement) bridge(facts cni.Facts) (*resource.Bridge, error) {
	machine, err := machineID(facts)
	if err != nil {
		return nil, err
	}
	b := resource.NewBridge(s.conf.Bridge, machine)
	b.MTU, b.Promisc, b.Pin = s.conf.MTU, s.conf.PromiscMode, s.conf.IsGateway
	b.VLANFiltering = s.conf.VLAN != 0 || len(s.conf.trunk) > 0
	return b, nil
}

// machineID is empty where it is unknown: a bridge is not made then.
func machineID(facts cni.Facts) (string, error) {
	var machine string
	_, err := facts.Get(resource.MachineID{}.Name(), &machine)
	return machine, err
}

func (s *statement) veth() *resource.Veth {
	v := resource.NewVeth(s.Req.ID())
	v.MTU, v.Master = s.conf.MTU, s.conf.Bridge
	if s.conf.mac != nil {
		v.MAC = s.conf.mac.String()
	}
	// A port with a policy comes up after it, so that no frame slips through.
	v.HostDown = s.conf.VLAN != 0 || len(s.conf.trunk) > 0 || s.conf.PortIsolation || s.conf.MACSpoofCheck
	return v
}

func (s *statement) port(veth *resource.Veth) *resource.BridgePort {
	c := s.conf
	if !c.HairpinMode && !c.PortIsolation && c.VLAN == 0 && len(c.trunk) == 0 {
		return nil
	}
	return &resource.BridgePort{
		On: veth.HostEnd(), Hairpin: c.HairpinMode, Isolated: c.PortIsolation,
		VLAN: uint16(c.VLAN), Trunk: resource.VLANRanges(c.trunk), PreserveDefaultVLAN: c.PreserveDefaultVLAN,
	}
}

// Network is the container's addresses and routes, then the host's part: its
// gateway addresses, forwarding, masquerading.
func (s *statement) Network(facts cni.Facts, ipam cni.Known[*current.Result]) ([]resource.Resource, error) {
	veth := s.veth()
	if s.Req.Conf.IPAM.Type == "" {
		if s.conf.DisableContainerInterface {
			return nil, nil
		}
		return []resource.Resource{&resource.LinkUp{On: veth.Guest()}}, nil
	}
	full := ipam
	if result, known := ipam.Get(); known {
		full = cni.Know(s.complete(result))
	}
	list, err := cni.Guest{
		On: veth.Guest(), Leases: s.Lease(), DAD: s.conf.EnableDAD, Sysctls: s.sysctls(),
	}.Configure(full)
	if err != nil {
		return nil, err
	}
	if _, known := full.Get(); known {
		list = append(list, &resource.Announce{On: veth.Guest(), Port: veth.Host})
	}
	if result, known := full.Get(); known && s.conf.IsGateway {
		gateways, err := s.gateways(facts, result)
		if err != nil {
			return nil, err
		}
		list = append(list, gateways...)
	}
	if s.conf.IPMasq {
		masq, err := cni.Masquerade(s.Req, s.conf.IPMasqBackend, full)
		if err != nil {
			return nil, err
		}
		list = append(list, masq...)
	}
	return list, nil
}

// sysctls: the kernel announces an address when the interface comes up and when
// its MAC address is set (arp_notify, ndisc_notify); DAD is the user's choice. All
// but a DAD that was asked for is a refinement.
func (s *statement) sysctls() []resource.LinkSysctl {
	dad := "0"
	var list []resource.LinkSysctl
	if s.conf.EnableDAD {
		dad = "1"
		list = append(list, resource.LinkSysctl{Family: "ipv6", Name: "enhanced_dad", Value: "1", IfPresent: true, Refines: true})
	}
	return append(list,
		resource.LinkSysctl{Family: "ipv6", Name: "accept_dad", Value: dad, IfPresent: true, Refines: !s.conf.EnableDAD},
		resource.LinkSysctl{Family: "ipv6", Name: "ndisc_notify", Value: "1", IfPresent: true, Refines: true},
		resource.LinkSysctl{Family: "ipv4", Name: "arp_notify", Value: "1", IfPresent: true, Refines: true})
}

// complete fills in what isGateway and isDefaultGateway mean: the gateway is
// the first address of the network, and the default route goes by way of it.
func (s *statement) complete(ipam *current.Result) *current.Result {
	full := cni.CopyResult(ipam)
	hasDefault := map[bool]bool{}
	for _, r := range full.Routes {
		if ones, _ := r.Dst.Mask.Size(); ones == 0 && r.GW != nil {
			hasDefault[r.Dst.IP.To4() != nil] = true
		}
	}
	for _, ip := range full.IPs {
		v4 := ip.Address.IP.To4() != nil
		if ip.Gateway == nil && s.conf.IsGateway {
			ip.Gateway = firstAddress(ip.Address)
		}
		if s.conf.IsDefaultGateway && !hasDefault[v4] {
			full.Routes = append(full.Routes, &types.Route{Dst: defaultDst(v4), GW: ip.Gateway})
			hasDefault[v4] = true
		}
	}
	return full
}

func defaultDst(v4 bool) net.IPNet {
	if v4 {
		return net.IPNet{IP: net.IPv4zero, Mask: net.CIDRMask(0, 32)}
	}
	return net.IPNet{IP: net.IPv6zero, Mask: net.CIDRMask(0, 128)}
}

func firstAddress(n net.IPNet) net.IP {
	p, err := cni.Prefix(n)
	if err != nil {
		return nil
	}
	return p.Masked().Addr().Next().AsSlice()
}

// gateways are the gateway addresses, on the bridge or on its VLAN's gateway,
// and forwarding between them and the world.
func (s *statement) gateways(facts cni.Facts, result *current.Result) ([]resource.Resource, error) {
	bridge, err := s.bridge(facts)
	if err != nil {
		return nil, err
	}
	on := bridge.On()
	var list []resource.Resource
	if s.conf.VLAN != 0 {
		gateway, err := s.vlanGateway(facts)
		if err != nil {
			return nil, err
		}
		on = gateway.On()
		list = append(list, gateway)
	}
	forwarding := map[bool]bool{}
	for _, ip := range result.IPs {
		addr, err := cni.Prefix(ip.Address)
		if err != nil {
			return nil, err
		}
		gw := cni.Gateway(ip.Gateway)
		list = append(list, &resource.BridgeAddress{
			Link: on.Link, In: on.In, Force: s.conf.ForceAddress,
			Address: netip.PrefixFrom(gw, addr.Bits()),
		})
		if v6 := gw.Is6(); !forwarding[v6] {
			forwarding[v6] = true
			list = append(list, resource.Forwarding(v6, on.Link)...)
		}
	}
	return list, nil
}

func (s *statement) vlanGateway(facts cni.Facts) (*resource.VLANGateway, error) {
	machine, err := machineID(facts)
	if err != nil {
		return nil, err
	}
	g := resource.NewVLANGateway(s.conf.Bridge, uint16(s.conf.VLAN), machine)
	g.PreserveDefaultVLAN = s.conf.PreserveDefaultVLAN
	return g, nil
}

// Result: the bridge, the host's end, the container's, and the VLAN's gateway
// where there is one; every address is the container's.
func (s *statement) Result(made cni.Made) (*current.Result, error) {
	veth := s.veth()
	out := &current.Result{Interfaces: []*current.Interface{
		{Name: s.conf.Bridge},
		{Name: veth.Host, Mac: veth.HostMAC},
		{Name: veth.Name, Mac: veth.MAC, Sandbox: s.Req.Netns},
	}}
	for _, r := range append(made.Link[:len(made.Link):len(made.Link)], made.Network...) {
		switch r := r.(type) {
		case *resource.Bridge:
			out.Interfaces[0].Mac = r.FoundMAC
		case *resource.VLANGateway:
			out.Interfaces = append(out.Interfaces, &current.Interface{Name: r.Name(), Mac: r.FoundMAC})
		}
	}
	if made.IPAM != nil {
		full := s.complete(made.IPAM)
		for _, ip := range full.IPs {
			ip.Interface = current.Int(2)
		}
		out.IPs, out.Routes, out.DNS = full.IPs, full.Routes, full.DNS
	}
	out.DNS = cni.MergeDNS(s.Req.Conf.DNS, out.DNS)
	return out, nil
}

// spoofCheck lets nothing out of the port but the container's own address.
func (s *statement) spoofCheck(veth *resource.Veth) []resource.Resource {
	return []resource.Resource{
		&resource.SpoofCheckTable{},
		resource.NewSpoofCheck(s.Req.ID(), veth.Host, veth.MAC),
	}
}
