package campaign

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// A fact is an item of a picture without its value.
type fact struct{ kind, where, name string }

func (f fact) String() string {
	s := f.kind + " " + f.name
	if f.where != "" {
		s += " in " + f.where
	}
	return s
}

// facts are pictures: the values of each fact, in any of them.
type facts map[fact]map[string]bool

func (f facts) add(k fact, value string) {
	if f[k] == nil {
		f[k] = map[string]bool{}
	}
	f[k][value] = true
}

// join takes the facts of another picture in.
func (f facts) join(g facts) {
	for k, values := range g {
		if f[k] == nil {
			f[k] = map[string]bool{}
		}
		maps.Copy(f[k], values)
	}
}

// meet keeps the facts that another picture has too, with both's values.
func (f facts) meet(g facts) {
	for k := range f {
		if _, ok := g[k]; !ok {
			delete(f, k)
			continue
		}
		maps.Copy(f[k], g[k])
	}
}

// clone is a copy that can be changed.
func (f facts) clone() facts {
	all := facts{}
	all.join(f)
	return all
}

// sorted are the facts in a stable order.
func (f facts) sorted() []fact {
	return slices.SortedFunc(maps.Keys(f), func(a, b fact) int { return strings.Compare(a.String(), b.String()) })
}

func values(v map[string]bool) string { return strings.Join(slices.Sorted(maps.Keys(v)), ", ") }

// within tells whether all values of a are among b's.
func within(a, b map[string]bool) bool {
	for v := range a {
		if !b[v] {
			return false
		}
	}
	return true
}

// A measure is what calls without fault make of the world: what a run under
// fault is held against.
type measure struct {
	before facts            // the world without the container
	rest   map[string]facts // what is there after calls that take away, by their verb; before is in it
	kept   facts            // what of before is there after all of these
	added  facts            // what each ADD makes
}

// start takes in what was there before.
func (m *measure) start(before facts) {
	if m.before == nil {
		m.before, m.kept = before.clone(), before.clone()
		return
	}
	m.before.meet(before)
	m.kept.meet(before)
}

// see takes in what is there after a step without fault.
func (m *measure) see(s step, now facts) {
	switch s.claim {
	case claimAdded:
		if m.added == nil {
			m.added = now.clone()
			return
		}
		m.added.meet(now)
	case claimRemoved:
		if m.rest[s.verb] == nil {
			m.rest[s.verb] = m.before.clone()
		}
		m.rest[s.verb].join(now)
		m.kept.meet(now)
	}
}

// left finds what a call that takes away has left.
func (m measure) left(verb string, now facts) []string {
	var all []string
	for _, k := range now.sorted() {
		if _, ok := m.rest[verb][k]; !ok {
			all = append(all, fmt.Sprintf("left: %s: %s", k, values(now[k])))
		}
	}
	return all
}

// damaged finds what was there before and is gone or changed, otherwise than by
// calls without fault.
func (m measure) damaged(now facts) []string {
	var all []string
	for _, k := range m.kept.sorted() {
		is, ok := now[k]
		switch {
		case !ok:
			all = append(all, fmt.Sprintf("gone: %s: %s", k, values(m.before[k])))
		case !within(is, m.kept[k]) && !within(is, m.added[k]):
			all = append(all, fmt.Sprintf("changed: %s: %s, was %s", k, values(is), values(m.before[k])))
		}
	}
	return all
}

// missing finds what an ADD makes and this one has not.
func (m measure) missing(now facts) []string {
	var all []string
	for _, k := range m.added.sorted() {
		is, ok := now[k]
		switch {
		case !ok:
			all = append(all, fmt.Sprintf("missing: %s: %s", k, values(m.added[k])))
		case !within(is, m.added[k]):
			all = append(all, fmt.Sprintf("wrong: %s: %s, want %s", k, values(is), values(m.added[k])))
		}
	}
	return all
}
