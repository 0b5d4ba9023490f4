package engine

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func toy(name string, in Ref, need ...Ref) *exclusive {
	return &exclusive{base{Name: name, Owner: toyOwner, In: in, Need: need}}
}

func one(list ...Resource[env]) []Resource[env] { return list }

// mustAdd adds, and fails the test where that does not work.
func (n *node) mustAdd(t testing.TB, h Header, list ...Resource[env]) {
	t.Helper()
	if err, rolled := n.add(h, nil, list); err != nil || rolled != nil {
		t.Fatalf("ADD %s: %v, %v", h.ID, err, rolled)
	}
}

func (n *node) mustDel(t testing.TB, h Header) {
	t.Helper()
	if err := n.del(h, nil); err != nil {
		t.Fatalf("DEL %s: %v", h.ID, err)
	}
}

func TestRule02SecondADDTouchesNothing(t *testing.T) {
	t.Parallel()
	n := testNode(t)
	n.w.setScope("1", "alive")
	h := attach("c", "1")
	n.mustAdd(t, h, toy("link", ""), toy("address", "x link"))
	first, files := n.w.things(), stateFiles(t, n.Journal.Root())
	n.plan = &mishaps{}
	_, err := n.begin(h, n.plan)
	if !errors.Is(err, ErrDone) {
		t.Fatalf("second ADD: %v, want ErrDone", err)
	}
	if len(n.plan.calls) > 0 {
		t.Errorf("second ADD called %q", n.plan.calls)
	}
	wantThings(t, n.w.things(), first)
	if now := stateFiles(t, n.Journal.Root()); !slices.Equal(now, files) {
		t.Errorf("state directory: %q, was %q", now, files)
	}
	other := h
	other.Hash = "h2"
	n.mustAdd(t, other, toy("more", ""))
	n.mustDel(t, other)
	n.mustDel(t, h)
	n.wantClean(t)
}

// A namespace that is known to be gone took what was done with it: the ADD of
// the same name removes the rest and goes on.
func TestRule02DoneInADeadNamespaceIsALeftover(t *testing.T) {
	t.Parallel()
	for _, boot := range []string{"boot", "next boot"} {
		n := testNode(t)
		n.w.setScope("1", "alive")
		n.w.setScope("2", "alive")
		n.mustAdd(t, attach("c", "1"), toy("link", ""))
		if boot == "boot" {
			n.w.setScope("1", "gone")
		}
		n.Journal.Boot = boot
		n.mustAdd(t, attach("c", "2"), toy("link", ""))
		n.mustDel(t, attach("c", "2"))
		wantThings(t, n.w.things(), map[string]thingAt{})
		n.wantClean(t)
	}
}

func TestRule02BusyEntryIsNotTouched(t *testing.T) {
	t.Parallel()
	n := testNode(t)
	n.w.setScope("1", "alive")
	call, err := n.begin(attach("c", "1"), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := call.Apply(t.Context(), one(toy("link", ""))); err != nil {
		t.Fatal(err)
	}
	if _, err := n.begin(attach("c", "1"), nil); !errors.Is(err, ErrBusy) {
		t.Errorf("ADD beside an ADD at work: %v, want ErrBusy", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := n.Journal.Take(ctx, attach("c", "1").ID, "toy", "h1"); !errors.Is(err, ErrBusy) {
		t.Errorf("DEL beside an ADD at work: %v, want ErrBusy", err)
	}
	if err := call.Commit(); err != nil {
		t.Fatal(err)
	}
	n.mustDel(t, attach("c", "1"))
	n.wantClean(t)
}

// What a DEL has begun to remove is in force no more: an ADD takes it for a
// leftover.
func TestRule02HalfRemovedIsALeftover(t *testing.T) {
	t.Parallel()
	n := testNode(t)
	n.w.setScope("1", "alive")
	h := attach("c", "1")
	n.mustAdd(t, h, toy("a", ""), toy("b", ""))
	n.plan = &mishaps{on: map[string]mode{"remove x a": before}}
	if got := leftOf(t, n.del(h, nil)); !slices.Equal(got, []Ref{"x a"}) {
		t.Fatalf("left %q", got)
	}
	n.plan = nil
	n.mustAdd(t, h, toy("a", ""), toy("b", ""))
	n.mustDel(t, h)
	wantThings(t, n.w.things(), map[string]thingAt{})
	n.wantClean(t)
}

// What another owns stands in the way: it stays, also when the roll-back fails
// and a later DEL does the rest.
func TestRule02RollbackRemovesOnlyWhatThisCallMade(t *testing.T) {
	t.Parallel()
	n := testNode(t)
	n.w.setScope("1", "alive")
	n.w.put("x b", thingAt{Owner: "another"})
	h := attach("c", "1")
	list := one(toy("a", ""), toy("b", ""), toy("c", ""))
	plan := &mishaps{on: map[string]mode{"remove x a": before}}
	err, rolled := n.add(h, plan, list)
	if !IsConflict(err) || IsPartial(err) {
		t.Errorf("ADD: %v, want a Conflict", err)
	}
	if got := leftOf(t, rolled); !slices.Equal(got, []Ref{"x a"}) {
		t.Errorf("left %q", got)
	}
	n.plan = &mishaps{}
	n.mustDel(t, h)
	if got := n.plan.calls; !slices.Equal(got, []string{"remove x a"}) {
		t.Errorf("DEL called %q", got)
	}
	wantThings(t, n.w.things(), map[string]thingAt{"x b": {Owner: "another"}})
	n.wantClean(t)
}

// rule 4: what is needed goes after what needs it, and stays where that stays.
func TestRule04OrderOfRemoval(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		list  []Resource[env]
		fails map[string]mode
		want  []string // the calls
		left  []Ref
	}{
		{
			name: "reverse",
			list: one(toy("a", ""), toy("b", ""), toy("c", "")),
			want: []string{"remove x c", "remove x b", "remove x a"},
		},
		{
			name:  "all the others are tried",
			list:  one(toy("a", ""), toy("b", ""), toy("c", "")),
			fails: map[string]mode{"remove x c": before, "remove x b": after},
			want:  []string{"remove x c", "remove x b", "remove x a"},
			left:  []Ref{"x c", "x b"},
		},
		{
			name: "a lease goes once its addresses went with the link",
			list: one(toy("lease", ""), toy("link", ""), toy("address", "x link", "x lease")),
			want: []string{"remove x link", "remove x lease"},
		},
		{
			name: "and also when it was made last",
			list: one(toy("link", ""), toy("address", "x link", "x lease"), toy("lease", "")),
			want: []string{"remove x link", "remove x lease"},
		},
		{
			name:  "a link that stays: the address goes singly, then the lease",
			list:  one(toy("lease", ""), toy("link", ""), toy("address", "x link", "x lease")),
			fails: map[string]mode{"remove x link": before},
			want:  []string{"remove x link", "remove x address", "remove x lease"},
			left:  []Ref{"x link"},
		},
		{
			name:  "an address that may be there keeps the lease",
			list:  one(toy("lease", ""), toy("link", ""), toy("address", "x link", "x lease")),
			fails: map[string]mode{"remove x link": before, "remove x address": before},
			want:  []string{"remove x link", "remove x address"},
			left:  []Ref{"x link", "x address", "x lease"},
		},
		{
			name:  "what the kept one needs is kept too",
			list:  one(toy("pool", ""), toy("lease", "", "x pool"), toy("address", "", "x lease")),
			fails: map[string]mode{"remove x address": before},
			want:  []string{"remove x address"},
			left:  []Ref{"x address", "x lease", "x pool"},
		},
		{
			name: "dhcp: address, release, link",
			list: one(toy("link", ""), toy("lease", "", "x link"), toy("address", "x link", "x lease"),
				toy("route", "x link")),
			want: []string{"remove x address", "remove x lease", "remove x link"},
		},
		{
			name: "needs in a circle, and one outside of it",
			list: one(toy("a", "", "x b"), toy("b", "", "x a"), toy("c", ""), toy("d", "", "x c", "x b")),
			want: []string{"remove x d", "remove x c", "remove x b", "remove x a"},
		},
		{
			name: "it needs what is not there, and itself",
			list: one(toy("a", "", "x nothing", "x a")),
			want: []string{"remove x a"},
		},
		{
			name: "it lives in itself",
			list: one(toy("a", "x a")),
			want: []string{"remove x a"},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			n := testNode(t)
			plan := &mishaps{on: test.fails}
			err := n.RemovePlan(t.Context(), env{w: n.w, plan: plan}, Scope{Ref: toyScope}, test.list)
			if got := leftOf(t, err); !slices.Equal(got, test.left) {
				t.Errorf("left %q, want %q", got, test.left)
			}
			if !slices.Equal(plan.calls, test.want) {
				t.Errorf("calls %q, want %q", plan.calls, test.want)
			}
		})
	}
}

func TestRule05Containment(t *testing.T) {
	t.Parallel()
	raised := &ensured{base{Name: "bridge", Owner: "all"}}
	moved := &setting{base: base{Name: "device", Value: "in"}}
	vrf := &common{base{Name: "vrf", Owner: "all", Value: "in use"}}
	tests := []struct {
		name string
		gone bool // the scope
		list []Resource[env]
		want []string
	}{
		{name: "deep", list: one(toy("a", ""), toy("b", "x a"), toy("c", "x b")), want: []string{"remove x a"}},
		{
			name: "in what is raised and stays",
			list: one(raised, toy("port", "ensured bridge"), toy("vlan", "x port")),
			want: []string{"remove x port"},
		},
		{name: "in what is put back", list: one(moved, toy("address", "setting device")), want: []string{"remove x address", "remove setting device"}},
		{name: "in what others use", list: one(vrf, toy("route", "common vrf")), want: []string{"remove x route", "inuse common vrf"}},
		{
			name: "in a namespace that is there",
			list: one(toy("link", toyScope), toy("address", "x link"), toy("sysctl", toyScope)),
			want: []string{"remove x sysctl", "remove x link"},
		},
		{
			name: "in a namespace that is gone", gone: true,
			list: one(toy("link", toyScope), toy("lease", ""), toy("address", "x link", "x lease"),
				&ensured{base{Name: "up", In: toyScope}}, toy("route", "ensured up"), toy("sysctl", toyScope)),
			want: []string{"remove x lease"},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			n := testNode(t)
			n.w.setScope("1", "alive")
			if test.gone {
				n.w.setScope("1", "gone")
			}
			n.w.put("common vrf", thingAt{Owner: "all", Value: "in use"})
			plan := &mishaps{}
			err := n.RemovePlan(t.Context(), env{w: n.w, scope: "1", plan: plan}, Scope{Ref: toyScope, ID: "1", Gone: test.gone}, test.list)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(plan.calls, test.want) {
				t.Errorf("calls %q, want %q", plan.calls, test.want)
			}
			n.wantClean(t)
		})
	}
}

func TestApplyStopsWithItsContext(t *testing.T) {
	t.Parallel()
	n := testNode(t)
	n.w.setScope("1", "alive")
	call, err := n.begin(attach("c", "1"), nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	call.env.plan = &mishaps{watch: func(string, Ref) { cancel() }}
	if err := call.Apply(ctx, one(toy("a", ""), toy("b", ""))); !errors.Is(err, context.Canceled) {
		t.Errorf("Apply: %v", err)
	}
	if err := call.Rollback(t.Context()); err != nil {
		t.Error(err)
	}
	wantThings(t, n.w.things(), map[string]thingAt{})
	n.wantClean(t)
}

// What a Create learned is on disk when the next begins, and comes back.
func TestJournalKeepsWhatCreateLearned(t *testing.T) {
	t.Parallel()
	n := testNode(t)
	n.w.setScope("1", "alive")
	n.mustAdd(t, attach("c", "1"), toy("a", ""), toy("b", "x a"))
	entries, err := n.Journal.Entries(attach("c", "1").ID)
	if err != nil {
		t.Fatal(err)
	}
	list, err := n.Codec.Decode(entries[0])
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range list {
		if got := baseOf(r).Index; got != i+1 {
			t.Errorf("%s has index %d, want %d", RefOf(r), got, i+1)
		}
	}
}

// unwritable is a resource that JSON has no words for.
type unwritable struct {
	exclusive
	F func() `json:"f"`
}

func TestApplyOfWhatCannotBeJournaledMakesNothing(t *testing.T) {
	t.Parallel()
	n := testNode(t)
	n.w.setScope("1", "alive")
	var bad *json.UnsupportedTypeError
	err, rolled := n.add(attach("c", "1"), nil, one(toy("a", ""), &unwritable{}))
	if !errors.As(err, &bad) || rolled != nil {
		t.Errorf("ADD: %v, %v", err, rolled)
	}
	wantThings(t, n.w.things(), map[string]thingAt{})
	n.wantClean(t)
}

func TestBeginRefusesNamesThatAreNoFiles(t *testing.T) {
	t.Parallel()
	n := testNode(t)
	for _, bad := range [][2]string{{"", "h"}, {"a/b", "h"}, {"a", "h/i"}, {"a", "h-i"}} {
		h := attach("c", "1")
		h.Plugin, h.Hash = bad[0], bad[1]
		if _, err := n.begin(h, nil); err == nil {
			t.Errorf("plugin %q, hash %q: accepted", h.Plugin, h.Hash)
		}
	}
	n.wantClean(t)
	h := attach("c", "1")
	h.Plugin, h.Hash = strings.Repeat("p", 300), "h"
	if _, err := n.begin(h, nil); err == nil {
		t.Error("a name too long: accepted")
	}
	n.wantClean(t)
	if _, err := os.Stat(filepath.Join(n.Journal.Root(), "attachments")); err != nil {
		t.Error(err)
	}
}
