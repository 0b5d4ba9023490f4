package cni

import (
	"encoding/json"
	"net"
	"testing"

	"github.com/containernetworking/cni/pkg/types"
	current "github.com/containernetworking/cni/pkg/types/100"
	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-net/fairlead/resource"
)

// TestMergeDNS: what the configuration states holds as a whole, as with the
// reference; an empty list is a statement too.
func TestMergeDNS(t *testing.T) {
	t.Parallel()
	ipam := types.DNS{Nameservers: []string{"192.0.2.1"}, Domain: "ipam.example"}
	for conf, want := range map[string]types.DNS{
		`{}`:                              ipam,
		`{"nameservers":null}`:            ipam,
		`{"domain":"conf.example"}`:       {Domain: "conf.example"},
		`{"nameservers":["192.0.2.2"]}`:   {Nameservers: []string{"192.0.2.2"}},
		`{"nameservers":[]}`:              {Nameservers: []string{}},
		`{"search":[]}`:                   {Search: []string{}},
		`{"options":[],"domain":"x.com"}`: {Options: []string{}, Domain: "x.com"},
	} {
		var dns types.DNS
		if err := json.Unmarshal([]byte(conf), &dns); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, MergeDNS(dns, ipam)); d != "" {
			t.Errorf("%s: %s", conf, d)
		}
	}
}

// TestRule14PromisedRoutes: they are the interface's that the call is for, where
// that is in the container; a virtual machine's are within it, whoever else has
// put an interface beside it.
func TestRule14PromisedRoutes(t *testing.T) {
	t.Parallel()
	tap, own := &current.Interface{Name: "tap0"}, &current.Interface{Name: "eth0", Sandbox: "/run/netns/c1"}
	other := &current.Interface{Name: "late0", Sandbox: "/run/netns/c1"}
	for name, tc := range map[string]struct {
		interfaces []*current.Interface
		want       int
	}{
		"the container's":             {[]*current.Interface{own}, 1},
		"unnamed":                     {nil, 1},
		"a machine's":                 {[]*current.Interface{tap}, 0},
		"a machine's beside another":  {[]*current.Interface{tap, other}, 0},
		"the container's and another": {[]*current.Interface{own, other}, 1},
	} {
		list, err := promised(&current.Result{
			Interfaces: tc.interfaces, Routes: []*types.Route{{Dst: net.IPNet{IP: net.IPv4zero.To4(), Mask: net.CIDRMask(0, 32)}}},
		}, "eth0")
		got := 0
		for _, r := range list {
			if _, ok := r.(*resource.Route); ok {
				got++
			}
		}
		if err != nil || got != tc.want {
			t.Errorf("%s: %d routes, want %d, %v", name, got, tc.want, err)
		}
	}
}
