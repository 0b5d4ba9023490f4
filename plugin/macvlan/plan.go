// Package macvlan is the macvlan plugin: a link with a MAC address of its own
// on an interface of the host. See README.md.
package macvlan

import (
	"github.com/fairlead-net/fairlead/cni"
	"github.com/fairlead-net/fairlead/resource"
)

// Plugin is the macvlan plugin.
func Plugin() cni.Plugin {
	return cni.Plugin{
		Name:  "macvlan",
		About: "an interface with a MAC address of its own on one of the host's",
		Prepare: func(req *cni.Request) (cni.Statement, error) {
			conf, err := parse(req)
			if err != nil {
				return nil, err
			}
			return state(req, conf), nil
		},
	}
}

// state says what the configuration means. A neighbour on the network may have
// an address that is given here: IPv6 asks first.
func state(req *cni.Request, conf *config) cni.Statement {
	link := resource.NewMacvlan(req.ID(), conf.Mode)
	link.MTU, link.BCQueueLen = conf.MTU, conf.BCQueueLen
	if conf.MAC != "" && conf.Mode != resource.Passthru {
		link.MAC = conf.MAC
	}
	return &cni.Child{
		Base: cni.Base{Req: req}, Child: link,
		Master: cni.MasterOf(conf.Master, conf.LinkInContainer), MTUWithinMaster: true,
		DAD: true, Announce: true,
	}
}
