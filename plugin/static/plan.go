// Package static is the static plugin: the addresses that the configuration or
// the runtime names. See README.md.
package static

import (
	"context"

	current "github.com/containernetworking/cni/pkg/types/100"

	"github.com/fairlead-net/fairlead/cni"
)

// Plugin is the static plugin.
func Plugin() cni.Plugin {
	return cni.Plugin{
		Name:          "static",
		IPAM:          true,
		CheckGateways: true,
		About:         "addresses that the configuration or the runtime names",
		Prepare: func(req *cni.Request) (cni.Statement, error) {
			conf, err := parse(req)
			if err != nil {
				return nil, err
			}
			return &statement{Base: cni.Base{Req: req}, conf: conf}, nil
		},
	}
}

// statement owns nothing: no address is reserved anywhere.
type statement struct {
	cni.Base
	conf *config
}

// Delegations: none. The configuration's ipam.type is this plugin.
func (s *statement) Delegations() []cni.Delegation { return nil }

// Result has the addresses in order, and no interfaces (spec 35).
func (s *statement) Result(cni.Made) (*current.Result, error) {
	out := &current.Result{Routes: s.conf.routes, DNS: s.conf.dns}
	for _, a := range s.conf.addresses {
		out.IPs = append(out.IPs, &current.IPConfig{
			Address: cni.IPNet(a.prefix), Gateway: a.gateway.AsSlice(),
		})
	}
	return out, nil
}

// Preview is the result itself.
func (s *statement) Preview(context.Context) (*current.Result, error) {
	return s.Result(cni.Made{})
}
