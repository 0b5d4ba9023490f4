package engine

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"testing"

	"pgregory.net/rapid"
)

// stackModel is what the tests know of a stack of holders.
type stackModel struct {
	n *node
	// live are the holders in the order of their ADD, with their values; torn
	// are those whose ADD or DEL died.
	live []string
	want map[string]string
	torn []string
}

func (m *stackModel) header(name string) Header { return attach(name, "1") }

// add is an ADD that dies at the given call, or goes through.
func (m *stackModel) add(t *rapid.T, name, value string, call int, how mode) {
	c, err := m.n.begin(m.header(name), &mishaps{at: map[int]mode{call: how}})
	if errors.Is(err, ErrDone) {
		return
	}
	if err != nil {
		t.Fatalf("begin: %v", err)
	}
	m.forget(name)
	var applied error
	if crashing(func() { applied = c.Apply(t.Context(), one(mtu(value))) }) {
		m.torn = append(m.torn, name)
		c.entry.Close()
		return
	}
	if err := errors.Join(applied, c.Commit()); err != nil {
		t.Fatalf("ADD: %v", err)
	}
	m.live = append(m.live, name)
	m.want[name] = value
}

func (m *stackModel) del(t *rapid.T, name string, call int, how mode) {
	h := m.header(name)
	entry, err := m.n.Journal.Take(t.Context(), h.ID, h.Plugin, h.Hash)
	if err != nil || entry == nil {
		m.forget(name)
		return
	}
	m.n.plan = &mishaps{at: map[int]mode{call: how}}
	defer func() { m.n.plan = nil }()
	var removed error
	m.forget(name)
	if crashing(func() { removed = m.n.RemoveEntry(t.Context(), entry) }) {
		entry.Close()
		m.torn = append(m.torn, name)
		return
	}
	if removed != nil {
		t.Fatalf("DEL: %v", removed)
	}
}

func (m *stackModel) forget(name string) {
	same := func(s string) bool { return s == name }
	m.live, m.torn = slices.DeleteFunc(m.live, same), slices.DeleteFunc(m.torn, same)
}

// check compares where nobody's call has died: the last one's value holds.
func (m *stackModel) check(t *rapid.T) {
	want := "1500"
	if len(m.live) > 0 {
		want = m.want[m.live[len(m.live)-1]]
	}
	if got := m.n.w.things()["setting mtu"].Value; got != want && len(m.torn) == 0 {
		t.Fatalf("the value is %s, want %s, of %q", got, want, m.live)
	}
}

// The upper one dies after it put the old value back: it must not inherit, for
// it would never put that back.
func TestRestoredStackWhoseTopDied(t *testing.T) {
	t.Parallel()
	for _, upper := range []string{"9000", "9001"} {
		for _, how := range []mode{crashBefore, crashAfter} {
			n := testNode(t)
			n.w.setScope("1", "alive")
			n.w.put("setting mtu", thingAt{Value: "1500"})
			n.mustAdd(t, attach("a", "1"), mtu("9000"))
			n.mustAdd(t, attach("b", "1"), mtu(upper))
			if n.delUntil(t, attach("b", "1"), 0, how) {
				t.Fatal("it did not die")
			}
			n.mustDel(t, attach("a", "1"))
			n.mustDel(t, attach("b", "1"))
			if got := n.w.things()["setting mtu"].Value; got != "1500" {
				t.Errorf("%s over 9000, %v: the value is %s", upper, how, got)
			}
			n.wantClean(t)
		}
	}
}

// Holders come, go and die at any point, in any order; some want the same. When
// the last is gone, the first saved value is back.
func TestRestoredStackOfThoseWhoDie(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		root, err := os.MkdirTemp(tmpBase(), "engine-test-")
		if err != nil {
			t.Fatalf("%v", err)
		}
		defer os.RemoveAll(root)
		m := &stackModel{n: newNode(root, newWorld()), want: map[string]string{}}
		m.n.w.setScope("1", "alive")
		m.n.w.put("setting mtu", thingAt{Value: "1500"})
		names := []string{"a", "b", "c", "d"}
		for range rapid.IntRange(1, 14).Draw(t, "steps") {
			name := rapid.SampledFrom(names).Draw(t, "name")
			call := rapid.IntRange(0, 2).Draw(t, "call")
			how := rapid.SampledFrom([]mode{fine, fine, crashBefore, crashAfter}).Draw(t, "how")
			if !slices.Contains(m.live, name) && rapid.IntRange(0, 3).Draw(t, "del") > 0 {
				value := strconv.Itoa(9000 + rapid.IntRange(0, 2).Draw(t, "value"))
				m.add(t, name, value, call, how)
			} else {
				m.del(t, name, call, how)
			}
			m.check(t)
		}
		for _, name := range rapid.Permutation(names).Draw(t, "leaving") {
			m.del(t, name, 0, fine)
			m.check(t)
		}
		if len(m.live)+len(m.torn) > 0 {
			t.Fatalf("left: %s", fmt.Sprint(m.live, m.torn))
		}
		m.n.wantClean(t)
	})
}
