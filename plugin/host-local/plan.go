// Package hostlocal is the host-local plugin: addresses of ranges, leased in
// files on the node. See README.md.
package hostlocal

import (
	"context"
	"errors"

	"github.com/containernetworking/cni/pkg/types"
	current "github.com/containernetworking/cni/pkg/types/100"

	"github.com/fairlead-net/fairlead/cni"
	"github.com/fairlead-net/fairlead/ipam"
	"github.com/fairlead-net/fairlead/resource"
)

// Plugin is the host-local plugin.
func Plugin() cni.Plugin {
	return cni.Plugin{
		Name:  "host-local",
		IPAM:  true,
		About: "addresses of ranges, leased in files on the node",
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
	conf *ipam.Config
}

// Delegations: none. The configuration's ipam.type is this plugin.
func (s *statement) Delegations() []cni.Delegation { return nil }

// Facts: the node's DNS settings, where resolvConf names a file.
func (s *statement) Facts() []cni.Fact {
	if s.conf.ResolvConf == "" {
		return nil
	}
	return []cni.Fact{resolvConf{s.conf.ResolvConf}}
}

// Link is the lease.
func (s *statement) Link(cni.Facts) ([]resource.Resource, error) {
	return []resource.Resource{s.lease()}, nil
}

func (s *statement) lease() *ipam.Lease {
	return &ipam.Lease{
		DataDir: s.conf.DataDir, ID: s.Req.ID(),
		Ranges: s.conf.Ranges, Requested: s.conf.Requested,
	}
}

// Result has the addresses that were leased, and no interfaces
// (spec 35).
func (s *statement) Result(made cni.Made) (*current.Result, error) {
	for _, r := range made.Link {
		lease, ok := r.(*ipam.Lease)
		if !ok {
			continue
		}
		var dns types.DNS
		if _, err := made.Facts.Get(factResolvConf, &dns); err != nil {
			return nil, err
		}
		return s.result(lease.Got, dns), nil
	}
	return nil, errors.New("host-local: no lease was made")
}

func (s *statement) result(got []ipam.Allocation, dns types.DNS) *current.Result {
	out := &current.Result{Routes: s.conf.Routes, DNS: dns}
	for _, a := range got {
		out.IPs = append(out.IPs, &current.IPConfig{
			Address: cni.IPNet(a.Address), Gateway: a.Gateway.AsSlice(),
		})
	}
	return out
}

// Status: ADD could read the node's DNS settings. That there are addresses, the
// lease tells.
func (s *statement) Status(ctx context.Context, env resource.Env) error {
	for _, f := range s.Facts() {
		if _, err := f.Find(ctx, env); err != nil {
			return err
		}
	}
	return nil
}

// Preview is the result of an ADD that were made now.
func (s *statement) Preview(ctx context.Context) (*current.Result, error) {
	got, err := s.lease().Preview(ctx)
	if err != nil {
		return nil, err
	}
	var dns types.DNS
	for _, f := range s.Facts() {
		found, err := f.Find(ctx, resource.Env{})
		if err != nil {
			return nil, err
		}
		dns, _ = found.(types.DNS)
	}
	return s.result(got, dns), nil
}
