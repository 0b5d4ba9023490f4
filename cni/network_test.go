package cni

import (
	"encoding/json"
	"testing"

	"github.com/containernetworking/cni/pkg/types"
	"github.com/google/go-cmp/cmp"
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
