package engine

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

const toyOwner = "me"

// drawPlan makes a random plan: things in things, needs without circles among
// themselves (but with containers, as dhcp's), all sorts. Owners that stand in
// the way and old values are put into the world.
func drawPlan(t *rapid.T, w *world, scope string) []Resource[env] {
	n := rapid.IntRange(1, 8).Draw(t, "resources")
	rank := rapid.Permutation(seq(n)).Draw(t, "rank")
	refs := make([]Ref, n)
	var list []Resource[env]
	containers := []Ref{"", toyScope}
	for i := range n {
		sort := rapid.SampledFrom([]string{"x", "x", "x", "x", "ensured", "common", "setting"}).Draw(t, "sort")
		refs[i] = MakeRef(sort, fmt.Sprint("n", i))
		b := base{Name: fmt.Sprint("n", i), Owner: toyOwner}
		b.In = rapid.SampledFrom(containers[max(0, len(containers)-4):]).Draw(t, "in")
		r := drawSort(t, w, scope, sort, b)
		list = append(list, r)
		containers = append(containers, refs[i])
	}
	for i, r := range list {
		b := baseOf(r)
		for k := range n {
			if rank[k] < rank[i] && rapid.IntRange(0, 3).Draw(t, "needs") == 0 {
				b.Need = append(b.Need, refs[k])
			}
		}
	}
	return list
}

func drawSort(t *rapid.T, w *world, scope, sort string, b base) Resource[env] {
	switch sort {
	case "ensured":
		b.Owner = "all"
		return &ensured{b}
	case "common":
		b.Owner = "all"
		b.In = rapid.SampledFrom([]Ref{"", toyScope}).Draw(t, "in")
		b.Scoped = b.In == toyScope
		return &common{b}
	case "setting":
		b.In = rapid.SampledFrom([]Ref{"", toyScope}).Draw(t, "in")
		b.Scoped = b.In == toyScope
		b.Value = "new"
		old := thingAt{Owner: "admin", Value: "old"}
		if b.Scoped {
			old.In = "scope@" + scope
		}
		r := &setting{base: b}
		w.put(b.keyOf(r, env{scope: scope}), old)
		return r
	default:
		r := &exclusive{b}
		if rapid.IntRange(0, 30).Draw(t, "foreign") == 0 {
			w.put(string(RefOf(r)), thingAt{Owner: "another"})
		}
		return r
	}
}

func baseOf(r Resource[env]) *base {
	switch r := r.(type) {
	case *exclusive:
		return &r.base
	case *ensured:
		return &r.base
	case *common:
		return &r.base
	case *setting:
		return &r.base
	default:
		return &r.(*amendment).base
	}
}

func seq(n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = i
	}
	return list
}

func drawMishaps(t *rapid.T, calls int) *mishaps {
	at := rapid.MapOfN(rapid.IntRange(0, calls), rapid.SampledFrom([]mode{before, after}), 0, 3)
	return &mishaps{at: at.Draw(t, "mishaps")}
}

// ours lists what an attachment has in the world, by Ref.
func ours(w *world) []Ref {
	var list []Ref
	for key, x := range w.things("ensured") {
		name, _, _ := strings.Cut(key, "@")
		if x.Owner == toyOwner || x.Owner == "all" || x.Value == "new" {
			list = append(list, Ref(name))
		}
	}
	slices.Sort(list)
	return list
}

// umpire watches a removal, and says what broke rule 4 or 5.
type umpire struct {
	w      *world
	list   []Resource[env]
	failed map[Ref]bool
	// taken are things that were removed while what they live in was there.
	taken map[Ref]Ref
	// tried and made are those whose removal, and whose making, was tried.
	tried, made map[Ref]bool
	wrong       []string
}

// watchCalls makes an umpire of the calls of m. made is from the umpire of the
// ADD, or nil.
func watchCalls(w *world, list []Resource[env], m *mishaps, made map[Ref]bool) *umpire {
	u := &umpire{w: w, list: list, failed: map[Ref]bool{}, taken: map[Ref]Ref{}, tried: map[Ref]bool{}, made: made}
	if made == nil {
		u.made = map[Ref]bool{}
	}
	m.watch = func(op string, ref Ref) {
		how := m.at[len(m.calls)-1]
		switch op {
		case "create":
			x, there := w.things()[string(ref)]
			u.made[ref] = how != before && (!there || x.Owner != "another")
		case "remove":
			u.see(ref)
			fallthrough
		case "inuse":
			u.tried[ref] = true
			u.failed[ref] = u.failed[ref] || how != fine
		}
	}
	return u
}

func (u *umpire) see(ref Ref) {
	things := u.w.things("ensured", "setting", "common")
	for _, r := range u.list {
		b := baseOf(r)
		if RefOf(r) == ref {
			if x, ok := things[string(b.In)]; ok && x.Owner == toyOwner {
				u.taken[ref] = b.In
			}
		}
		if !slices.Contains(b.Need, ref) {
			continue
		}
		if things[string(RefOf(r))].Owner == toyOwner || u.failed[RefOf(r)] {
			u.wrong = append(u.wrong, fmt.Sprintf("%s was removed, but %s rests on it", ref, RefOf(r)))
		}
	}
}

// end judges the whole removal by what it reported.
func (u *umpire) end(t tester, err error) {
	t.Helper()
	left := leftOf(t, err)
	for ref, in := range u.taken {
		if !slices.Contains(left, in) && !u.circle(in, ref) {
			u.wrong = append(u.wrong, fmt.Sprintf("%s was removed singly, but %s went", ref, in))
		}
	}
	for _, ref := range ours(u.w) {
		if !slices.Contains(left, ref) {
			u.wrong = append(u.wrong, fmt.Sprintf("%s is left and was not reported (%v)", ref, err))
		}
	}
	for _, ref := range left {
		if !u.tried[ref] && !u.restedOn(ref, left) {
			u.wrong = append(u.wrong, fmt.Sprintf("%s was not even tried (%v)", ref, err))
		}
	}
	for _, wrong := range u.wrong {
		t.Errorf("%s", wrong)
	}
}

func (u *umpire) restedOn(ref Ref, left []Ref) bool {
	return slices.ContainsFunc(u.list, func(r Resource[env]) bool {
		return slices.Contains(baseOf(r).Need, ref) && slices.Contains(left, RefOf(r))
	})
}

// neverMade fails where a thing was removed whose making had not begun or had
// come to nothing. Shared things ask for themselves.
func (u *umpire) neverMade(t tester) {
	t.Helper()
	for ref := range u.tried {
		if !u.made[ref] && !strings.HasPrefix(string(ref), "common ") {
			t.Errorf("%s was removed and never made", ref)
		}
	}
}

// circle tells whether the container waits for what is in it.
func (u *umpire) circle(from, to Ref) bool {
	seen := map[Ref]bool{}
	next := []Ref{from}
	for len(next) > 0 {
		ref := next[0]
		next = next[1:]
		if ref == to {
			return true
		}
		if seen[ref] {
			continue
		}
		seen[ref] = true
		for _, r := range u.list {
			if slices.Contains(baseOf(r).Need, ref) {
				next = append(next, RefOf(r))
			}
			if RefOf(r) == ref && strings.HasPrefix(string(baseOf(r).In), "x ") {
				next = append(next, baseOf(r).In)
			}
		}
	}
	return false
}

func leftOf(t tester, err error) []Ref {
	t.Helper()
	var remaining *RemainingError
	if err == nil {
		return nil
	}
	if !errors.As(err, &remaining) {
		t.Fatalf("removal: %v, want a RemainingError", err)
	}
	var refs []Ref
	for _, l := range remaining.Left {
		refs = append(refs, l.Ref)
	}
	return refs
}

// Whatever the plan and whatever fails: what is left was reported, what is
// another's stays, what rests on others outlives them not, and a DEL that
// meets no failure clears all.
func TestRules02And04And05RandomPlansAndFailures(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		root, err := os.MkdirTemp(tmpBase(), "engine-test-")
		if err != nil {
			t.Fatalf("%v", err)
		}
		defer os.RemoveAll(root)
		n := newNode(root, newWorld())
		n.w.setScope("1", "alive")
		list := drawPlan(t, n.w, "1")
		first := n.w.things("ensured")
		h := attach("c", "1")

		plan := drawMishaps(t, 30)
		adding := watchCalls(n.w, list, plan, nil)
		cut := rapid.IntRange(0, len(list)).Draw(t, "stage")
		err, rolled := n.add(h, plan, list[:cut], list[cut:])
		if err != nil {
			adding.end(t, rolled)
			adding.neverMade(t)
		}
		if err != nil && rolled == nil {
			wantThings(t, n.w.things("ensured"), first)
			n.wantClean(t)
		}
		if rapid.Bool().Draw(t, "gone") {
			n.w.setScope("1", "gone")
			maps.DeleteFunc(first, func(_ string, x thingAt) bool { return x.In == "scope@1" })
		}
		for range rapid.IntRange(0, 2).Draw(t, "tries") {
			n.plan = drawMishaps(t, 12)
			recorded := len(stateFiles(t, root)) > 0
			deleting := watchCalls(n.w, list, n.plan, adding.made)
			deleting.end(t, n.del(h, list))
			if recorded {
				deleting.neverMade(t)
			}
		}
		n.plan = nil
		raised := raisedOf(n.w)
		if err := n.del(h, list); err != nil {
			t.Fatalf("last DEL: %v", err)
		}
		wantThings(t, n.w.things("ensured"), first)
		if left := raisedOf(n.w); !slices.Equal(left, raised) {
			t.Errorf("ensured: %q before DEL, %q after", raised, left)
		}
		n.wantClean(t)
	})
}

// raisedOf lists the ensured things that live in nothing else.
func raisedOf(w *world) []string {
	var list []string
	for key, x := range w.things() {
		if strings.HasPrefix(key, "ensured ") && x.In == "" {
			list = append(list, key)
		}
	}
	slices.Sort(list)
	return list
}
