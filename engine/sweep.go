package engine

import (
	"context"
	"errors"
	"fmt"
)

// Swept is what a sweep did.
type Swept struct {
	Removed []Header
	// Kept are outside the valid set, but their namespace lives, or it could
	// not be found out whether it does (rule 15).
	Kept []Header
	// Busy are held by a call that is at work on them.
	Busy []Header
}

// Sweep removes what the entries that match record, where it is stale for sure:
// not valid, and its namespace gone. With force the namespace does not matter.
// It goes on after an error, and reports all.
func (e *Engine[E]) Sweep(ctx context.Context, match, valid func(Header) bool, force bool) (Swept, error) {
	entries, err := e.Journal.All()
	errs := []error{err}
	var swept Swept
	for _, entry := range entries {
		h := entry.Header
		if !match(h) || valid(h) {
			continue
		}
		if !force && !e.dead(ctx, h) {
			swept.Kept = append(swept.Kept, h)
			continue
		}
		done, err := e.sweepEntry(ctx, entry)
		switch {
		case errors.Is(err, ErrBusy):
			swept.Busy = append(swept.Busy, h)
		case err != nil:
			errs = append(errs, fmt.Errorf("sweep %s by %s: %w", h.ID, h.Plugin, err))
		case done:
			swept.Removed = append(swept.Removed, h)
		}
	}
	return swept, errors.Join(errs...)
}

func (e *Engine[E]) sweepEntry(ctx context.Context, entry *Entry) (bool, error) {
	locked, err := e.Journal.Relock(entry)
	if err != nil || locked == nil {
		return false, err
	}
	return true, e.RemoveEntry(ctx, locked)
}
