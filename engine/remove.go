package engine

import (
	"context"
	"fmt"
	"slices"
)

// RemoveEntry undoes what a locked entry records, in the places that Enter
// opens for it. With all gone the entry goes; else it stays, unlocked, and the
// error is a RemainingError.
func (e *Engine[E]) RemoveEntry(ctx context.Context, entry *Entry) error {
	defer entry.Close() // also where a resource panics
	env, scope, leave, err := e.Enter(ctx, entry.Header)
	if err != nil {
		return err
	}
	defer leave()
	ctx = entry.lock.keep(ctx)
	list, err := e.Codec.Decode(entry)
	if err != nil {
		return err
	}
	if entry.Done {
		// Half of it is not in force. A full disk must not stop the removal.
		_ = entry.append(line{Undo: true})
	}
	if left := e.remove(ctx, env, scope, list, entry); len(left) > 0 {
		return &RemainingError{Left: left}
	}
	return e.close(entry)
}

// close ends an entry of which nothing is left.
func (e *Engine[E]) close(entry *Entry) error {
	for _, name := range entry.locks {
		if err := e.Journal.dropFree(name); err != nil {
			entry.Close()
			return err
		}
	}
	return entry.remove()
}

// RemovePlan removes what a plan states, without a journal entry of it.
func (e *Engine[E]) RemovePlan(ctx context.Context, env E, scope Scope, list []Resource[E]) error {
	return remaining(e.remove(ctx, env, scope, list, nil))
}

// fate is what became of a resource in a removal.
type fate int

const (
	pending fate = iota
	gone
	stayed // it is not DEL's to remove
	failed
)

// removal is one run over a plan, in reverse. What lives in another thing of
// the plan goes with it (rule 5); what is needed by another waits for that one,
// and is kept where that one could not be removed (rule 4). All else is tried.
type removal[E any] struct {
	engine *Engine[E]
	env    E
	scope  Scope
	entry  *Entry
	plan   plan[E]
	refs   []Ref
	rests  map[Ref][]int // who needs it
	fates  []fate
	singly []bool // to be taken out of what it lives in, which waits for it
	left   []Remaining
}

func (e *Engine[E]) remove(ctx context.Context, env E, scope Scope, list []Resource[E], entry *Entry) []Remaining {
	run := &removal[E]{
		engine: e, env: env, scope: scope, entry: entry,
		plan: newPlan(list), rests: make(map[Ref][]int),
		fates: make([]fate, len(list)), singly: make([]bool, len(list)),
	}
	for i, r := range list {
		run.refs = append(run.refs, RefOf(r))
		for _, ref := range needs(r) {
			run.rests[ref] = append(run.rests[ref], i)
		}
	}
	for slices.Contains(run.fates, pending) {
		if !run.pass(ctx) {
			run.breakCircle(ctx)
		}
	}
	return run.left
}

// pass goes once over what is pending, from the last to the first, and tells
// whether anything came of it.
func (run *removal[E]) pass(ctx context.Context) bool {
	progress := false
	for i := len(run.plan.list) - 1; i >= 0; i-- {
		if run.fates[i] == pending && run.step(ctx, i) {
			progress = true
		}
	}
	return progress
}

// step decides about one resource, if that can be decided yet.
func (run *removal[E]) step(ctx context.Context, i int) bool {
	r := run.plan.list[i]
	if _, ok := r.(Ensured); ok {
		run.fates[i] = stayed
		return true
	}
	if run.scope.Gone && run.plan.inScope(r, run.scope) {
		run.vanish(ctx, i)
		return true
	}
	if c := run.plan.container(r); c >= 0 && !run.singly[i] {
		switch run.fates[c] {
		case pending:
			return false
		case gone:
			run.vanish(ctx, i)
			return true
		case stayed, failed:
			// It stays, so what is in it must go by itself.
		}
	}
	blocker, wait := run.needed(i)
	if wait {
		return false
	}
	if blocker != "" {
		run.fail(i, fmt.Errorf("kept, since %s could not be removed", blocker))
		return true
	}
	run.removeNow(ctx, i)
	return true
}

// needed tells whether another resource still rests on i: one that is pending
// (wait), or one that failed (blocker).
func (run *removal[E]) needed(i int) (blocker Ref, wait bool) {
	for _, k := range run.rests[run.refs[i]] {
		switch run.fates[k] {
		case pending:
			wait = wait || k != i
		case failed:
			blocker = run.refs[k]
		case gone, stayed:
		}
	}
	return blocker, wait
}

// vanish records that i went with what it lived in; a use of a shared thing
// must still be ended.
func (run *removal[E]) vanish(ctx context.Context, i int) {
	r := run.plan.list[i]
	run.fates[i] = gone
	if err := run.engine.forget(ctx, r, run.thing(r), run.entry); err != nil {
		run.fail(i, err)
	}
}

func (e *Engine[E]) forget(ctx context.Context, r Resource[E], thing string, entry *Entry) error {
	switch r.(type) {
	case Shared[E], Restored[E]:
	default:
		return nil
	}
	if e.Journal == nil || entry == nil {
		return nil
	}
	return e.endUse(ctx, thing, entry)
}

func (run *removal[E]) removeNow(ctx context.Context, i int) {
	r := run.plan.list[i]
	var err error
	switch r := r.(type) {
	case Shared[E]:
		err = run.engine.removeShared(ctx, run.env, r, run.thing(r), run.entry)
	case Restored[E]:
		err = run.engine.removeRestored(ctx, run.env, r, run.thing(r), run.entry)
	default:
		err = run.engine.guarded(ctx, r, func(ctx context.Context) error { return r.Remove(ctx, run.env) })
	}
	if err != nil {
		run.fail(i, err)
		return
	}
	run.fates[i] = gone
}

func (run *removal[E]) fail(i int, err error) {
	run.fates[i] = failed
	run.left = append(run.left, Remaining{Ref: run.refs[i], Err: err})
}

func (run *removal[E]) thing(r Resource[E]) string {
	return thing(RefOf(r), run.scope, run.plan.inScope(r, run.scope))
}
