package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
)

// createShared registers the use and makes the thing if absent, both under the
// shared lock, so that nobody removes it in between (rule 18).
func (e *Engine[E]) createShared(ctx context.Context, env E, r Shared[E], thing string, entry *Entry) error {
	if e.Journal == nil {
		return r.Create(ctx, env)
	}
	lock, err := e.Journal.Lock(ctx, thing, false)
	if err != nil {
		return err
	}
	defer lock.Unlock()
	if err := e.Journal.register(thing, userOf(entry), struct{}{}); err != nil {
		return err
	}
	if err := r.Create(ctx, env); err != nil {
		return Partial(err) // the use, at least, must be ended
	}
	return nil
}

// removeShared ends the use, and takes the thing away if nobody is left.
func (e *Engine[E]) removeShared(ctx context.Context, env E, r Shared[E], thing string, entry *Entry) error {
	if e.Journal == nil {
		return removeUnused(ctx, env, r)
	}
	lock, err := e.Journal.Lock(ctx, thing, true)
	if err != nil {
		return err
	}
	defer lock.Unlock()
	others, err := e.liveUsers(ctx, thing, entry)
	if err != nil {
		return err
	}
	if !others {
		if err := removeUnused(ctx, env, r); err != nil {
			return err
		}
	}
	return e.endUse(thing, entry)
}

func removeUnused[E any](ctx context.Context, env E, r Shared[E]) error {
	used, err := r.InUse(ctx, env)
	if err != nil {
		return fmt.Errorf("find out whether it is in use: %w", err)
	}
	if used {
		return nil
	}
	return r.Remove(ctx, env)
}

// liveUsers tells whether an entry other than this one uses the thing: its file
// is there, and its namespace is not known to be dead. Users whose entry is
// gone are struck off.
func (e *Engine[E]) liveUsers(ctx context.Context, thing string, entry *Entry) (bool, error) {
	users, err := e.Journal.users(thing)
	if err != nil {
		return false, err
	}
	for _, u := range users {
		if entry != nil && u == userOf(entry) {
			continue
		}
		h, ok, err := e.Journal.header(u)
		switch {
		case err != nil:
			return true, nil // who can't be read may live
		case !ok:
			if err := e.Journal.unregister(thing, u); err != nil {
				return false, err
			}
		case !e.dead(ctx, h):
			return true, nil
		}
	}
	return false, nil
}

// dead tells whether what the entry acted in is known to be gone.
func (e *Engine[E]) dead(ctx context.Context, h Header) bool {
	if h.Boot != e.Journal.Boot {
		return true
	}
	_, scope, leave, err := e.Enter(ctx, h)
	if err != nil {
		return false
	}
	leave()
	return scope.Gone
}

// endUse strikes the entry off, and the thing's lock and directory with the
// last one. The exclusive lock is held.
func (e *Engine[E]) endUse(thing string, entry *Entry) error {
	if entry != nil {
		if err := e.Journal.unregister(thing, userOf(entry)); err != nil {
			return err
		}
	}
	users, err := e.Journal.users(thing)
	if err != nil || len(users) > 0 {
		return err
	}
	return errors.Join(e.Journal.dropUsers(thing), e.Journal.dropLock(thing))
}

// holder is what a user of a restored thing keeps: its place in the stack, and
// itself with the saved value.
type holder struct {
	Order int             `json:"order"`
	Kind  string          `json:"kind"`
	Body  json.RawMessage `json:"body"`
}

// createRestored saves the value that is there, on disk, before it is changed.
func (e *Engine[E]) createRestored(ctx context.Context, env E, r Restored[E], thing string, entry *Entry) error {
	if e.Journal == nil {
		return errors.Join(r.Save(ctx, env), r.Create(ctx, env))
	}
	lock, err := e.Journal.Lock(ctx, thing, true)
	if err != nil {
		return err
	}
	defer lock.Unlock()
	if err := r.Save(ctx, env); err != nil {
		return err
	}
	top, err := e.topOrder(thing)
	if err != nil {
		return err
	}
	if err := e.hold(thing, userOf(entry), top+1, r); err != nil {
		return err
	}
	if err := r.Create(ctx, env); err != nil {
		return Partial(err) // the holder's file, at least, must go
	}
	return nil
}

func (e *Engine[E]) hold(thing string, u user, order int, r Resource[E]) error {
	body, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("encode %s: %w", thing, err)
	}
	return e.Journal.register(thing, u, holder{Order: order, Kind: r.Kind(), Body: body})
}

func (e *Engine[E]) topOrder(thing string) (int, error) {
	_, _, top, err := e.above(thing, 0)
	return top, err
}

// above finds the holder next after order, and the highest order of all.
func (e *Engine[E]) above(thing string, order int) (next *holder, who user, top int, err error) {
	users, err := e.Journal.users(thing)
	if err != nil {
		return nil, user{}, 0, err
	}
	for _, u := range users {
		var h holder
		ok, err := e.Journal.readUser(thing, u, &h)
		if err != nil {
			return nil, user{}, 0, err
		}
		if !ok {
			continue
		}
		top = max(top, h.Order)
		if h.Order > order && (next == nil || h.Order < next.Order) {
			next, who = &h, u
		}
	}
	return next, who, top, nil
}

// removeRestored puts the old value back, unless a later holder stands above:
// that one inherits it.
func (e *Engine[E]) removeRestored(ctx context.Context, env E, r Restored[E], thing string, entry *Entry) error {
	if e.Journal == nil || entry == nil {
		return r.Remove(ctx, env)
	}
	lock, err := e.Journal.Lock(ctx, thing, true)
	if err != nil {
		return err
	}
	defer lock.Unlock()
	if err := e.putBack(ctx, env, r, thing, userOf(entry)); err != nil {
		return err
	}
	return e.endUse(thing, entry)
}

func (e *Engine[E]) putBack(ctx context.Context, env E, r Restored[E], thing string, u user) error {
	var mine holder
	ok, err := e.Journal.readUser(thing, u, &mine)
	if err != nil || !ok {
		return err // without a file nothing had been changed yet
	}
	if err := json.Unmarshal(mine.Body, r); err != nil {
		return fmt.Errorf("decode %s: %w", thing, err)
	}
	next, who, _, err := e.above(thing, mine.Order)
	if err != nil {
		return err
	}
	if next == nil {
		return r.Remove(ctx, env)
	}
	heir, err := e.Codec.decode(record{kind: next.Kind, body: next.Body})
	if err != nil {
		return err
	}
	restored, ok := heir.(Restored[E])
	if !ok {
		return fmt.Errorf("holder of %s is a %s, which restores nothing", thing, next.Kind)
	}
	if err := restored.Inherit(r); err != nil {
		return err
	}
	return e.hold(thing, who, next.Order, restored)
}
