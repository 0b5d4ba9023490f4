// Package sbr is the sbr plugin: packets from the addresses of an interface are
// routed by way of that interface. See README.md.
package sbr

import (
	"slices"

	"github.com/fairlead-net/fairlead/cni"
	"github.com/fairlead-net/fairlead/resource"
)

// Plugin is the sbr plugin.
func Plugin() cni.Plugin {
	return cni.Plugin{
		Name:  "sbr",
		About: "routing by source: each address of the interface has a routing table",
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

// Facts: which tables are free, and which routes there are to move.
func (s *statement) Facts() []cni.Fact {
	if s.conf.table != 0 {
		return nil
	}
	return []cni.Fact{resource.FindSourceRouting{Link: s.Req.IfName, Tables: len(s.conf.sources)}}
}

// Link is the rules, then the routes that they lead to. A removal without the
// journal looks for the rules: the configuration does not tell who made them.
func (s *statement) Link(facts cni.Facts) ([]resource.Resource, error) {
	on := resource.On{Side: resource.Container, Link: s.Req.IfName, In: resource.Sandbox}
	rules := &resource.SourceRules{On: on, Owner: s.Req.ID().Owner(), Table: s.conf.table}
	if s.conf.table != 0 {
		tables := slices.Repeat([]uint32{s.conf.table}, len(s.conf.sources))
		s.fill(rules, s.Req.Verb != cni.Del, tables)
		return []resource.Resource{rules}, nil
	}
	routes := &resource.SourceRoutes{On: on}
	var found resource.SourceRouting
	known, err := facts.Get(resource.SourceRoutingName, &found)
	if err != nil {
		return nil, err
	}
	s.fill(rules, known, found.Tables)
	if known {
		s.conf.move(routes, found)
	}
	return []resource.Resource{rules, routes}, nil
}

// fill states a rule for each address, or, with the tables not known, the
// addresses.
func (s *statement) fill(rules *resource.SourceRules, known bool, tables []uint32) {
	for i, source := range s.conf.sources {
		from := source.prefix.Addr()
		if known {
			rules.Rules = append(rules.Rules, resource.SourceRule{From: from, Table: tables[i]})
		} else {
			rules.Addresses = append(rules.Addresses, from)
		}
	}
}
