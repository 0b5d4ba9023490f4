package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
)

// Call is an ADD in progress. Its end is Commit or Rollback.
type Call[E any] struct {
	engine *Engine[E]
	env    E
	scope  Scope
	entry  *Entry
	facts  []*Lock
	// made has what this call created, or may have: all that Rollback removes.
	made []numbered[E]
}

type numbered[E any] struct {
	n int
	r Resource[E]
}

// Begin opens the journal entry of an ADD. What a crashed call of the same
// plugin and configuration left is removed first; one that is in force is
// ErrDone, and nothing is touched (rule 2).
func (e *Engine[E]) Begin(ctx context.Context, env E, scope Scope, h Header) (*Call[E], error) {
	judge := func(entry *Entry) Verdict { return e.judge(ctx, entry) }
	for {
		entry, leftover, err := e.Journal.Begin(ctx, h, judge)
		if err != nil {
			return nil, err
		}
		if entry != nil {
			return &Call[E]{engine: e, env: env, scope: scope, entry: entry}, nil
		}
		if err := e.RemoveEntry(ctx, leftover); err != nil {
			return nil, fmt.Errorf("remove what an earlier call left: %w", err)
		}
	}
}

// judge says what is to become of an entry that an ADD meets. What of a crashed
// call we can't decode can't be removed, and is kept (rule 19).
func (e *Engine[E]) judge(ctx context.Context, entry *Entry) Verdict {
	if entry.Done && !e.dead(ctx, entry.Header) {
		return InForce
	}
	if _, err := e.Codec.Decode(entry); err != nil {
		return LeftAlone
	}
	return Leftover
}

// Facts looks the facts up and journals them. Their locks are held until the
// first Apply is done: what was chosen for being free is taken, in the eyes of
// the next to choose, only once it is there.
func (c *Call[E]) Facts(ctx context.Context, facts []Fact[E]) (map[string]json.RawMessage, error) {
	if len(facts) == 0 {
		return nil, nil
	}
	found := make(map[string]json.RawMessage, len(facts))
	for _, f := range facts {
		if f.Lock() != "" {
			if err := c.lockFact(ctx, c.lockOf(f)); err != nil {
				return nil, err
			}
		}
		value, err := f.Find(ctx, c.env)
		if err != nil {
			return nil, fmt.Errorf("find %s: %w", f.Name(), err)
		}
		if found[f.Name()], err = json.Marshal(value); err != nil {
			return nil, fmt.Errorf("encode %s: %w", f.Name(), err)
		}
	}
	return found, c.entry.append(line{Facts: found})
}

// lockFact takes a lock, after its name is on disk: DEL takes the file away that
// a crash leaves.
func (c *Call[E]) lockFact(ctx context.Context, name string) error {
	if err := c.entry.append(line{Lock: name}); err != nil {
		return err
	}
	c.entry.locks = append(c.entry.locks, name)
	lock, err := c.engine.Journal.Lock(ctx, name, true)
	if err != nil {
		return err
	}
	c.facts = append(c.facts, lock)
	return nil
}

// lockOf is the name of a fact's lock across attachments.
func (c *Call[E]) lockOf(f Fact[E]) string {
	w, ok := f.(interface{ Within() Ref })
	return thing(Ref(f.Lock()), c.scope, ok && w.Within() == c.scope.Ref)
}

// Apply journals the stage, then creates in order. It may be called for one
// stage after another. After an error the caller calls Rollback.
func (c *Call[E]) Apply(ctx context.Context, stage []Resource[E]) error {
	first, intents, err := c.intents(stage)
	if err != nil {
		return err
	}
	if err := c.entry.append(intents...); err != nil {
		return err
	}
	ctx = c.keep(ctx)
	for i, r := range stage {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("create %s: %w", RefOf(r), err)
		}
		if err := c.create(ctx, first+i, r, intents[i].Body); err != nil {
			return fmt.Errorf("create %s: %w", RefOf(r), err)
		}
	}
	c.unlockFacts()
	return nil
}

// keep has programs that are executed keep the call's locks.
func (c *Call[E]) keep(ctx context.Context) context.Context {
	ctx = c.entry.lock.keep(ctx)
	for _, l := range c.facts {
		ctx = l.keep(ctx)
	}
	return ctx
}

func (c *Call[E]) intents(stage []Resource[E]) (first int, lines []line, err error) {
	first = len(c.entry.records) + 1
	for i, r := range stage {
		body, err := json.Marshal(r)
		if err != nil {
			return 0, nil, fmt.Errorf("encode %s: %w", RefOf(r), err)
		}
		lines = append(lines, line{Intend: first + i, Kind: r.Kind(), Body: body})
		c.entry.records = append(c.entry.records, record{kind: r.Kind(), body: body})
	}
	return first, lines, nil
}

func (c *Call[E]) create(ctx context.Context, n int, r Resource[E], intent json.RawMessage) error {
	if err := c.entry.append(line{Try: n}); err != nil {
		return err
	}
	c.made = append(c.made, numbered[E]{n, r})
	err := c.createSort(ctx, r)
	if err != nil && !IsPartial(err) {
		// Nothing is there that is ours: nothing to roll back, and DEL must
		// not touch what may be another's.
		c.made = c.made[:len(c.made)-1]
		return errors.Join(err, c.entry.append(line{Void: n}))
	}
	body, encErr := json.Marshal(r)
	if encErr == nil && !bytes.Equal(body, intent) {
		encErr = c.entry.append(line{Learned: n, Body: body})
	}
	return errors.Join(err, encErr)
}

func (c *Call[E]) createSort(ctx context.Context, r Resource[E]) error {
	switch r := r.(type) {
	case Shared[E]:
		return c.engine.createShared(ctx, c.env, r, c.thing(r), c.entry)
	case Restored[E]:
		return c.engine.createRestored(ctx, c.env, r, c.thing(r), c.entry)
	default:
		return c.engine.guarded(ctx, r, func(ctx context.Context) error { return r.Create(ctx, c.env) })
	}
}

func (c *Call[E]) thing(r Resource[E]) string {
	made := make([]Resource[E], 0, len(c.made))
	for _, m := range c.made {
		made = append(made, m.r)
	}
	return thing(RefOf(r), c.scope, newPlan(made).inScope(r, c.scope))
}

func (c *Call[E]) unlockFacts() {
	for _, l := range c.facts {
		_ = l.drop() // DEL has its name from the entry
	}
	c.facts = nil
}

// Commit says that the ADD is in force, and lets go of the entry.
func (c *Call[E]) Commit() error {
	if err := c.entry.append(line{Done: true}); err != nil {
		return err
	}
	c.unlockFacts()
	c.entry.Close()
	return nil
}

// Abandon lets go of the entry, and leaves it pending for the next DEL, unless
// the call has ended. It is for a caller that panics.
func (c *Call[E]) Abandon() {
	c.unlockFacts()
	c.entry.Close()
}

// Rollback removes, in reverse, only what this call made. Where all is gone the
// entry goes too; else it stays, for the next DEL or sweep, and the error lists
// what remains.
func (c *Call[E]) Rollback(ctx context.Context) error {
	c.unlockFacts()
	made := make([]Resource[E], 0, len(c.made))
	for _, m := range c.made {
		made = append(made, m.r)
	}
	left := c.engine.remove(c.keep(ctx), c.env, c.scope, made, c.entry)
	if len(left) == 0 {
		return c.engine.close(c.entry)
	}
	c.entry.Close()
	return &RemainingError{Left: left}
}
