package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
)

// wholePlan has every sort, and containment and needs as a bridge plugin's.
func wholePlan(owner string) (w map[string]thingAt, list []Resource[env]) {
	b := func(name string, in Ref, need ...Ref) base {
		return base{Name: owner + "-" + name, Owner: owner, In: in, Need: need}
	}
	lease, link := Ref("x "+owner+"-lease"), Ref("x "+owner+"-link")
	list = []Resource[env]{
		&ensured{base{Name: "bridge", Owner: "all"}},
		&common{base{Name: "vrf", Owner: "all"}},
		&exclusive{b("lease", "")},
		&exclusive{b("link", "ensured bridge")},
		&exclusive{b("address", link, lease)},
		&setting{base: base{Name: "mtu", Owner: owner, Value: owner}},
		&common{base{Name: "table", Owner: "all", In: toyScope, Scoped: true}},
		&exclusive{b("sysctl", toyScope)},
	}
	return map[string]thingAt{"setting mtu": {Owner: "admin", Value: "1500"}}, list
}

// crashing runs f, which a toy ends with a panic. Locks on things go with it;
// that of the entry is left to the caller.
func crashing(f func()) (did bool) {
	defer func() {
		if r := recover(); r != nil {
			if _, ok := r.(crashed); !ok {
				panic(r)
			}
			did = true
		}
	}()
	f()
	return false
}

// addUntil is an ADD that dies with the given call of a toy; whole says that it
// came to its end.
func (n *node) addUntil(t testing.TB, h Header, list []Resource[env], call int, how mode) (whole bool) {
	t.Helper()
	c, err := n.begin(h, &mishaps{at: map[int]mode{call: how}})
	if err != nil {
		t.Fatalf("begin: %v", err)
	}
	var applied error
	died := crashing(func() { applied = c.Apply(context.Background(), list) })
	if applied != nil {
		t.Fatalf("apply: %v", applied)
	}
	if !died {
		if err := c.Commit(); err != nil {
			t.Fatalf("commit: %v", err)
		}
		return true
	}
	c.entry.Close()
	return false
}

// delUntil is a DEL that dies with the given call of a toy.
func (n *node) delUntil(t testing.TB, h Header, call int, how mode) (whole bool) {
	t.Helper()
	n.plan = &mishaps{at: map[int]mode{call: how}}
	entry, err := n.Journal.Take(context.Background(), h.ID, h.Plugin, h.Hash)
	if err != nil || entry == nil {
		t.Fatalf("take: %v, %v", entry, err)
	}
	var removed error
	died := crashing(func() { removed = n.RemoveEntry(context.Background(), entry) })
	n.plan = nil
	if removed != nil {
		t.Fatalf("remove: %v", removed)
	}
	if died {
		entry.Close()
	}
	return !died
}

func crashNode(t testing.TB) (n *node, h Header, first map[string]thingAt, list func() []Resource[env]) {
	t.Helper()
	n = testNode(t)
	n.w.setScope("1", "alive")
	there, _ := wholePlan("me")
	for key, x := range there {
		n.w.put(key, x)
	}
	return n, attach("c", "1"), n.w.things("ensured"), func() []Resource[env] { _, l := wholePlan("me"); return l }
}

// An ADD that dies at any call of a resource, before or after its effect, leaves
// what the next DEL, or the next ADD, removes.
func TestRules01And02CrashAtEveryCallOfADD(t *testing.T) {
	t.Parallel()
	for _, how := range []mode{crashBefore, crashAfter} {
		for _, next := range []string{"DEL", "ADD"} {
			t.Run(fmt.Sprint(how, " then ", next), func(t *testing.T) {
				t.Parallel()
				for call, whole := 0, false; !whole; call++ {
					n, h, first, list := crashNode(t)
					whole = n.addUntil(t, h, list(), call, how)
					if next == "ADD" {
						err, _ := n.add(h, nil, list())
						if err != nil && !(whole && errors.Is(err, ErrDone)) {
							t.Fatalf("call %d: next ADD: %v", call, err)
						}
					}
					n.mustDel(t, h)
					wantThings(t, n.w.things("ensured"), first)
					n.wantClean(t)
				}
			})
		}
	}
}

// The same for a DEL, which may die again; in the end one gets through.
func TestRule01CrashAtEveryCallOfDEL(t *testing.T) {
	t.Parallel()
	for _, how := range []mode{crashBefore, crashAfter} {
		for _, next := range []string{"DEL", "ADD", "DEL, namespace gone"} {
			t.Run(fmt.Sprint(how, " then ", next), func(t *testing.T) {
				t.Parallel()
				for call, whole := 0, false; !whole; call++ {
					n, h, first, list := crashNode(t)
					n.mustAdd(t, h, list()...)
					whole = n.delUntil(t, h, call, how)
					switch {
					case next == "ADD":
						n.mustAdd(t, h, list()...)
					case next != "DEL":
						n.w.setScope("1", "gone")
					case !whole && !n.delUntil(t, h, call, how):
						t.Logf("died twice at call %d", call)
					}
					n.mustDel(t, h)
					wantThings(t, n.w.things("ensured"), first)
					n.wantClean(t)
				}
			})
		}
	}
}

// What a crashed ADD had not begun is not DEL's to remove.
func TestRule02DELAfterACrashRemovesOnlyWhatWasTried(t *testing.T) {
	t.Parallel()
	n := testNode(t)
	n.w.setScope("1", "alive")
	h := attach("c", "1")
	if n.addUntil(t, h, one(toy("a", ""), toy("b", ""), toy("c", "")), 1, crashBefore) {
		t.Fatal("no crash")
	}
	n.plan = &mishaps{}
	n.mustDel(t, h)
	if got := n.plan.calls; !slices.Equal(got, []string{"remove x b", "remove x a"}) {
		t.Errorf("DEL called %q", got)
	}
}
