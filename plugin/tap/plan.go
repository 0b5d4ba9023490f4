// Package tap is the tap plugin: a tap device in the container, for a virtual
// machine's monitor. See README.md.
package tap

import (
	current "github.com/containernetworking/cni/pkg/types/100"

	"github.com/fairlead-net/fairlead/cni"
	"github.com/fairlead-net/fairlead/resource"
)

// Plugin is the tap plugin.
func Plugin() cni.Plugin {
	return cni.Plugin{
		Name:  "tap",
		About: "a tap device in the container",
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

func (s *statement) tap() *resource.Tap {
	c := s.conf
	t := resource.NewTap(s.Req.ID())
	t.User, t.Group, t.MultiQueue = c.Owner, c.Group, c.MultiQueue
	t.MTU, t.Bridge, t.SELinux = c.MTU, c.Bridge, c.SELinuxContext
	if c.mac != nil {
		t.MAC = c.mac.String()
	}
	return t
}

// Link is the device.
func (s *statement) Link(cni.Facts) ([]resource.Resource, error) {
	return []resource.Resource{s.tap()}, nil
}

// Network is its addresses and routes. Nobody reads from it yet, so to ask the
// network for addresses would only be waiting.
func (s *statement) Network(_ cni.Facts, ipam cni.Known[*current.Result]) ([]resource.Resource, error) {
	on := s.tap().On()
	if s.Req.Conf.IPAM.Type == "" {
		return []resource.Resource{&resource.LinkUp{On: on}}, nil
	}
	return cni.Guest{On: on, Leases: s.Lease(), Sysctls: []resource.LinkSysctl{
		{Family: "ipv4", Name: "arp_notify", Value: "1", IfPresent: true, Refines: true},
	}}.Configure(ipam)
}

// Result: the device; every address is its own.
func (s *statement) Result(made cni.Made) (*current.Result, error) {
	tap := s.tap()
	out := &current.Result{}
	if made.IPAM != nil {
		out = cni.CopyResult(made.IPAM)
	}
	out.Interfaces = []*current.Interface{{Name: tap.Name, Mac: tap.MAC, Sandbox: s.Req.Netns}}
	for _, ip := range out.IPs {
		ip.Interface = current.Int(0)
	}
	out.DNS = cni.MergeDNS(s.Req.Conf.DNS, out.DNS)
	return out, nil
}
