package cni

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/fairlead-net/fairlead/attachment"
	"github.com/fairlead-net/fairlead/engine"
	"github.com/fairlead-net/fairlead/kernel"
	"github.com/fairlead-net/fairlead/resource"
)

// grace is how old an attachment must be before nobody in its namespace means
// anything: a runtime makes the namespace first and starts the container last.
const grace = 10 * time.Minute

// Nobody says of an attachment what to do about it.
const Nobody = "its namespace lives, but nobody is in it (see 'fairlead gc --abandoned')"

// Abandoned gives what the journal records of living namespaces that nobody is
// in, and that has no valid attachment. An error says of which that could not be
// found out: those are not given.
func (r *Runner) Abandoned(network string, valid func(attachment.ID) bool) ([]engine.Header, error) {
	c := &call{runner: r, req: &Request{Verb: GC}}
	c.open()
	if c.noState != nil {
		return nil, c.noState
	}
	return c.abandoned(network, valid)
}

func (c *call) abandoned(network string, valid func(attachment.ID) bool) ([]engine.Header, error) {
	entries, err := c.engine.Journal.All()
	if err != nil {
		return nil, err // who can't be read may be in any of them
	}
	inhabited := map[string]bool{} // by whom the runtime, or the time, speaks for
	scopes := map[string][]engine.Header{}
	for _, e := range entries {
		h := e.Header
		if h.Boot != c.engine.Journal.Boot || h.Scope == "" {
			continue
		}
		old := !h.Created.IsZero() && time.Since(h.Created) >= grace
		inhabited[h.Scope] = inhabited[h.Scope] || !old || valid(h.ID)
		scopes[h.Scope] = append(scopes[h.Scope], h)
	}
	look := &occupancy{}
	var found []engine.Header
	var errs []error
	for scope, headers := range scopes {
		ours := headers[:0:0]
		for _, h := range headers {
			if network == "" || h.ID.Network == network {
				ours = append(ours, h)
			}
		}
		if inhabited[scope] || len(ours) == 0 {
			continue
		}
		empty, err := look.empty(scope, headers)
		if err != nil {
			errs = append(errs, fmt.Errorf("find out who is in the namespace of %s: %w", ours[0].ID, err))
		}
		if empty {
			found = append(found, ours...)
		}
	}
	return found, errors.Join(errs...)
}

// occupancy takes the census when it is first asked for.
type occupancy struct {
	census *kernel.Census
	err    error
}

// empty tells whether nobody is in the namespace that the headers are of. That
// their paths do not lead to it is for others to judge.
func (o *occupancy) empty(scope string, headers []engine.Header) (bool, error) {
	known := make([]string, 0, len(headers))
	for _, h := range headers {
		known = append(known, h.ID.IfName)
	}
	env, _, leave, err := resource.Open(headers[0].Netns)
	defer leave()
	if err != nil || env.Container == nil {
		return false, err
	}
	if o.census == nil && o.err == nil {
		o.census, o.err = kernel.TakeCensus()
	}
	if o.err != nil {
		return false, o.err
	}
	who, err := o.census.Occupant(env.Container, known)
	if err != nil || who != "" {
		return false, err
	}
	// Only now: this opens a socket in it.
	is, err := scopeOf(env)
	return err == nil && is.ID == scope, err
}

// sweepAbandoned removes what is recorded of namespaces that nobody is in.
func (c *call) sweepAbandoned(ctx context.Context, s JournalSweep, spared func(attachment.ID) bool) (engine.Swept, error) {
	found, unknown := c.abandoned(s.Network, spared)
	errs := []error{unknown}
	gone := map[engine.Header]bool{}
	failed := map[attachment.ID]bool{}
	for _, h := range found {
		gone[h] = true
		if _, asked := failed[h.ID]; asked || s.Before == nil {
			continue
		}
		err := s.Before(h.ID)
		failed[h.ID] = err != nil
		errs = append(errs, err)
	}
	match := func(h engine.Header) bool { return gone[h] && !failed[h.ID] }
	swept, err := c.engine.Sweep(ctx, match, func(engine.Header) bool { return false }, true)
	swept.Unread = nil // the sweep of all says it
	return swept, errors.Join(append(errs, err)...)
}
