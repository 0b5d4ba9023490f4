package cni

import (
	"context"
	"errors"
	"maps"
	"time"

	"github.com/fairlead-net/fairlead/attachment"
	"github.com/fairlead-net/fairlead/engine"
)

// JournalSweep says what a sweep by the journal alone may remove: where the
// protocol has no GC, and where no configuration is at hand.
type JournalSweep struct {
	Network string                 // "": of every network that the journal knows
	Valid   map[attachment.ID]bool // what is spared whatever is seen; without a network: on any
	Force   bool                   // what is not valid goes though its namespace lives
	// Abandoned: what is not valid goes, too, where nobody is in its namespace.
	Abandoned bool
	Path      []string // where the delegates are, as CNI_PATH
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
	maps.Copy(spared, s.Valid)
	valid := func(id attachment.ID) bool {
		return spared[id] || spared[attachment.ID{Container: id.Container, IfName: id.IfName}]
	}
	match := func(id attachment.ID) bool { return s.Network == "" || id.Network == s.Network }
	var errs []error
	var abandoned engine.Swept
	if s.Abandoned {
		var err error
		abandoned, err = c.sweepAbandoned(ctx, s, valid)
		errs = append(errs, err)
	}
	errs = append(errs, c.beforeSweep(ctx, s, func(id attachment.ID) bool { return match(id) && !valid(id) }, spared))
	swept, err := c.engine.Sweep(ctx, func(h engine.Header) bool { return match(h.ID) }, func(h engine.Header) bool { return valid(h.ID) }, s.Force)
	swept.Removed = append(abandoned.Removed, swept.Removed...)
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
	for _, id := range c.engine.Stale(ctx, match) {
		if err := s.Before(id); err != nil {
			spared[id] = true
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}
