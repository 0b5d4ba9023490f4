package engine

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"testing"
)

func vrf() *common { return &common{base{Name: "vrf", Owner: "all"}} }

// live is a user of the crowd: it adds and deletes again and again, and says
// when a thing went that it was using.
func (n *node) live(owner, scope string, rounds int) error {
	h := attach(owner, scope)
	for range rounds {
		_, list := wholePlan(owner)
		if err, rolled := n.add(h, nil, list[:4], list[4:]); err != nil {
			return fmt.Errorf("ADD of %s: %w; rolled back: %w", owner, err, rolled)
		}
		for range 3 {
			things := n.w.things()
			for _, r := range list {
				if _, ok := things[baseOf(r).keyOf(r, env{scope: scope})]; !ok {
					return fmt.Errorf("%s went while %s used it", RefOf(r), owner)
				}
			}
			runtime.Gosched()
		}
		if err := n.del(h, list); err != nil {
			return fmt.Errorf("DEL of %s: %w", owner, err)
		}
	}
	return nil
}

func owners(count int) []string {
	var list []string
	for i := range count {
		list = append(list, "user"+strconv.Itoa(i))
	}
	return list
}

// Goroutines stand for the threads of one process that delegates.
func TestRule18CrowdOfGoroutines(t *testing.T) {
	t.Parallel()
	n := testNode(t)
	users := owners(8)
	first := furnish(n.w, users...)
	var all sync.WaitGroup
	for i, owner := range users {
		all.Go(func() {
			if err := n.live(owner, strconv.Itoa(i+1), 15); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	wantThings(t, n.w.things("ensured"), first)
	n.wantClean(t)
}

// childCrowd is one process of the crowd: DIR OWNER SCOPE ROUNDS.
func childCrowd(args []string) error {
	n, err := nodeAt(args[0])
	if err != nil {
		return err
	}
	rounds, err := strconv.Atoi(args[3])
	if err != nil {
		return err
	}
	return n.live(args[1], args[2], rounds)
}

// Some of the crowd are killed, and their namespaces go: they are no users, and
// a sweep finds what they left.
func TestRules15And18CrowdOfProcesses(t *testing.T) {
	t.Parallel()
	dir := tmpRoot(t)
	n, err := nodeAt(dir)
	if err != nil {
		t.Fatal(err)
	}
	users := owners(8)
	first := furnish(n.w, users...)
	type process struct {
		scope  string
		doomed bool
		cmd    *exec.Cmd
	}
	var crowd []process
	for i, owner := range users {
		p := process{scope: strconv.Itoa(i + 1), doomed: i%2 == 0}
		rounds := "10"
		if p.doomed {
			rounds = "1000000"
		}
		p.cmd = child(t.Context(), "crowd", dir, owner, p.scope, rounds)
		if err := p.cmd.Start(); err != nil {
			t.Fatal(err)
		}
		crowd = append(crowd, p)
	}
	for _, p := range crowd {
		if !p.doomed {
			if err := p.cmd.Wait(); err != nil {
				t.Errorf("user in %s: %v", p.scope, err)
			}
		}
	}
	for _, p := range crowd {
		if p.doomed {
			if err := p.cmd.Process.Kill(); err != nil {
				t.Error(err)
			}
			_ = p.cmd.Wait() // it was killed
			n.w.setScope(p.scope, "gone")
		}
	}
	all := func(Header) bool { return true }
	none := func(Header) bool { return false }
	if _, err := n.Sweep(t.Context(), all, none, false); err != nil {
		t.Error(err)
	}
	wantThings(t, n.w.things("ensured"), first)
	n.forgetUnbegun(t)
	n.wantClean(t)
}

// forgetUnbegun removes the directories of entries that had no line yet when
// their writer was killed: the next call of the same name would.
func (n *node) forgetUnbegun(t *testing.T) {
	t.Helper()
	for i, owner := range owners(8) {
		h := attach(owner, strconv.Itoa(i+1))
		if entry, err := n.Journal.Take(t.Context(), h.ID, h.Plugin, h.Hash); err != nil || entry != nil {
			t.Errorf("DEL of %s: %v, %v", owner, entry, err)
		}
	}
}

func TestRule18TheLastUserTakesItAway(t *testing.T) {
	t.Parallel()
	const theirs = "another"
	tests := []struct {
		name   string
		there  *thingAt // before
		other  string   // what becomes of the other user's scope
		before func(t *testing.T, n *node)
		stays  bool
	}{
		{name: "alone", other: "none"},
		{name: "with another", other: "alive", stays: true},
		{name: "with one whose namespace is gone", other: "gone"},
		{name: "with one who can't be looked at", other: "unknown", stays: true},
		{name: "with one of an earlier boot", other: "rebooted"},
		{
			name: "with one whose entry is gone", other: "alive",
			before: func(t *testing.T, n *node) {
				if _, err := n.Journal.Forget(t.Context(), attach("b", "2").ID.Owner()); err != nil {
					t.Error(err)
				}
			},
		},
		{
			name: "with one whose entry makes no sense", other: "alive", stays: true,
			before: func(t *testing.T, n *node) { spoil(t, n.Journal, attach("b", "2"), "what?\n") },
		},
		{
			name: "with one of a newer version", other: "alive", stays: true,
			before: func(t *testing.T, n *node) { spoil(t, n.Journal, attach("b", "2"), `{"entry":{"format":99}}`+"\n") },
		},
		{name: "it was not made by us", there: &thingAt{Owner: theirs}, other: "none", stays: true},
		{name: "it has users we don't know", there: &thingAt{Owner: "all", Value: "in use"}, other: "none", stays: true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			n := testNode(t)
			n.w.setScope("1", "alive")
			n.w.setScope("2", "alive")
			if test.there != nil {
				n.w.put("common vrf", *test.there)
			}
			n.mustAdd(t, attach("a", "1"), vrf())
			switch test.other {
			case "none":
			case "rebooted":
				n.Journal.Boot = "earlier boot"
				n.mustAdd(t, attach("b", "2"), vrf())
				n.Journal.Boot = "boot"
			default:
				n.mustAdd(t, attach("b", "2"), vrf())
				n.w.setScope("2", test.other)
			}
			if test.before != nil {
				test.before(t, n)
			}
			n.mustDel(t, attach("a", "1"))
			if _, there := n.w.things()["common vrf"]; there != test.stays {
				t.Errorf("there: %v, want %v", there, test.stays)
			}
		})
	}
}

// spoil overwrites the only entry of an attachment.
func spoil(t *testing.T, j *Journal, h Header, text string) {
	t.Helper()
	dir := j.dirOf(h.ID)
	names, err := entryNames(dir)
	if err != nil || len(names) != 1 {
		t.Fatalf("entries %q, %v", names, err)
	}
	if err := os.WriteFile(filepath.Join(dir, names[0]), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// A removal that fails leaves the use, so that the retry is the last user too.
func TestRule18FailedRemovalKeepsTheUse(t *testing.T) {
	t.Parallel()
	for _, op := range []string{"inuse", "remove"} {
		for _, how := range []mode{before, after} {
			n := testNode(t)
			n.w.setScope("1", "alive")
			h := attach("a", "1")
			n.mustAdd(t, h, vrf())
			n.plan = &mishaps{on: map[string]mode{op + " common vrf": how}}
			if got := leftOf(t, n.del(h, nil)); !slices.Equal(got, []Ref{"common vrf"}) {
				t.Errorf("%s fails %v: left %q", op, how, got)
			}
			n.plan = nil
			n.mustDel(t, h)
			wantThings(t, n.w.things(), map[string]thingAt{})
			n.wantClean(t)
		}
	}
}

// Without a journal, or without an entry, it goes only if nobody uses it.
func TestRule18RemovalByPlan(t *testing.T) {
	t.Parallel()
	n := testNode(t)
	n.w.setScope("1", "alive")
	n.mustAdd(t, attach("a", "1"), vrf())
	scope := Scope{Ref: toyScope}
	if err := n.RemovePlan(t.Context(), env{w: n.w}, scope, one(vrf())); err != nil {
		t.Fatal(err)
	}
	if len(n.w.things()) != 1 {
		t.Error("it was removed while the journal has a user")
	}
	n.mustDel(t, attach("a", "1"))
	n.wantClean(t)

	n.w.put("common vrf", thingAt{Owner: "all", Value: "in use"})
	blind := &Engine[env]{Codec: toyKinds(), Enter: n.enter}
	if err := blind.RemovePlan(t.Context(), env{w: n.w}, scope, one(vrf())); err != nil {
		t.Fatal(err)
	}
	if len(n.w.things()) != 1 {
		t.Error("it was removed while it is in use")
	}
	n.w.put("common vrf", thingAt{Owner: "all"})
	if err := blind.RemovePlan(t.Context(), env{w: n.w}, scope, one(vrf())); err != nil {
		t.Fatal(err)
	}
	wantThings(t, n.w.things(), map[string]thingAt{})
}

// The same name in two scopes is two things.
func TestRule18SharedWithinAScope(t *testing.T) {
	t.Parallel()
	n := testNode(t)
	n.w.setScope("1", "alive")
	n.w.setScope("2", "alive")
	table := func() *common { return &common{base{Name: "table", Owner: "all", In: toyScope, Scoped: true}} }
	n.mustAdd(t, attach("a", "1"), table())
	n.mustAdd(t, attach("b", "2"), table())
	n.mustDel(t, attach("a", "1"))
	if got := slices.Collect(maps.Keys(n.w.things())); !slices.Equal(got, []string{"common table@2"}) {
		t.Errorf("left %q", got)
	}
	n.w.setScope("2", "gone")
	n.mustDel(t, attach("b", "2"))
	n.wantClean(t)
}

func mtu(value string) *setting {
	return &setting{base: base{Name: "mtu", Value: value}}
}

// Whoever leaves first, the last to leave restores what the first one found.
func TestRestoredStackInAnyOrderOfLeaving(t *testing.T) {
	t.Parallel()
	const holders = 4
	for range 30 {
		n := testNode(t)
		n.w.put("setting mtu", thingAt{Value: "1500"})
		var headers []Header
		for i := range holders {
			scope := strconv.Itoa(i)
			n.w.setScope(scope, "alive")
			headers = append(headers, attach("c"+scope, scope))
			// Two of them want the same.
			n.mustAdd(t, headers[i], mtu(strconv.Itoa(9000+i/2)))
		}
		order := rand.Perm(holders)
		for k, i := range order {
			n.mustDel(t, headers[i])
			want := "1500"
			if rest := order[k+1:]; len(rest) > 0 {
				want = strconv.Itoa(9000 + slices.Max(rest)/2)
			}
			if got := n.w.things()["setting mtu"].Value; got != want {
				t.Fatalf("order %v: after %d it is %s, want %s", order, i, got, want)
			}
		}
		n.wantClean(t)
	}
}

func TestRestoredIsLeftWhereAnotherChangedIt(t *testing.T) {
	t.Parallel()
	n := testNode(t)
	n.w.setScope("1", "alive")
	n.w.put("setting mtu", thingAt{Value: "1500"})
	n.mustAdd(t, attach("a", "1"), mtu("9000"))
	n.mustAdd(t, attach("b", "1"), mtu("9001"))
	n.w.put("setting mtu", thingAt{Value: "1280"})
	n.mustDel(t, attach("b", "1"))
	n.mustDel(t, attach("a", "1"))
	wantThings(t, n.w.things(), map[string]thingAt{"setting mtu": {Value: "1280"}})
	n.wantClean(t)
}

// A holder whose entry was forgotten inherits nothing, and leaves no file.
func TestRestoredStackWithoutTheForgotten(t *testing.T) {
	t.Parallel()
	n := testNode(t)
	n.w.setScope("1", "alive")
	n.w.put("setting mtu", thingAt{Value: "1500"})
	n.mustAdd(t, attach("a", "1"), mtu("9000"))
	n.mustAdd(t, attach("b", "1"), mtu("9000"))
	if names, err := n.Journal.Forget(t.Context(), attach("b", "1").ID.Owner()); err != nil || len(names) != 1 {
		t.Fatalf("forget: %q, %v", names, err)
	}
	n.mustDel(t, attach("a", "1"))
	wantThings(t, n.w.things(), map[string]thingAt{"setting mtu": {Value: "1500"}})
	n.wantClean(t)
}

// Failures in the middle of leaving a stack are made good by the retry.
func TestRestoredStackWithFailures(t *testing.T) {
	t.Parallel()
	for _, how := range []mode{before, after} {
		n := testNode(t)
		n.w.setScope("1", "alive")
		n.w.put("setting mtu", thingAt{Value: "1500"})
		n.mustAdd(t, attach("a", "1"), mtu("9000"))
		err, rolled := n.add(attach("b", "1"), &mishaps{on: map[string]mode{"create setting mtu": how}}, one(mtu("9001")))
		if err == nil || rolled != nil {
			t.Errorf("ADD: %v, %v", err, rolled)
		}
		if got := n.w.things()["setting mtu"].Value; got != "9000" {
			t.Errorf("after the roll-back it is %s", got)
		}
		n.plan = &mishaps{on: map[string]mode{"remove setting mtu": how}}
		if got := leftOf(t, n.del(attach("a", "1"), nil)); !slices.Equal(got, []Ref{"setting mtu"}) {
			t.Errorf("left %q", got)
		}
		n.plan = nil
		n.mustDel(t, attach("a", "1"))
		wantThings(t, n.w.things(), map[string]thingAt{"setting mtu": {Value: "1500"}})
		n.wantClean(t)
	}
}
