// Package loopback is the loopback plugin: the container's lo is up. See
// README.md.
package loopback

import (
	current "github.com/containernetworking/cni/pkg/types/100"

	"github.com/fairlead-net/fairlead/cni"
	"github.com/fairlead-net/fairlead/resource"
)

// Plugin is the loopback plugin.
func Plugin() cni.Plugin {
	return cni.Plugin{
		Name:  "loopback",
		About: "the container's loopback interface is up",
		// Runtimes call it for lo once more when they were started again.
		Repeatable: true,
		Prepare: func(req *cni.Request) (cni.Statement, error) {
			return &statement{Base: cni.Base{Req: req}}, nil
		},
	}
}

type statement struct{ cni.Base }

// Delegations: none, whatever the configuration says.
func (s *statement) Delegations() []cni.Delegation { return nil }

// Link is lo, whatever CNI_IFNAME says.
func (s *statement) Link(cni.Facts) ([]resource.Resource, error) {
	return []resource.Resource{&resource.Loopback{}}, nil
}

// Result hands a previous result on; the first plugin of a chain reports lo
// with its first address of each family.
func (s *statement) Result(made cni.Made) (*current.Result, error) {
	if prev := s.Req.Conf.PrevResult; prev != nil {
		return prev, nil
	}
	out := &current.Result{Interfaces: []*current.Interface{
		{Name: "lo", Mac: "00:00:00:00:00:00", Sandbox: s.Req.Netns},
	}}
	seen := map[bool]bool{}
	for _, r := range made.Link {
		lo, ok := r.(*resource.Loopback)
		if !ok {
			continue
		}
		for _, p := range lo.Addresses {
			if v4 := p.Addr().Is4(); !seen[v4] {
				seen[v4] = true
				out.IPs = append(out.IPs, &current.IPConfig{Interface: current.Int(0), Address: cni.IPNet(p)})
			}
		}
	}
	return out, nil
}
