package campaign

import (
	"maps"
	"path"
	"slices"
	"strings"
)

// A fact is an item of a picture without its value.
type fact struct{ kind, where, name string }

func (f fact) String() string {
	return f.where + ": " + f.kind + " " + f.name
}

// hidden tells whether it is a file that is hidden, or below a directory that is,
// or a lock: what is in it, and whether it is there between two calls, is its
// plugin's own affair.
func (f fact) hidden() bool {
	return f.kind == "file" && (strings.Contains(f.name, "/.") || strings.Contains(f.name, "/locks/"))
}

// facts are what is in a picture, or in several.
type facts map[fact]held

// held is how often a fact is there, and with what values.
type held struct {
	count  int
	values map[string]bool
}

func (h held) String() string { return strings.Join(slices.Sorted(maps.Keys(h.values)), ", ") }

// like tells whether each value of h is one of o's. Of a file that is not the
// same each time without fault, nothing can be said but that it is there.
func (h held) like(k fact, o held) bool {
	if k.kind == "file" && (len(o.values) > 1 || k.hidden()) {
		return true
	}
	for v := range h.values {
		if !o.values[v] {
			return false
		}
	}
	return true
}

// with is h with the values of o too.
func (h held) with(o held) held {
	all := held{count: h.count, values: maps.Clone(o.values)}
	if all.values == nil {
		all.values = map[string]bool{}
	}
	maps.Copy(all.values, h.values)
	return all
}

func (f facts) add(k fact, value string) {
	h := f[k].with(held{values: map[string]bool{value: true}})
	h.count++
	f[k] = h
}

// join takes the facts of another picture in; how often a fact may be there is
// the greater number.
func (f facts) join(g facts) {
	for k, h := range g {
		both := f[k].with(h)
		both.count = max(f[k].count, h.count)
		f[k] = both
	}
}

// meet keeps the facts that another picture has too, with both's values, and the
// smaller number.
func (f facts) meet(g facts) {
	for k, h := range f {
		other, ok := g[k]
		if !ok {
			delete(f, k)
			continue
		}
		h = h.with(other)
		h.count = min(h.count, other.count)
		f[k] = h
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

// A measure is what calls without fault make of the world: what a run under
// fault is held against.
type measure struct {
	before facts            // the world without the container
	rest   map[string]facts // what is there after calls that take away, by their verb; before is in it
	kept   facts            // what of before is there after all of these
	added  facts            // what each ADD makes
	flaws  map[string]error // steps that fail without fault
	sets   bool             // kernel parameters are set by the broken step, or in the container before
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
	case claimAdded, claimKept:
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

// refines tells whether it is a kernel parameter without which a network does its
// work as well: that tells neighbours, waits for an answer, keeps addresses while
// the link is down, or has the host's end heed no router of the container's.
func (f fact) refines() bool {
	return f.kind == "sysctl" && slices.Contains([]string{
		"arp_notify", "ndisc_notify", "accept_dad", "dad_transmits", "enhanced_dad", "optimistic_dad",
		"keep_addr_on_down", "accept_ra",
	}, path.Base(f.name))
}

// changedSettings are the kernel parameters that a network needs and that are
// others than before. Those of links that are gone are gone with them.
func changedSettings(before, now facts) []fact {
	var all []fact
	for _, k := range now.sorted() {
		was, ok := before[k]
		if k.kind == "sysctl" && !k.refines() && (!ok || !now[k].like(k, was)) {
			all = append(all, k)
		}
	}
	return all
}

// plain is a measure that asks for no refinement of what ADD makes.
func (m measure) plain() measure {
	m.added = m.added.clone()
	maps.DeleteFunc(m.added, func(k fact, _ held) bool { return k.refines() })
	return m
}

// lied finds what a call that said success has left, and that somebody else than
// its plugin could see.
func (m measure) lied(verb string, now facts) []string {
	seen := now.clone()
	maps.DeleteFunc(seen, func(k fact, _ held) bool { return k.hidden() })
	return m.left(verb, seen)
}

// left finds what a call that takes away has left.
func (m measure) left(verb string, now facts) []string {
	var all []string
	for _, k := range now.sorted() {
		if now[k].count > m.rest[verb][k].count {
			all = append(all, tell("left", k, now[k]))
		}
	}
	return all
}

// damaged finds what was there before and is gone or changed, otherwise than by
// calls without fault. While a network is there it may have something of the
// host's: a device that is in the container.
func (m measure) damaged(c claim, now facts) []string {
	var all []string
	for _, k := range m.kept.sorted() {
		least := m.kept[k].count
		if c != claimRemoved {
			least = min(least, m.added[k].count)
		}
		switch is := now[k]; {
		case is.count < least:
			all = append(all, tell("gone", k, m.before[k]))
		case is.count > 0 && !is.like(k, m.kept[k].with(m.added[k])):
			all = append(all, tell("changed", k, is)+", was "+m.before[k].String())
		}
	}
	return all
}

// missing finds what an ADD makes and this one has not. It claims nothing of
// hidden files, and of files that stay when it is undone.
func (m measure) missing(now facts) []string {
	var all []string
	for _, k := range m.added.sorted() {
		switch is := now[k]; {
		case k.hidden():
		case k.kind == "file" && m.rest[verbDel][k].count > 0: // a log
		case is.count < m.added[k].count:
			all = append(all, tell("missing", k, m.added[k]))
		case !is.like(k, m.added[k]):
			all = append(all, tell("wrong", k, is)+", want "+m.added[k].String())
		}
	}
	return all
}

func tell(what string, k fact, h held) string {
	text := what + ": " + k.String()
	if v := h.String(); v != "" {
		text += ": " + v
	}
	return text
}
