// Package vrf is the vrf plugin: it puts the interface that an earlier plugin
// made into a VRF. See README.md.
package vrf

import (
	"github.com/fairlead-net/fairlead/cni"
	"github.com/fairlead-net/fairlead/resource"
)

// Plugin is the vrf plugin.
func Plugin() cni.Plugin {
	return cni.Plugin{
		Name:  "vrf",
		About: "the container's interface is in a VRF, which has a routing table of its own",
		Prepare: func(req *cni.Request) (cni.Statement, error) {
			conf, err := parse(req)
			if err != nil {
				return nil, err
			}
			return &statement{Chain: cni.Chain{Base: cni.Base{Req: req}}, conf: conf}, nil
		},
	}
}

type statement struct {
	cni.Chain
	conf *config
}

// Facts is the table: that of the VRF, if the container has it already.
func (s *statement) Facts() []cni.Fact {
	return []cni.Fact{resource.VRFTable{VRF: s.conf.VRFName, Table: s.conf.Table}}
}

// Link is the VRF, what leads to its table, and that the interface is in it.
func (s *statement) Link(facts cni.Facts) ([]resource.Resource, error) {
	if s.conf.VRFName == "" {
		return nil, nil
	}
	table := s.conf.Table
	if table == 0 {
		if _, err := facts.Get(resource.VRFTableName, &table); err != nil {
			return nil, err
		}
	}
	id := s.Req.ID()
	return []resource.Resource{
		&resource.VRF{Name: s.conf.VRFName, Table: table},
		&resource.VRFRules{Side: resource.Container, VRF: s.conf.VRFName},
		&resource.VRFMember{
			On:  resource.On{Side: resource.Container, Link: id.IfName, In: resource.Sandbox},
			VRF: s.conf.VRFName, Owner: id.Owner(), Table: table,
		},
	}, nil
}
