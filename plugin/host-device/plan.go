// Package hostdevice is the host-device plugin: one of the host's devices is
// moved into the container. See README.md.
package hostdevice

import (
	current "github.com/containernetworking/cni/pkg/types/100"

	"github.com/fairlead-net/fairlead/cni"
	"github.com/fairlead-net/fairlead/resource"
)

// Plugin is the host-device plugin.
func Plugin() cni.Plugin {
	return cni.Plugin{
		Name:  "host-device",
		About: "one of the host's devices, moved into the container",
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

func (s *statement) fact() resource.FindDevice {
	return resource.FindDevice{Wanted: s.conf.wanted(), Config: s.conf.UseInterfaceNetwork}
}

// Facts: which device it is.
func (s *statement) Facts() []cni.Fact { return []cni.Fact{s.fact()} }

// found is empty where it is unknown: DEL does without.
func (s *statement) found(facts cni.Facts) (resource.HostDevice, error) {
	var found resource.HostDevice
	_, err := facts.Get(s.fact().Name(), &found)
	return found, err
}

// Link is the device, and what will be configured on it.
func (s *statement) Link(facts cni.Facts) ([]resource.Resource, error) {
	found, err := s.found(facts)
	if err != nil {
		return nil, err
	}
	if found.Driver != "" && s.conf.UseInterfaceNetwork {
		return nil, cni.Errorf(cni.CodeConfig, "useInterfaceNetwork: the driver %s has the device, which has no interface", found.Driver)
	}
	wanted := s.conf.wanted()
	if s.conf.MadeByCaller && s.Req.Verb == cni.Status {
		wanted = resource.DeviceSelector{} // there is none before an ADD
	}
	return []resource.Resource{resource.NewMovedDevice(s.Req.ID(), wanted, found), s.network(found)}, nil
}

func (s *statement) network(found resource.HostDevice) *resource.DeviceNetwork {
	return &resource.DeviceNetwork{Name: s.Req.IfName, Driver: found.Driver}
}

// Network is the device's addresses and routes. What a userspace driver has is
// for the program in the container to configure.
func (s *statement) Network(facts cni.Facts, ipam cni.Known[*current.Result]) ([]resource.Resource, error) {
	found, err := s.found(facts)
	if err != nil || found.Driver != "" {
		return nil, err
	}
	on := s.network(found).On()
	guest := cni.Guest{On: on, Leases: s.Lease(), DAD: true}
	if s.conf.UseInterfaceNetwork {
		return s.inherit(guest, found.Config, ipam)
	}
	if s.Req.Conf.IPAM.Type == "" {
		return []resource.Resource{&resource.LinkUp{On: on}}, nil
	}
	return guest.Configure(ipam)
}

// Result: the device; every address is its own.
func (s *statement) Result(made cni.Made) (*current.Result, error) {
	out := &current.Result{}
	if made.IPAM != nil {
		out = cni.CopyResult(made.IPAM)
	}
	device := &current.Interface{Name: s.Req.IfName, Sandbox: s.Req.Netns}
	for _, r := range made.Link {
		if moved, ok := r.(*resource.MovedDevice); ok {
			device.Mac = moved.MAC
		}
	}
	found, err := s.found(made.Facts)
	if err != nil {
		return nil, err
	}
	addInherited(out, found.Config)
	out.Interfaces = []*current.Interface{device}
	for _, ip := range out.IPs {
		ip.Interface = current.Int(0)
	}
	out.DNS = cni.MergeDNS(s.Req.Conf.DNS, out.DNS)
	return out, nil
}
