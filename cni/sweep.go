package cni

import (
	"context"
	"errors"
	"time"

	"github.com/fairlead-net/fairlead/attachment"
	"github.com/fairlead-net/fairlead/engine"
)

// JournalSweep says what a sweep by the journal alone may remove: where the
// protocol has no GC, and where no configuration is at hand.
type JournalSweep struct {
	Network string                 // "": of every network that the journal knows
	Valid   map[attachment.ID]bool // what is spared whatever is seen
	Force   bool                   // what is not valid goes though its namespace lives
	Path    []string               // where the delegates are, as CNI_PATH
	// Before is called once for each attachment that is about to go whole. An
	// error keeps what is recorded of it.
	Before func(attachment.ID) error
}

// SweepJournal removes what the journal records and is stale, each by what was
// recorded of it at its ADD; delegates hear DEL (rule 15). It goes on after an
// error, and reports all.
func (r *Runner) SweepJournal(ctx context.Context, s JournalSweep) (engine.Swept, error) {
	start := time.Now()
	c := &call{runner: r, plugin: Plugin{Name: "fairlead"}, req: &Request{Verb: GC, Path: s.Path}, forced: s.Force}
	c.open()
	if c.noState != nil {
		return engine.Swept{}, c.noState
	}
	spared := make(map[attachment.ID]bool, len(s.Valid))
	for id := range s.Valid {
		spared[id] = true
	}
	match := func(id attachment.ID) bool { return s.Network == "" || id.Network == s.Network }
	errs := []error{c.beforeSweep(ctx, s, match, spared)}
	swept, err := c.engine.Sweep(ctx, func(h engine.Header) bool { return match(h.ID) }, func(h engine.Header) bool { return spared[h.ID] }, s.Force)
	for _, h := range swept.Removed {
		if err := c.engine.Journal.Log(record(start, GC, h.Plugin, h.ID, nil)); err != nil {
			c.warn("write the operation log: %v", err)
		}
	}
	if err = errors.Join(append(errs, err)...); err != nil {
		c.log(start, err)
	}
	return swept, err
}

// beforeSweep calls Before for what is about to go, and spares what it fails for.
func (c *call) beforeSweep(ctx context.Context, s JournalSweep, match func(attachment.ID) bool, spared map[attachment.ID]bool) error {
	if s.Before == nil {
		return nil
	}
	var errs []error
	for _, id := range c.engine.Stale(ctx, func(id attachment.ID) bool { return match(id) && !spared[id] }) {
		if err := s.Before(id); err != nil {
			spared[id] = true
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}
