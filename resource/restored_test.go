package resource

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-net/fairlead/engine"
)

// restoredTest is a kind under test that changes what was there.
type restoredTest struct {
	setup func(t *testing.T, env Env)
	fresh func() engine.Restored[Env]
	// value is what the kind changes.
	value func(t *testing.T, env Env) string
}

// set does what the engine does at ADD.
func (k restoredTest) set(r engine.Restored[Env], env Env) error {
	if err := r.Save(context.Background(), env); err != nil {
		return err
	}
	return r.Create(context.Background(), env)
}

func (k restoredTest) env(t *testing.T) Env {
	t.Helper()
	env := newEnv(t)
	k.setup(t, env)
	return env
}

func (k restoredTest) wants(t *testing.T, env Env, want string) {
	t.Helper()
	if got := k.value(t, env); got != want {
		t.Fatalf("it is %q, want %q", got, want)
	}
}

// testRestored puts a kind through its life, then lets each call to the kernel
// fail in turn.
func testRestored(t *testing.T, k restoredTest) {
	t.Helper()
	t.Run("life", func(t *testing.T) { t.Parallel(); k.life(t) })
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

func (k restoredTest) life(t *testing.T) {
	ctx := context.Background()
	env := k.env(t)
	before, picture0 := k.value(t, env), picture(t, env)
	r := k.fresh()
	wantState(t, env, r, engine.IsDrifted)
	noError(t, k.set(r, env))
	wantState(t, env, r, engine.IsPresent)
	wantState(t, env, journaled(t, r), engine.IsPresent)
	after := k.value(t, env)
	if after == before {
		t.Fatalf("it is %q as before", after)
	}

	// A second holder found our value, and inherits the first one.
	second := k.fresh()
	noError(t, k.set(second, env))
	k.wants(t, env, after)
	noError(t, second.Inherit(journaled(t, r)))
	again := journaled(t, second)
	for range 2 {
		noError(t, again.Remove(ctx, env))
		wantState(t, env, again, engine.IsDrifted)
		k.wants(t, env, before)
	}
	if diff := cmp.Diff(picture0, picture(t, env)); diff != "" {
		t.Errorf("not as before (-want +got):\n%s", diff)
	}
	if err := second.Inherit(&Settled{}); err == nil {
		t.Error("it inherits of another kind")
	}

	// Without a journal nothing is known, and nothing done.
	noError(t, k.set(k.fresh(), env))
	noError(t, k.fresh().Remove(ctx, env))
	k.wants(t, env, after)
}

func (k restoredTest) createFails(t *testing.T, env Env, n int, mode faultMode) bool {
	t.Helper()
	ctx := context.Background()
	before := k.value(t, env)
	r := k.fresh()
	faulty, fired := mode.failing(env, n)
	err := k.set(r, faulty)
	switch {
	case !fired():
		noError(t, err)
		noError(t, r.Remove(ctx, env))
		k.wants(t, env, before)
		return false
	case err == nil:
		t.Fatalf("call %d failed, and Create says success", n)
	case engine.IsPartial(err):
		noError(t, journaled(t, r).Remove(ctx, env))
	}
	k.wants(t, env, before)
	return true
}

func (k restoredTest) removeFails(t *testing.T, env Env, n int, mode faultMode) bool {
	t.Helper()
	ctx := context.Background()
	before := k.value(t, env)
	r := k.fresh()
	noError(t, k.set(r, env))
	again := journaled(t, r)
	faulty, fired := mode.failing(env, n)
	err := again.Remove(ctx, faulty)
	if !fired() {
		noError(t, err)
		return false
	}
	if err == nil {
		k.wants(t, env, before)
	}
	kindTest{}.observeFails(t, env, again, mode)
	noError(t, again.Remove(ctx, env))
	k.wants(t, env, before)
	return true
}
