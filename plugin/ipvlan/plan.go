// Package ipvlan is the ipvlan plugin: a link that shares the MAC address of an
// interface of the host. See README.md.
package ipvlan

import (
	"context"

	"github.com/fairlead-net/fairlead/cni"
	"github.com/fairlead-net/fairlead/resource"
)

// Plugin is the ipvlan plugin.
func Plugin() cni.Plugin {
	return cni.Plugin{
		Name:  "ipvlan",
		About: "an interface that shares the MAC address of one of the host's",
		Prepare: func(req *cni.Request) (cni.Statement, error) {
			conf, err := parse(req)
			if err != nil {
				return nil, err
			}
			return state(req, conf), nil
		},
	}
}

type statement struct{ *cni.Child }

// state says what the configuration means. Where the link sees its neighbours,
// in mode l2, one of them may have an address that is given here: IPv6 asks
// first.
func state(req *cni.Request, conf *config) cni.Statement {
	link := resource.NewIPVlan(req.ID(), conf.Mode)
	link.MTU = conf.MTU
	child := &cni.Child{
		Base: cni.Base{Req: req}, Child: link,
		Master: cni.MasterOf(conf.Master, conf.LinkInContainer),
		DAD:    conf.Mode == resource.IPVlanModes()[0], Announce: true,
	}
	if req.Conf.IPAM.Type == "" {
		child.Passed = req.Conf.PrevResult
	}
	return &statement{child}
}

// Status can't tell of a master that a plugin before this one gives.
func (s *statement) Status(ctx context.Context, env resource.Env) error {
	if s.Master.Link == "" {
		return nil
	}
	return s.Child.Status(ctx, env)
}
