package campaign

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// callTimeout is how long a call may take. Who waits for an answer that was lost
// is ended then, as a runtime does.
const callTimeout = 20 * time.Second

// A cellPlan is a cell to be run.
type cellPlan struct {
	point int
	at    Point
	fault Fault
}

// begins tells whether the fault is before the verb's first call.
func (p cellPlan) begins() bool { return p.at.Text == beginText }

// variation is that of the cell's course.
func (p cellPlan) variation() variation {
	if p.fault.scene == nil || !p.begins() {
		return usual
	}
	return p.fault.scene.verbs[p.at.Verb]
}

// run runs one cell on a new node. An error is the lab's own.
func (s *setup) run(ctx context.Context, p cellPlan, m measure, n *node) (Cell, error) {
	begun := time.Now()
	cell := Cell{Point: p.point, Fault: p.fault.Name}
	c := s.courseOf(p.at.Verb, p.variation(), p.fault.gone)
	if err := c.prepare(ctx, n); err != nil {
		return cell, err
	}
	h := newHearer(n, p.at.Verb, s.norm)
	h.point, h.fault = p.at, p.fault
	w := p.fault.scene
	if w != nil && p.begins() {
		c.broken.must = w.demands(p.at.Verb, m)
		if w.must == mustIfSet {
			m = m.plain()
		}
	}
	n.runner.said = ""
	err, lent, lost := s.broken(ctx, p, c, h)
	if lost != nil {
		return cell, lost
	}
	j := newJudge(m)
	now, e := n.look(c.broken, err == nil)
	if e != nil {
		return cell, e
	}
	c.broken.named = p.at.Verb == verbGC && strings.Contains(n.runner.said, subjectID)
	first := j.step(c.broken, true, err, now)
	for _, text := range lent {
		first.Found = append(first.Found, Finding{Damage, text})
	}
	if h.hit < 0 && !p.begins() {
		first.Found = append(first.Found, Finding{Unreached, "the call never came to this point"})
	}
	cell.Steps = append(cell.Steps, first)
	for _, st := range c.after {
		err := call(ctx, n, st)
		now, e := n.look(st, err == nil)
		if e != nil {
			return cell, e
		}
		cell.Steps = append(cell.Steps, j.step(st, false, err, now))
	}
	cell.Verdict = conclude(cell.Steps)
	if s.traces || cell.Verdict.Bad() {
		cell.Trace = h.around()
	}
	cell.Elapsed = time.Since(begun)
	return cell, nil
}

// broken makes the call under the fault. What is lent are leases that it freed
// while it let their interface live; the last error is the lab's own.
func (s *setup) broken(ctx context.Context, p cellPlan, c course, h *hearer) (err error, lent []string, lost error) {
	n, w := h.node, p.fault.scene
	if w == nil {
		err, lost = h.during(func() error { return call(ctx, n, c.broken) })
		return err, nil, lost
	}
	ends, lost := n.ends()
	if lost != nil {
		return nil, nil, lost
	}
	leases, lost := n.leases(ends)
	if lost == nil && p.begins() {
		lost = w.make(n)
	}
	if lost != nil {
		return nil, nil, errors.Join(lost, n.restore())
	}
	err, lost = h.during(func() error { return call(ctx, n, c.broken) })
	if err != nil && lost == nil {
		lent, lost = n.lent(ends, leases)
	}
	return err, lent, errors.Join(lost, n.restore())
}

// call makes a call with a limit of time.
func call(ctx context.Context, n *node, s step) error {
	limited, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	err := s.call(limited, n)
	if limited.Err() != nil && ctx.Err() == nil {
		return fmt.Errorf("killed after %s", callTimeout)
	}
	return err
}

// look takes a picture where a step asks for one and has claimed success.
func (n *node) look(s step, succeeded bool) (facts, error) {
	if !s.look || !succeeded && s.claim != claimKept {
		return nil, nil
	}
	now, err := n.picture()
	if err != nil {
		return nil, fmt.Errorf("picture after %s: %w", s.name, err)
	}
	return now, nil
}

// How much of a trace is kept around a fault.
const (
	eventsBefore = 20
	eventsAfter  = 60
)

// around is the trace around the fault, or its end if there was none.
func (h *hearer) around() []string {
	from, to := max(0, h.hit-eventsBefore), min(len(h.events), h.hit+eventsAfter)
	if h.hit < 0 {
		from, to = max(0, len(h.events)-eventsAfter), len(h.events)
	}
	var lines []string
	for i := from; i < to; i++ {
		mark := "  "
		if i == h.hit {
			mark = "> "
		}
		lines = append(lines, mark+h.events[i].String())
	}
	return lines
}
