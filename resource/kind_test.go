package resource

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-net/fairlead/engine"
)

// kindTest is a kind under test.
type kindTest struct {
	// setup makes what must be there before.
	setup func(t *testing.T, env Env)
	fresh func() Resource
	// gone is what Observe finds after Remove, if not that it is absent.
	gone engine.Presence
	// calm leaves out the failures: another test makes the same calls.
	calm bool
}

func (k kindTest) env(t *testing.T) Env {
	t.Helper()
	env := newEnv(t)
	if k.setup != nil {
		k.setup(t, env)
	}
	return env
}

func (k kindTest) wantGone(t *testing.T, env Env, r Resource) {
	t.Helper()
	want := k.gone
	if want == 0 {
		want = engine.IsAbsent
	}
	wantState(t, env, r, want)
}

// testKind puts an exclusive kind through its life, then lets each call to the
// kernel fail in turn.
func testKind(t *testing.T, k kindTest) {
	t.Helper()
	t.Run("life", func(t *testing.T) { t.Parallel(); k.life(t) })
	if k.calm {
		return
	}
	for _, mode := range faultModes {
		t.Run(mode.name, func(t *testing.T) {
			t.Parallel()
			env := k.env(t)
			n := 1
			for k.createFails(t, env, n, mode) {
				n++
			}
			n = 1
			for k.removeFails(t, env, n, mode) {
				n++
			}
		})
	}
}

// create is Create, and Save before it, as the engine calls them.
func create(ctx context.Context, env Env, r Resource) error {
	if restored, ok := r.(engine.Restored[Env]); ok {
		if err := restored.Save(ctx, env); err != nil {
			return err
		}
	}
	return r.Create(ctx, env)
}

func (k kindTest) life(t *testing.T) {
	ctx := context.Background()
	env := k.env(t)
	before := picture(t, env)
	r := k.fresh()
	k.wantGone(t, env, r)
	noError(t, create(ctx, env, r))
	wantState(t, env, r, engine.IsPresent)
	wantState(t, env, journaled(t, r), engine.IsPresent)
	after := picture(t, env)
	if err := create(ctx, env, k.fresh()); err != nil && (!engine.IsConflict(err) && !errors.Is(err, errNoLink) || engine.IsPartial(err)) {
		t.Fatalf("Create again: %v, want nil or a conflict that left nothing", err)
	}
	wantPicture(t, env, after)
	r = journaled(t, r)
	for range 2 {
		noError(t, r.Remove(ctx, env))
		k.wantGone(t, env, r)
		wantPicture(t, env, before)
	}
}

// createFails leaves env as it was. It is false when there was no n-th call.
func (k kindTest) createFails(t *testing.T, env Env, n int, mode faultMode) bool {
	t.Helper()
	ctx := context.Background()
	before := picture(t, env)
	r := k.fresh()
	faulty, fired := mode.failing(env, n)
	err := create(ctx, faulty, r)
	switch {
	case !fired():
		noError(t, err)
		noError(t, r.Remove(ctx, env))
		wantPicture(t, env, before)
		return false
	case err == nil:
		t.Fatalf("call %d failed, and Create says success", n)
	case engine.IsPartial(err):
		noError(t, journaled(t, r).Remove(ctx, env))
	}
	wantPicture(t, env, before)
	return true
}

// removeFails leaves env as it was. It is false when there was no n-th call.
func (k kindTest) removeFails(t *testing.T, env Env, n int, mode faultMode) bool {
	t.Helper()
	ctx := context.Background()
	before := picture(t, env)
	r := k.fresh()
	noError(t, create(ctx, env, r))
	r = journaled(t, r)
	faulty, fired := mode.failing(env, n)
	err := r.Remove(ctx, faulty)
	if !fired() {
		noError(t, err)
		return false
	}
	if err == nil {
		k.wantGone(t, env, r)
		wantPicture(t, env, before)
	}
	k.observeFails(t, env, r, mode)
	noError(t, r.Remove(ctx, env))
	k.wantGone(t, env, r)
	wantPicture(t, env, before)
	return true
}

// observeFails asks that what was not found out is not told as found (case 17).
func (k kindTest) observeFails(t *testing.T, env Env, r Resource, mode faultMode) {
	t.Helper()
	for n := 1; ; n++ {
		faulty, fired := mode.failing(env, n)
		state, err := r.Observe(context.Background(), faulty)
		if !fired() {
			noError(t, err)
			return
		}
		if err == nil {
			t.Fatalf("call %d failed, and Observe says %v", n, state)
		}
	}
}

// testEnsured does the same for a kind that stays: whatever fails, the next
// call completes it, and it is the same in the end.
func testEnsured(t *testing.T, k kindTest) {
	t.Helper()
	ctx := context.Background()
	whole := func(t *testing.T, env Env) []string {
		t.Helper()
		for range 2 {
			r := k.fresh()
			if _, ok := r.(engine.Ensured); !ok {
				t.Fatalf("%s is not ensured", r.Kind())
			}
			noError(t, r.Create(ctx, env))
			wantState(t, env, r, engine.IsPresent)
			wantState(t, env, journaled(t, r), engine.IsPresent)
		}
		return picture(t, env)
	}
	t.Run("life", func(t *testing.T) { t.Parallel(); whole(t, k.env(t)) })
	for _, mode := range faultModes {
		t.Run("create/"+mode.name, func(t *testing.T) {
			t.Parallel()
			want := whole(t, k.env(t))
			for n := 1; ; n++ {
				env := k.env(t)
				faulty, fired := failing(env, n, mode.after, mode.err)
				err := k.fresh().Create(ctx, faulty)
				if !fired() {
					noError(t, err)
					return
				}
				k.observeFails(t, env, k.fresh(), mode)
				if diff := cmp.Diff(want, whole(t, env)); diff != "" {
					t.Fatalf("after call %d had failed (-want +got):\n%s", n, diff)
				}
			}
		})
	}
}
