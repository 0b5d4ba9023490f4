package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
)

// holder is what a user of a restored thing keeps: its place in the stack, and
// itself with the saved value.
type holder struct {
	Order int             `json:"order"`
	Kind  string          `json:"kind"`
	Body  json.RawMessage `json:"body"`
}

// createRestored saves the value that is there, on disk, before it is changed.
func (e *Engine[E]) createRestored(ctx context.Context, env E, r Restored[E], thing string, entry *Entry) error {
	return e.alone(ctx, thing, func() error {
		if err := r.Save(ctx, env); err != nil {
			return err
		}
		_, _, top, err := e.above(thing, 0)
		if err != nil {
			return err
		}
		if err := e.hold(thing, userOf(entry), top+1, r); err != nil {
			return err
		}
		err = r.Create(ctx, env)
		if err != nil && !IsPartial(err) {
			// Nothing was changed, so it holds nothing.
			err = errors.Join(err, Partial(e.strikeOff(thing, entry)))
		}
		return err
	})
}

func (e *Engine[E]) hold(thing string, u user, order int, r Resource[E]) error {
	body, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("encode %s: %w", thing, err)
	}
	return e.Journal.register(thing, u, holder{Order: order, Kind: r.Kind(), Body: body})
}

// above finds the holder next after order, and the highest order of all. Those
// whose entry is gone are struck off: nobody would ever put back what they keep.
func (e *Engine[E]) above(thing string, order int) (next *holder, who user, top int, err error) {
	err = e.Journal.eachUser(thing, func(u user) (bool, error) {
		if !e.Journal.hasEntry(u) {
			return true, e.Journal.unregister(thing, u)
		}
		var h holder
		ok, err := e.Journal.readUser(thing, u, &h)
		if err != nil || !ok {
			return true, err
		}
		top = max(top, h.Order)
		if h.Order > order && (next == nil || h.Order < next.Order) {
			next, who = &h, u
		}
		return true, nil
	})
	return next, who, top, err
}

// removeRestored puts the old value back, unless a later holder stands above:
// that one inherits it.
func (e *Engine[E]) removeRestored(ctx context.Context, env E, r Restored[E], thing string, entry *Entry) error {
	if e.Journal == nil || entry == nil {
		return r.Remove(ctx, env)
	}
	return e.alone(ctx, thing, func() error {
		if err := e.putBack(ctx, env, thing, userOf(entry)); err != nil {
			return err
		}
		return e.strikeOff(thing, entry)
	})
}

// putBack goes by what the holder's file says: the entry does not learn what it
// inherited.
func (e *Engine[E]) putBack(ctx context.Context, env E, thing string, u user) error {
	var mine holder
	ok, err := e.Journal.readUser(thing, u, &mine)
	if err != nil || !ok {
		return err // without a file nothing had been changed yet
	}
	leaving, err := e.restored(mine)
	if err != nil {
		return err
	}
	next, who, _, err := e.above(thing, mine.Order)
	if err != nil {
		return err
	}
	if next == nil {
		return leaving.Remove(ctx, env)
	}
	heir, err := e.restored(*next)
	if err != nil {
		return err
	}
	if err := heir.Inherit(leaving); err != nil {
		return err
	}
	return e.hold(thing, who, next.Order, heir)
}

func (e *Engine[E]) restored(h holder) (Restored[E], error) {
	r, err := e.Codec.decode(record{kind: h.Kind, body: h.Body})
	if err != nil {
		return nil, err
	}
	restored, ok := r.(Restored[E])
	if !ok {
		return nil, fmt.Errorf("kind %q restores nothing: %w", h.Kind, ErrUnreadable)
	}
	return restored, nil
}
