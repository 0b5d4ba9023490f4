package campaign

import (
	"context"
	"fmt"
)

// The verbs of a campaign.
const (
	verbAdd   = "ADD"
	verbDel   = "DEL"
	verbCheck = "CHECK"
	verbGC    = "GC"
)

// Verbs are those that a campaign breaks, in the order of its points.
func Verbs() []string { return []string{verbAdd, verbDel, verbCheck, verbGC} }

// A claim is what a step says of the world when it succeeds.
type claim int

const (
	claimNothing claim = iota
	claimAdded         // the network is there
	claimRemoved       // nothing of it is there but what stays by design
	claimKept          // what was there is there, whether the step succeeds or not
)

// A step is one call of a course.
type step struct {
	name  string
	verb  string
	call  func(context.Context, *node) error
	claim claim
	look  bool // a picture is taken after the step, if it succeeded
	fails bool // it may fail, without fault
	// tolerated: a plugin that always fails here is told of once, not in each run.
	tolerated bool
	must      bool // under the fault too it must succeed
	// named: a GC said on stderr that it keeps the attachment, which it can't
	// prove to be dead.
	named bool
}

// A course is what a run does with a verb.
type course struct {
	verb   string
	before []step // must succeed
	broken step   // under the fault
	after  []step // without fault: must succeed
}

func callAdd(ctx context.Context, n *node) error   { return n.add(ctx, n.subject) }
func callDel(ctx context.Context, n *node) error   { return n.del(ctx, n.subject) }
func callCheck(ctx context.Context, n *node) error { return n.check(ctx, n.subject) }
func callGC(ctx context.Context, n *node) error    { return n.gc(ctx, keptID) }

// callSweep is a GC for a runtime that knows of no container.
func callSweep(ctx context.Context, n *node) error { return n.gc(ctx) }

// courseOf is the course of a verb, in a variation, with a thing taken away
// during the broken step or without. A picture is taken where a claim of success
// can be wrong, and not of what a later picture shows as well.
func (s *setup) courseOf(verb string, v variation, gone bool) course {
	add := step{name: verbAdd, verb: verbAdd, call: callAdd, claim: claimAdded}
	del := step{name: verbDel, verb: verbDel, call: callDel, claim: claimRemoved, look: true}
	// Without fault it is a second one.
	del.tolerated = verb == verbDel || verb == verbGC
	c := course{verb: verb, after: []step{
		del,
		{name: "DEL again", verb: verbDel, call: callDel, claim: claimRemoved, tolerated: true},
		{name: "ADD again", verb: verbAdd, call: callAdd, claim: claimAdded},
		{name: "last DEL", verb: verbDel, call: callDel, claim: claimRemoved, look: true},
	}}
	under := func(name string) string { return name + " under fault" }
	switch verb {
	case verbAdd:
		c.broken = step{name: under(verb), verb: verb, call: callAdd, claim: claimAdded, look: true}
	case verbDel:
		c.before = []step{add}
		c.broken = step{name: under(verb), verb: verb, call: callDel, claim: claimRemoved, look: true}
	case verbCheck:
		c.before = []step{add}
		c.broken = step{name: under(verb), verb: verb, call: callCheck, claim: claimAdded, look: true}
	case verbGC:
		c.before = []step{add, {name: "death of the container", call: die}}
		if !s.alone {
			c.before = append([]step{{name: "ADD of another container", call: addKept, look: true}}, c.before...)
		}
		c.broken = step{name: under(verb), verb: verb, call: callGC, claim: claimRemoved, look: true}
		// A device that was moved into the container died with it.
		for i := range c.after {
			c.after[i].tolerated = true
		}
		c.after = append([]step{{name: verbGC, verb: verbGC, call: callGC, claim: claimRemoved, look: true}}, c.after...)
		// The runtime starts the container again, in a namespace of the same name.
		c.after[3].call = func(ctx context.Context, n *node) error {
			var err error
			if n.subject, err = n.container(subjectID); err != nil {
				return err
			}
			return callAdd(ctx, n)
		}
	}
	c.vary(v, add, del)
	if gone && c.broken.claim == claimAdded {
		// It may have made it, or looked, before. The next CHECK must see it.
		c.broken.claim = claimNothing
		c.after = append([]step{{name: "CHECK afterwards", verb: verbCheck, call: callCheck, claim: claimAdded, look: true, fails: true}}, c.after...)
	}
	return c
}

// vary makes the usual course another one.
func (c *course) vary(v variation, add, del step) {
	switch v {
	case used:
		del.look = false
		c.before = []step{add, del}
	case never:
		c.before = nil
	case living:
		// What the runtime knows of is for DEL, by libcni, and not for the plugins' GC.
		c.before = []step{add, {name: "loss of the runtime's records", call: lose}}
		c.broken.call, c.broken.claim = callSweep, claimKept
		c.after = c.after[1:] // without the GC that takes the dead away
		c.after[2].call = callAdd
	}
}

// addKept adds the container that GC is told of.
func addKept(ctx context.Context, n *node) error {
	kept, err := n.container(keptID)
	if err != nil {
		return err
	}
	return n.add(ctx, kept)
}

// prepare makes what comes before the broken step.
func (c course) prepare(ctx context.Context, n *node) error {
	for _, s := range c.before {
		if err := s.call(ctx, n); err != nil {
			return fmt.Errorf("%s, without fault: %w", s.name, err)
		}
	}
	return nil
}
