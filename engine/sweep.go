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
	// Unread says which entries can't be read, or are newer: they are kept
	// (rule 19).
	Unread []error
}

// Sweep removes what the entries that match record, where it is stale for sure:
// not valid, and its namespace gone. With force the namespace does not matter.
// It goes on after an error, and reports all.
func (e *Engine[E]) Sweep(ctx context.Context, match, valid func(Header) bool, force bool) (Swept, error) {
	var swept Swept
	errs := []error{e.Journal.dropEmpty()}
	entries, failed := e.Journal.read("")
	for _, err := range failed {
		if notForUs(err) {
			swept.Unread = append(swept.Unread, err)
			continue
		}
		errs = append(errs, err)
	}
	for _, entry := range entries {
		h := entry.Header
		if !match(h) || valid(h) {
			continue
		}
		if !force && !e.dead(ctx, h) {
			swept.Kept = append(swept.Kept, h)
			continue
		}
		was, err := e.sweepEntry(ctx, entry)
		switch was {
		case busy:
			swept.Busy = append(swept.Busy, h)
		case removed:
			swept.Removed = append(swept.Removed, h)
		}
		if notForUs(err) {
			swept.Unread = append(swept.Unread, err)
			continue
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("sweep %s by %s: %w", h.ID, h.Plugin, err))
		}
	}
	return swept, errors.Join(errs...)
}

// notForUs tells whether err is about the record itself, not about what it
// records.
func notForUs(err error) bool {
	var remains *RemainingError
	return (errors.Is(err, ErrNewer) || errors.Is(err, ErrUnreadable)) && !errors.As(err, &remains)
}

type sweptEntry int

const (
	kept sweptEntry = iota
	removed
	busy
)

func (e *Engine[E]) sweepEntry(ctx context.Context, entry *Entry) (sweptEntry, error) {
	locked, err := e.Journal.Relock(entry)
	if errors.Is(err, ErrBusy) {
		return busy, nil
	}
	if err != nil || locked == nil {
		return kept, err
	}
	if locked.Header != entry.Header {
		// Another ADD made it since, under the same name.
		locked.Close()
		return busy, nil
	}
	if err := e.RemoveEntry(ctx, locked); err != nil {
		return kept, err
	}
	return removed, nil
}
