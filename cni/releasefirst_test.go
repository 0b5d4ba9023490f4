package cni

import (
	"slices"
	"testing"

	current "github.com/containernetworking/cni/pkg/types/100"

	"github.com/fairlead-net/fairlead/engine"
	"github.com/fairlead-net/fairlead/resource"
)

// leaseStatement has a link, and its addresses from such a plugin.
type leaseStatement struct {
	Base
	ipam string
}

func (s *leaseStatement) Delegations() []Delegation {
	return []Delegation{{Type: s.ipam, IPAM: true}}
}

func (*leaseStatement) Result(Made) (*current.Result, error) { return &current.Result{}, nil }

// TestRule04LinkStaysUntilDHCPHasReleased: the lease goes back over the link, so
// the link is not removed where the DEL of dhcp has not been heard.
func TestRule04LinkStaysUntilDHCPHasReleased(t *testing.T) {
	t.Parallel()
	for ipam, want := range map[string]bool{"dhcp": true, "host-local": false} {
		req := &Request{ContainerID: "c1", IfName: "eth0"}
		req.Conf.Name = "net"
		c := &call{req: req, caller: &caller{}}
		link := []resource.Resource{&stuck{}}
		list := c.delegates(&leaseStatement{Base{req}, ipam}, link)
		if got := slices.Contains(list[0].Needs(), engine.RefOf(link[0])); got != want {
			t.Errorf("%s needs the link until its DEL: %t, want %t", ipam, got, want)
		}
	}
}
