package engine

import (
	"context"
	"encoding/json"
	"fmt"
)

// Codec makes an empty resource of each kind, for the journal to fill. It is
// put together in one place by the program.
type Codec[E any] map[string]func() Resource[E]

// Decode gives the resources that an entry's call made or may have made, in
// order of creation. A kind that is not in the codec is ErrNewer.
func (c Codec[E]) Decode(e *Entry) ([]Resource[E], error) {
	list := make([]Resource[E], 0, len(e.records))
	for i, rec := range e.records {
		if !rec.tried {
			continue
		}
		r, err := c.decode(rec)
		if err != nil {
			return nil, fmt.Errorf("journal entry %s, resource %d: %w", e.name, i+1, err)
		}
		list = append(list, r)
	}
	return list, nil
}

func (c Codec[E]) decode(rec record) (Resource[E], error) {
	blank, ok := c[rec.kind]
	if !ok {
		return nil, fmt.Errorf("kind %q: %w", rec.kind, ErrNewer)
	}
	r := blank()
	if err := json.Unmarshal(rec.body, r); err != nil {
		return nil, fmt.Errorf("kind %q: %w: %w", rec.kind, ErrUnreadable, err)
	}
	return r, nil
}

// Engine makes, checks, removes and sweeps.
type Engine[E any] struct {
	// Journal may be nil: then nothing is recorded, shared things are taken
	// away only where they are provably unused, and Begin can't be called.
	Journal *Journal
	Codec   Codec[E]
	// Enter opens the places that an entry acts in: for leftovers, sweeps and
	// the question whether a user of a shared thing still lives. leave is
	// called when done.
	Enter func(ctx context.Context, h Header) (env E, scope Scope, leave func(), err error)
}

// A Fact is something that must be looked up before it can be decided what to
// make. It is found once, at ADD, and kept in the journal.
type Fact[E any] interface {
	Name() string
	// Lock names what guards the choice, or is "": it is held until the first
	// stage is on disk and made (rule 18). With a method Within() Ref that
	// gives the scope's Ref, each scope has a lock of its own.
	Lock() string
	// Find looks it up. What it returns is kept as JSON.
	Find(ctx context.Context, env E) (any, error)
}
