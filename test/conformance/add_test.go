package conformance

import (
	"reflect"
	"strings"
	"testing"

	"github.com/fairlead-net/fairlead/test/host"
)

func spec27(tr *trial) {
	a := tr.attach()
	tr.h.MustRunIn(a.Netns, "ip", "link", "add", a.IfName, "type", "veth", "peer", "name", "other")
	before, within := tr.before(), tr.h.SnapshotIn(a.Netns)
	mustFail(tr, "ADD where the interface is there already", a.Call("ADD"))
	tr.clean(before)
	if d := host.Diff(within, tr.h.SnapshotIn(a.Netns)); len(d) > 0 {
		tr.Errorf("the container changed: %q", d)
	}
}

// unusable are names that no interface can have.
var unusable = []string{"a/b", ".", "..", "a b", "a:b", "a\tb", "sixteen-letters0"}

func spec28(tr *trial) {
	a := tr.attach().Itself()
	before, within := tr.before(), tr.h.SnapshotIn(a.Netns)
	for _, name := range unusable {
		for _, verb := range []string{"ADD", "DEL"} {
			mustFail(tr, verb+" of an interface named "+name, a.WithEnv("CNI_IFNAME", name).Call(verb), 4)
		}
	}
	tr.clean(before)
	if d := host.Diff(within, tr.h.SnapshotIn(a.Netns)); len(d) > 0 {
		tr.Errorf("the container changed: %q", d)
	}
}

// prevResult is what an earlier plugin may have printed.
func prevResult(netns string) map[string]any {
	return map[string]any{
		"cniVersion": "1.1.0",
		"interfaces": []any{map[string]any{"name": "eth0", "mac": "02:00:00:00:00:01", "sandbox": netns}},
		"ips":        []any{map[string]any{"interface": 0.0, "address": "192.0.2.7/24", "gateway": "192.0.2.1"}},
		"routes":     []any{map[string]any{"dst": "0.0.0.0/0", "gw": "192.0.2.1"}},
		"dns":        map[string]any{"nameservers": []any{"192.0.2.53"}},
	}
}

func spec29(tr *trial) {
	a := tr.attach()
	if tr.chain != nil {
		want := a.Base().MustAdd(tr)
		got := a.Itself().WithConfig("prevResult", want).MustAdd(tr)
		if tr.changes != nil {
			tr.changes(want)
		}
		if !reflect.DeepEqual(got, want) {
			tr.Errorf("prevResult was not passed on:\n got %v\nwant %v", got, want)
		}
		return
	}
	want := prevResult(a.Netns)
	got := a.WithConfig("prevResult", want).MustAdd(tr)
	if !reflect.DeepEqual(map[string]any(got), want) {
		tr.Errorf("prevResult was not passed on:\n got %v\nwant %v", got, want)
	}
}

func spec39(tr *trial) {
	before := tr.before()
	const n = 12
	all := make([]host.Attachment, n)
	for i := range all {
		all[i] = tr.attach()
	}
	results := make([]host.Result, n)
	tr.Run("ADD", func(t *testing.T) {
		for i := range all {
			t.Run(all[i].Container, func(t *testing.T) {
				t.Parallel()
				results[i] = all[i].MustAdd(t)
			})
		}
	})
	if tr.Failed() {
		return
	}
	tr.distinct(results)
	tr.Run("CHECK", func(t *testing.T) {
		for i := range all {
			t.Run(all[i].Container, func(t *testing.T) {
				t.Parallel()
				silent(t, "CHECK", all[i].Check(results[i]))
			})
		}
	})
	tr.Run("DEL", func(t *testing.T) {
		for i := range all {
			t.Run(all[i].Container, func(t *testing.T) {
				t.Parallel()
				all[i].MustDel(t)
				tr.h.DeleteNetns(all[i].Netns)
			})
		}
	})
	tr.clean(before)
}

// distinct fails the test when two containers got one address or interface.
func (tr *trial) distinct(results []host.Result) {
	tr.Helper()
	if tr.plain {
		return
	}
	seen := map[any]bool{}
	for _, r := range results {
		if seen[r.Address(0)] {
			tr.Errorf("address %s twice", r.Address(0))
		}
		seen[r.Address(0)] = true
		for _, i := range r.Interfaces() {
			name, _ := i["name"].(string)
			if i["sandbox"] != nil || strings.HasPrefix(name, "cni0") {
				continue
			}
			if seen[name] {
				tr.Errorf("interface %s twice", name)
			}
			seen[name] = true
		}
	}
}

func spec40(tr *trial) {
	a := tr.attach().Itself()
	before, within := tr.before(), tr.h.SnapshotIn(a.Netns)
	for _, verb := range []string{"ADD", "CHECK", "DEL"} {
		for _, id := range []string{"-a", ".a", "a b", "a/b", "a:b", "ä"} {
			mustFail(tr, verb+" of a container named "+id, a.WithEnv("CNI_CONTAINERID", id).Call(verb), 4)
		}
		mustFail(tr, verb+" of no container", a.WithEnv("CNI_CONTAINERID", "").Call(verb), 4)
		for _, network := range []any{"-a", ".a", "a b", "a/b", "../a", "", nil} {
			mustFail(tr, verb+" of a network without a usable name", a.WithConfig("name", network).Call(verb), 7)
		}
	}
	for _, verb := range []string{"GC", "STATUS"} {
		mustFail(tr, verb+" of a network without a usable name", a.WithConfig("name", "a/b").Bare().Call(verb), 7)
	}
	tr.clean(before)
	if d := host.Diff(within, tr.h.SnapshotIn(a.Netns)); len(d) > 0 {
		tr.Errorf("the container changed: %q", d)
	}
}

var _ testing.TB = (*trial)(nil)
