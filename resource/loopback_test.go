package resource

import (
	"context"
	"net/netip"
	"slices"
	"testing"

	"github.com/fairlead-net/fairlead/engine"
	"github.com/fairlead-net/fairlead/kernel"
)

func TestLoopback(t *testing.T) {
	t.Parallel()
	testKind(t, kindTest{fresh: func() Resource { return &Loopback{Saved: true} }, gone: engine.IsDrifted})
}

func TestLoopbackAddresses(t *testing.T) {
	t.Parallel()
	env := newEnv(t)
	l := &Loopback{}
	made(t, env, l)
	want := []netip.Prefix{netip.MustParsePrefix("127.0.0.1/8"), netip.MustParsePrefix("::1/128")}
	if !slices.Equal(l.Addresses, want) {
		t.Errorf("%v, want %v", l.Addresses, want)
	}
	if again, ok := journaled(t, l).(*Loopback); !ok || !slices.Equal(again.Addresses, want) {
		t.Errorf("%v", again)
	}
}

// Of two holders the last one puts it down, in whatever order they go.
func TestLoopbackIsPutBack(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	env := newEnv(t)
	one, two := &Loopback{}, &Loopback{}
	for _, l := range []*Loopback{one, two} {
		noError(t, l.Save(ctx, env))
		made(t, env, l)
	}
	if one.WasUp || !two.WasUp {
		t.Errorf("saved: %t, %t", one.WasUp, two.WasUp)
	}
	noError(t, two.Remove(ctx, env))
	wantState(t, env, one, engine.IsPresent)
	noError(t, two.Inherit(one))
	noError(t, two.Remove(ctx, env))
	wantState(t, env, one, engine.IsDrifted)
	if err := two.Inherit(&LinkUp{}); err == nil {
		t.Error("inherited from another kind")
	}
}

func TestLoopbackWithAnotherAddress(t *testing.T) {
	t.Parallel()
	env := newEnv(t)
	noError(t, env.Container.AddAddress(kernel.Address{
		Link: link(t, env.Container, "lo").Index, Prefix: netip.MustParsePrefix("10.1.0.1/32"),
	}))
	before := picture(t, env)
	l := &Loopback{Saved: true}
	if err := l.Create(context.Background(), env); !engine.IsConflict(err) || !engine.IsPartial(err) {
		t.Errorf("Create: %v", err)
	}
	noError(t, l.Remove(context.Background(), env))
	wantPicture(t, env, before)
}

// Without a journal nobody knows whose namespace this is by now: a late DEL must
// not put down the lo of a container that came after (case 15).
func TestCase15LoopbackWithoutJournal(t *testing.T) {
	t.Parallel()
	env := newEnv(t)
	made(t, env, &Loopback{})
	before := picture(t, env)
	noError(t, (&Loopback{}).Remove(t.Context(), env))
	wantPicture(t, env, before)
}
