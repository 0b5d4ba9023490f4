// Package plantest pins plugins' plans with golden files, and proves of every
// plugin what the engine relies on. It is for tests alone.
//
// In a plugin's testdata, NAME.json is a configuration, NAME.ipam.json the IPAM
// result to go with it (absent for plugins without IPAM), NAME.facts.json what
// facts say (absent: Facts), and NAME.plan.json the plan. FAIRLEAD_UPDATE_GOLDEN=1 in the environment writes the plans anew.
package plantest

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	current "github.com/containernetworking/cni/pkg/types/100"
	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-net/fairlead/cni"
	"github.com/fairlead-net/fairlead/engine"
	"github.com/fairlead-net/fairlead/resource"
)

// Facts are what the golden plans were made with.
func Facts() cni.Facts {
	return cni.NewFacts(map[string]json.RawMessage{
		"machine-id":  json.RawMessage(`"5f0c7a4fd7c14b1cbb0f5d5c8d3c9a01"`),
		"master":      json.RawMessage(`{"name": "ens5", "mtu": 1500}`),
		"host-device": json.RawMessage(`{"name": "ens5", "index": 4}`),
		"vrf-table":   json.RawMessage(`7`),
		"vpc-zone":    json.RawMessage(`20007`),
	})
}

// Request is the ADD that the golden plans are for.
func Request(conf []byte) *cni.Request {
	return &cni.Request{
		Verb: cni.Add, ContainerID: "c0ffee", Netns: "/run/netns/c0ffee", IfName: "eth0",
		Path: []string{"/opt/cni/bin"}, Stdin: conf,
	}
}

// Run tests a plugin against its testdata.
func Run(t *testing.T, plugin cni.Plugin) {
	t.Helper()
	all, err := filepath.Glob("testdata/*.json")
	if err != nil {
		t.Fatal(err)
	}
	ran := false
	for _, path := range all {
		if strings.Count(filepath.Base(path), ".") > 1 {
			continue // NAME.SORT.json
		}
		ran = true
		base := strings.TrimSuffix(path, ".json")
		t.Run(filepath.Base(base), func(t *testing.T) {
			t.Parallel()
			conf, ipam := read(t, path), readIPAM(t, base+".ipam.json")
			facts := readFacts(t, base+".facts.json")
			golden(t, plugin, conf, facts, ipam, base+".plan.json")
			TestRule03UnknownKeepsKeys(t, plugin, conf, facts, ipam)
			TestRule03DELKnowsNothing(t, plugin, conf, facts, ipam)
		})
	}
	if !ran {
		t.Fatal("no configuration in testdata")
	}
}

func golden(t *testing.T, plugin cni.Plugin, conf []byte, facts cni.Facts, ipam cni.Known[*current.Result], path string) {
	t.Helper()
	list, err := cni.Plan(plugin, Request(conf), facts, ipam)
	if err != nil {
		t.Fatal(err)
	}
	type object struct {
		Sort   string            `json:"sort"`
		Kind   string            `json:"kind"`
		Key    string            `json:"key"`
		Within engine.Ref        `json:"within,omitempty"`
		Object resource.Resource `json:"object"`
	}
	out := make([]object, 0, len(list))
	for _, r := range list {
		out = append(out, object{engine.SortOf(r), r.Kind(), r.Key(), r.Within(), r})
	}
	got, err := json.MarshalIndent(out, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	got = append(got, '\n')
	if os.Getenv("FAIRLEAD_UPDATE_GOLDEN") == "1" {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(string(read(t, path)), string(got)); diff != "" {
		t.Errorf("the plan differs from %s (-want +got):\n%s", path, diff)
	}
}

// TestRule03UnknownKeepsKeys proves that a plan with unknown facts and
// addresses has the same Kind and Key for everything that DEL must remove
// itself.
func TestRule03UnknownKeepsKeys(t *testing.T, plugin cni.Plugin, conf []byte, facts cni.Facts, ipam cni.Known[*current.Result]) {
	t.Helper()
	known, err := cni.Plan(plugin, Request(conf), facts, ipam)
	if err != nil {
		t.Fatal(err)
	}
	unknown, err := cni.Plan(plugin, Request(conf), cni.Facts{}, cni.Known[*current.Result]{})
	if err != nil {
		t.Fatalf("plan with nothing known: %v", err)
	}
	if diff := cmp.Diff(outliving(known), outliving(unknown)); diff != "" {
		t.Errorf("rule 3: what outlives its link differs where nothing is known (-known +unknown):\n%s", diff)
	}
}

// outliving are the refs, with versions, of what does not die with another
// resource of the plan and is not left in place.
func outliving(list []resource.Resource) []string {
	exclusive := map[engine.Ref]bool{}
	for _, r := range list {
		exclusive[engine.RefOf(r)] = engine.SortOf(r) == "exclusive"
	}
	var refs []string
	for _, r := range list {
		if exclusive[r.Within()] || engine.SortOf(r) == "ensured" {
			continue
		}
		refs = append(refs, r.Kind()+" "+r.Key())
	}
	return refs
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func readFacts(t *testing.T, path string) cni.Facts {
	t.Helper()
	data, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return Facts()
	}
	if err != nil {
		t.Fatal(err)
	}
	raw := map[string]json.RawMessage{}
	if err := json.Unmarshal(data, &raw); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return cni.NewFacts(raw)
}

func readIPAM(t *testing.T, path string) cni.Known[*current.Result] {
	t.Helper()
	data, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return cni.Known[*current.Result]{}
	}
	if err != nil {
		t.Fatal(err)
	}
	var result current.Result
	if err := json.Unmarshal(data, &result); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return cni.Know(&result)
}
