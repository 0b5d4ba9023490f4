package engine

import (
	"context"
	"slices"

	"github.com/fairlead-net/fairlead/attachment"
)

// Stale gives the attachments that match and of which nothing is recorded but in
// namespaces that are gone for sure. One with a record that can't be read is not
// among them.
func (e *Engine[E]) Stale(ctx context.Context, match func(attachment.ID) bool) []attachment.ID {
	entries, _ := e.Journal.read("") // what can't be read concerns its own attachment
	var stale []attachment.ID
	asked := map[attachment.ID]bool{}
	for _, entry := range entries {
		id := entry.Header.ID
		if asked[id] || !match(id) {
			continue
		}
		asked[id] = true
		own, err := e.Journal.Entries(id)
		living := slices.ContainsFunc(own, func(o *Entry) bool { return !e.dead(ctx, o.Header) })
		if err == nil && !living {
			stale = append(stale, id)
		}
	}
	return stale
}
