// Package vlan is the vlan plugin: a VLAN of an interface of the host. See
// README.md.
package vlan

import (
	"github.com/fairlead-net/fairlead/cni"
	"github.com/fairlead-net/fairlead/resource"
)

// Plugin is the vlan plugin.
func Plugin() cni.Plugin {
	return cni.Plugin{
		Name:  "vlan",
		About: "an interface in a VLAN of one of the host's",
		Prepare: func(req *cni.Request) (cni.Statement, error) {
			conf, err := parse(req)
			if err != nil {
				return nil, err
			}
			return state(req, conf), nil
		},
	}
}

// state says what the configuration means. A neighbour in the VLAN may have an
// address that is given here: IPv6 asks first.
func state(req *cni.Request, conf *config) cni.Statement {
	link := resource.NewVLAN(req.ID(), uint16(conf.VLANID))
	link.MTU = conf.MTU
	return &cni.Child{
		Base: cni.Base{Req: req}, Child: link,
		Master: cni.MasterOf(conf.Master, conf.LinkInContainer), MTUWithinMaster: true,
		DAD: true,
	}
}
