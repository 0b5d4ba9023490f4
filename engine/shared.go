package engine

import (
	"context"
	"errors"
	"fmt"
)

// alone runs f, with the lock in its context, while nobody else is at the thing.
// The files that say who uses it go with the last user; that they could not be
// looked through does not undo what f has done.
func (e *Engine[E]) alone(ctx context.Context, thing string, f func(context.Context) error) error {
	lock, err := e.Journal.lockAnyway(ctx, thing)
	if err != nil {
		return err
	}
	defer lock.Unlock()
	return errors.Join(f(lock.keep(ctx)), Partial(e.Journal.tidy(thing)))
}

// guarded runs f under the lock that r asks for, if it does. What f has done
// stands, though the lock's file may stay: the next DEL takes that.
func (e *Engine[E]) guarded(ctx context.Context, r Resource[E], f func(context.Context) error) error {
	g, ok := r.(Guarded)
	if !ok || e.Journal == nil || g.Guard() == "" {
		return f(ctx)
	}
	lock, err := e.Journal.lockAnyway(ctx, g.Guard())
	if err != nil {
		return err
	}
	defer lock.Unlock() // also where f panics
	if err := f(lock.keep(ctx)); err != nil {
		return errors.Join(err, lock.drop())
	}
	if err := lock.drop(); err != nil {
		return Partial(err)
	}
	return nil
}

// createShared registers the use and makes the thing if absent, both under the
// shared lock, so that nobody removes it in between (rule 18).
func (e *Engine[E]) createShared(ctx context.Context, env E, r Shared[E], thing string, entry *Entry) error {
	lock, err := e.Journal.Lock(ctx, thing, false)
	if err != nil {
		return err
	}
	defer lock.Unlock()
	if err := e.Journal.register(thing, userOf(entry), struct{}{}); err != nil {
		lock.Unlock()
		return errors.Join(err, e.endUse(ctx, thing, entry))
	}
	if err := r.Create(lock.keep(ctx), env); err != nil {
		return Partial(err) // the use, at least, must be ended
	}
	return nil
}

// removeShared ends the use, and takes the thing away if nobody is left.
func (e *Engine[E]) removeShared(ctx context.Context, env E, r Shared[E], thing string, entry *Entry) error {
	if e.Journal == nil {
		return removeUnused(ctx, env, r)
	}
	return e.alone(ctx, thing, func(ctx context.Context) error {
		others, err := e.liveUsers(ctx, thing, entry)
		if err != nil {
			return err
		}
		if !others {
			if err := removeUnused(ctx, env, r); err != nil {
				return err
			}
		}
		return e.strikeOff(thing, entry)
	})
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
func (e *Engine[E]) liveUsers(ctx context.Context, thing string, entry *Entry) (live bool, err error) {
	err = e.Journal.eachUser(thing, func(u user) (bool, error) {
		if entry != nil && u == userOf(entry) {
			return true, nil
		}
		h, ok, err := e.Journal.header(u)
		switch {
		case err != nil:
			live = true // who can't be read may live
		case !ok:
			return true, e.Journal.unregister(thing, u)
		case !e.dead(ctx, h):
			live = true
		}
		return !live, nil
	})
	return live, err
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

func (e *Engine[E]) strikeOff(thing string, entry *Entry) error {
	if entry == nil {
		return nil
	}
	return e.Journal.unregister(thing, userOf(entry))
}

// endUse strikes the entry off where the thing itself needs no more care.
func (e *Engine[E]) endUse(ctx context.Context, thing string, entry *Entry) error {
	return e.alone(ctx, thing, func(context.Context) error { return e.strikeOff(thing, entry) })
}
