package engine

import (
	"context"
	"errors"
)

// Stale gives the headers of the entries that match and whose namespace is gone
// for sure. What could not be read is left out, and said by the error, which
// comes with the others.
func (e *Engine[E]) Stale(ctx context.Context, match func(Header) bool) ([]Header, error) {
	entries, failed := e.Journal.read("")
	var stale []Header
	for _, entry := range entries {
		if match(entry.Header) && e.dead(ctx, entry.Header) {
			stale = append(stale, entry.Header)
		}
	}
	return stale, errors.Join(failed...)
}
