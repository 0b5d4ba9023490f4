package campaign

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// rounds is how often a course without fault is run: what is not the same each
// time is told from what is.
const rounds = 2

// A baseline is what one verb does and makes without fault.
type baseline struct {
	verb    string
	trace   []heard
	points  []Point // that each round comes to, in order
	places  map[Point]place
	measure measure
	// measures are those of the course's variations; that of the usual is measure.
	measures map[variation]measure
	ends     []end    // of the subject's link, before the broken step
	steady   []string // what is not as the network's expectation says
	notes    []string
}

// baseline runs a verb's course without fault.
func (s *setup) baseline(ctx context.Context, verb string) (*baseline, error) {
	b, err := s.rounds(ctx, verb, usual)
	if err != nil && verb == verbGC && !s.alone {
		s.alone = true
		crowded := err
		if b, err = s.rounds(ctx, verb, usual); err == nil {
			b.notes = append(b.notes, fmt.Sprintf("GC: no other container is there: the network can't have two: %v", crowded))
		}
	}
	if err != nil {
		return nil, fmt.Errorf("%s without fault: %w", verb, err)
	}
	b.settle()
	b.steady = s.expect.differences(verb, b.measure)
	return b, s.begin(ctx, b)
}

// begin makes the verb's first point, of all that can be otherwise before its
// first call, and measures the courses on which that is tried.
func (s *setup) begin(ctx context.Context, b *baseline) error {
	b.measures = map[variation]measure{usual: b.measure}
	ends := map[variation][]end{usual: b.ends}
	first := s.list.Plugins[0].Network.Type
	at := Point{Verb: b.verb, Plugin: first, Program: first, Text: beginText, Occurrence: 1}
	here := place{sort: sortBegin}
	for _, f := range sceneFaults() {
		v, ok := f.scene.verbs[b.verb]
		if !ok {
			continue
		}
		if _, ok := b.measures[v]; !ok {
			varied, err := s.rounds(ctx, b.verb, v)
			if err != nil {
				return fmt.Errorf("%s without fault, %s: %w", b.verb, v, err)
			}
			b.measures[v], ends[v] = varied.measure, varied.ends
		}
		if links := f.scene.links; links == nil || links.touches(ends[v]) {
			here.scenes = append(here.scenes, f.Name)
		}
	}
	b.points = append([]Point{at}, b.points...)
	b.places[at] = here
	return nil
}

func (s *setup) rounds(ctx context.Context, verb string, v variation) (*baseline, error) {
	c := s.courseOf(verb, v, false)
	b := &baseline{verb: verb, places: map[Point]place{}, measure: measure{rest: map[string]facts{}, flaws: map[string]error{}}}
	for range rounds {
		if err := b.round(ctx, s, c); err != nil {
			return nil, err
		}
	}
	return b, nil
}

func (b *baseline) round(ctx context.Context, s *setup, c course) (err error) {
	n, err := newNode(s)
	if err != nil {
		return err
	}
	defer func() {
		if e := n.close(); err == nil {
			err = e
		}
	}()
	before, err := n.picture()
	if err != nil {
		return err
	}
	for _, st := range c.before {
		if err := st.call(ctx, n); err != nil {
			return fmt.Errorf("%s: %w", st.name, err)
		}
		if st.look {
			if before, err = n.picture(); err != nil {
				return err
			}
		}
	}
	b.measure.start(before)
	if b.ends, err = n.ends(); err != nil {
		return err
	}
	ready, err := n.picture()
	if err != nil {
		return err
	}
	for _, k := range changedSettings(before, ready) {
		b.measure.sets = b.measure.sets || k.where != "host"
	}
	h := newHearer(n, b.verb, s.norm)
	h.look = true
	err, lost := h.during(func() error { return c.broken.call(ctx, n) })
	if err != nil || lost != nil {
		return errors.Join(err, lost)
	}
	b.merge(h)
	now, err := b.see(n, c.broken)
	if err != nil {
		return err
	}
	b.measure.sets = b.measure.sets || len(changedSettings(ready, now)) > 0
	return b.follow(ctx, n, c.after)
}

// follow makes the steps that come after the one in question.
func (b *baseline) follow(ctx context.Context, n *node, steps []step) error {
	for _, st := range steps {
		err := st.call(ctx, n)
		if err != nil && st.tolerated {
			b.measure.flaws[st.name] = err
			continue
		}
		if err != nil {
			return fmt.Errorf("%s: %w", st.name, err)
		}
		if _, err := b.see(n, st); err != nil {
			return err
		}
	}
	return nil
}

// see takes what a step without fault makes of the world into the measure.
func (b *baseline) see(n *node, s step) (facts, error) {
	if !s.look {
		return nil, nil
	}
	now, err := n.picture()
	if err != nil {
		return nil, fmt.Errorf("picture after %s: %w", s.name, err)
	}
	b.measure.see(s, now)
	return now, nil
}

// merge takes a round's events in. The points are those of all rounds.
func (b *baseline) merge(h *hearer) {
	children := hasChildren(h.events)
	if b.trace == nil {
		b.trace = h.events
		for _, e := range h.events {
			if e.Point >= 0 {
				e.place.children = children[e.Plugin]
				b.points = append(b.points, e.at)
				b.places[e.at] = e.place
			}
		}
		return
	}
	here := map[Point]bool{}
	for _, e := range h.events {
		here[e.at] = e.Point >= 0
	}
	var unsteady []string
	b.points = slices.DeleteFunc(b.points, func(p Point) bool {
		if here[p] {
			return false
		}
		unsteady = append(unsteady, p.Name())
		return true
	})
	if len(unsteady) > 0 {
		b.notes = append(b.notes, b.verb+": not the same each time, and left out: "+strings.Join(unsteady, "; "))
	}
}

// hasChildren tells which plugins start other programs.
func hasChildren(events []heard) map[string]bool {
	programs := map[string]map[string]bool{}
	for _, e := range events {
		if programs[e.Plugin] == nil {
			programs[e.Plugin] = map[string]bool{}
		}
		programs[e.Plugin][e.Program] = true
	}
	all := map[string]bool{}
	for plugin, set := range programs {
		all[plugin] = len(set) > 1
	}
	return all
}

// settle says what the calls without fault leave.
func (b *baseline) settle() {
	for _, name := range slices.Sorted(maps.Keys(b.measure.flaws)) {
		b.notes = append(b.notes, fmt.Sprintf("without any fault, %s fails: %v", name, b.measure.flaws[name]))
	}
	for _, group := range []string{verbDel, verbGC} {
		var left []string
		for _, k := range b.measure.rest[group].sorted() {
			if _, ok := b.measure.before[k]; !ok {
				left = append(left, k.String())
			}
		}
		if len(left) > 0 {
			b.notes = append(b.notes, fmt.Sprintf("after a clean %s stays: %s", group, strings.Join(left, "; ")))
		}
	}
}
