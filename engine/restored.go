package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
)

// holder is what a user of a restored thing keeps: its place in the stack, and
// itself with the saved value.
type holder struct {
	Order int `json:"order"`
	// Set says that the value was set, and that it was not begun to put the old
	// one back. Without it (a call died) the holder has no claim to its value,
	// which may be there or not.
	Set  bool            `json:"set,omitempty"`
	Kind string          `json:"kind"`
	Body json.RawMessage `json:"body"`

	who user
}

// createRestored saves the value that is there, on disk, before it is changed.
func (e *Engine[E]) createRestored(ctx context.Context, env E, r Restored[E], thing string, entry *Entry) error {
	return e.alone(ctx, thing, func(ctx context.Context) error {
		if err := r.Save(ctx, env); err != nil {
			return err
		}
		stack, err := e.holders(thing)
		if err != nil {
			return err
		}
		mine := holder{Order: 1, who: userOf(entry)}
		if n := len(stack); n > 0 {
			mine.Order = stack[n-1].Order + 1
		}
		if err := e.hold(thing, mine, r); err != nil {
			return err
		}
		err = r.Create(ctx, env)
		if err != nil && !IsPartial(err) {
			// Nothing was changed, so it holds nothing.
			return errors.Join(err, Partial(e.strikeOff(thing, entry)))
		}
		if err != nil {
			return err
		}
		mine.Set = true
		return Partial(e.hold(thing, mine, r))
	})
}

// hold writes the holder's file, with what r has saved.
func (e *Engine[E]) hold(thing string, h holder, r Resource[E]) error {
	body, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("encode %s: %w", thing, err)
	}
	h.Kind, h.Body = r.Kind(), body
	return e.Journal.register(thing, h.who, h)
}

// holders gives the stack, the lowest first. Those whose entry is gone are
// struck off: nobody would ever put back what they keep.
func (e *Engine[E]) holders(thing string) ([]holder, error) {
	var stack []holder
	err := e.Journal.eachUser(thing, func(u user) (bool, error) {
		if !e.Journal.hasEntry(u) {
			return true, e.Journal.unregister(thing, u)
		}
		h := holder{who: u}
		ok, err := e.Journal.readUser(thing, u, &h)
		if errors.Is(err, ErrUnreadable) || ok && h.Kind == "" {
			h, ok, err = e.fromEntry(thing, u)
		}
		if ok && err == nil {
			stack = append(stack, h)
		}
		return true, err
	})
	slices.SortFunc(stack, func(a, b holder) int {
		return cmp.Or(cmp.Compare(a.Order, b.Order), cmp.Compare(a.who.file(), b.who.file()))
	})
	return stack, err
}

// fromEntry is the holder whose own file is lost (emptied, torn), as its entry
// has it: with the value that it found at ADD, below those whose place is known.
// Those of one attachment are in the order of their making. Where the entry tells
// nothing either, nothing is known to have been changed.
func (e *Engine[E]) fromEntry(thing string, u user) (holder, bool, error) {
	entry, err := openEntry(filepath.Join(e.Journal.attachmentsDir(), u.owner), u.entry)
	if entry == nil || err != nil {
		return holder{}, false, err
	}
	defer entry.Close()
	err = entry.decode()
	if errors.Is(err, errEmpty) || notForUs(err) {
		return holder{}, false, nil
	}
	if err != nil {
		return holder{}, false, err
	}
	for _, rec := range entry.records {
		r, err := e.Codec.decode(rec)
		if err != nil || !rec.tried {
			continue
		}
		if ref := RefOf(r); thing == string(ref) || thing == scoped(ref, entry.Header.Scope) {
			return holder{Set: entry.Done, Kind: rec.kind, Body: rec.body, who: u}, true, nil
		}
	}
	return holder{}, false, nil
}

// removeRestored puts the old value back, unless a later holder stands above:
// that one inherits it.
func (e *Engine[E]) removeRestored(ctx context.Context, env E, r Restored[E], thing string, entry *Entry) error {
	if e.Journal == nil || entry == nil {
		return r.Remove(ctx, env)
	}
	return e.alone(ctx, thing, func(ctx context.Context) error {
		stack, err := e.holders(thing)
		if err != nil {
			return err
		}
		at := slices.IndexFunc(stack, func(h holder) bool { return h.who == userOf(entry) })
		if at < 0 {
			return nil // without a file nothing had been changed yet
		}
		if err := e.putBack(ctx, env, thing, stack[at], stack[at+1:]); err != nil {
			return err
		}
		return e.strikeOff(thing, entry)
	})
}

// putBack goes by what the holder's file says: the entry does not learn what it
// inherited. The next holder above whose value is set inherits, with those
// between, which stand for none; where there is no such holder, the value is
// put back.
func (e *Engine[E]) putBack(ctx context.Context, env E, thing string, mine holder, above []holder) error {
	leaving, err := e.restored(mine)
	if err != nil {
		return err
	}
	// From here on it has no claim, should this call die. A full disk must not
	// stop the removal.
	mine.Set = false
	_ = e.hold(thing, mine, leaving)
	for _, h := range above {
		heir, err := e.restored(h)
		if err != nil {
			return err
		}
		err = heir.Inherit(leaving)
		if errors.Is(err, ErrApart) {
			continue
		}
		if err != nil {
			return err
		}
		if err := e.hold(thing, h, heir); err != nil {
			return err
		}
		if h.Set {
			return nil
		}
	}
	return leaving.Remove(ctx, env)
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
