package plantest

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	current "github.com/containernetworking/cni/pkg/types/100"
	"pgregory.net/rapid"

	"github.com/fairlead-net/fairlead/cni"
)

// TestRule03DELKnowsNothing proves of any addresses that ADD may have got that a
// DEL without a journal states all that outlives its link, though it knows
// neither them nor the facts, nor prevResult, nor the namespace.
func TestRule03DELKnowsNothing(t *testing.T, plugin cni.Plugin, conf []byte, facts cni.Facts, ipam cni.Known[*current.Result]) {
	t.Helper()
	rapid.Check(t, func(rt *rapid.T) {
		got := ipam
		if _, ok := ipam.Get(); ok {
			got = cni.Know(drawResult(rt))
		}
		known, err := cni.Plan(plugin, Request(conf), facts, got)
		if err != nil {
			rt.Skip(err) // no ADD is made of such a result
		}
		del := Request(withoutPrevResult(rt, conf))
		del.Verb, del.Path = cni.Del, nil
		del.Netns = rapid.SampledFrom([]string{"", del.Netns, "/nowhere"}).Draw(rt, "netns")
		unknown, err := cni.Plan(plugin, del, cni.Facts{}, cni.Known[*current.Result]{})
		if err != nil {
			rt.Fatalf("plan of DEL: %v", err)
		}
		// It may state more: what is not there is no harm.
		stated := outliving(unknown)
		for _, ref := range outliving(known) {
			if !slices.Contains(stated, ref) {
				rt.Fatalf("rule 3: ADD makes %q, DEL does not know of it:\n%q", ref, stated)
			}
		}
	})
}

// withoutPrevResult: a runtime may have lost it (spec 2).
func withoutPrevResult(rt *rapid.T, conf []byte) []byte {
	var m map[string]any
	if err := json.Unmarshal(conf, &m); err != nil {
		rt.Fatal(err)
	}
	delete(m, "prevResult")
	data, err := json.Marshal(m)
	if err != nil {
		rt.Fatal(err)
	}
	return data
}

// drawResult is what an IPAM plugin may give.
func drawResult(rt *rapid.T) *current.Result {
	byFamily := rapid.Bool()
	var r struct {
		CNIVersion string           `json:"cniVersion"`
		IPs        []map[string]any `json:"ips"`
		Routes     []map[string]any `json:"routes,omitempty"`
	}
	r.CNIVersion = "1.1.0"
	for n := range rapid.IntRange(1, 4).Draw(rt, "addresses") {
		ip := map[string]any{"address": fmt.Sprintf("10.%d.0.9/24", n), "gateway": fmt.Sprintf("10.%d.0.1", n)}
		if byFamily.Draw(rt, "IPv6") {
			ip = map[string]any{"address": fmt.Sprintf("fd00:%d::9/64", n), "gateway": fmt.Sprintf("fd00:%d::1", n)}
		}
		if rapid.Bool().Draw(rt, "no gateway") {
			delete(ip, "gateway")
		}
		r.IPs = append(r.IPs, ip)
	}
	for n := range rapid.IntRange(0, 3).Draw(rt, "routes") {
		dst := rapid.SampledFrom([]string{"0.0.0.0/0", "::/0", "192.0.2.0/24", "2001:db8::/32"}).Draw(rt, "to")
		r.Routes = append(r.Routes, map[string]any{"dst": dst, "priority": n})
	}
	data, err := json.Marshal(r)
	if err != nil {
		rt.Fatal(err)
	}
	var result current.Result
	if err := json.Unmarshal(data, &result); err != nil {
		rt.Fatal(err)
	}
	return &result
}
