package engine

import (
	"context"
	"errors"
	"slices"
	"testing"
)

// guarded looks, while it is made and removed, whether its lock is held.
type guarded struct {
	exclusive
	journal *Journal
	held    []bool
}

func (*guarded) Guard() string { return "the guarded" }

func (g *guarded) look() {
	ctx, cancel := context.WithCancel(context.Background())
	cancel() // no waiting
	lock, err := g.journal.Lock(ctx, g.Guard(), true)
	g.held = append(g.held, errors.Is(err, ErrBusy))
	if err == nil {
		lock.drop()
	}
}

func (g *guarded) Create(ctx context.Context, e env) error {
	g.look()
	return g.exclusive.Create(ctx, e)
}

func (g *guarded) Remove(ctx context.Context, e env) error {
	g.look()
	return g.exclusive.Remove(ctx, e)
}

// TestGuardedThings are made and removed under their lock, and at no other time.
func TestGuardedThings(t *testing.T) {
	t.Parallel()
	n, ctx := testNode(t), context.Background()
	g := &guarded{exclusive: exclusive{base{Name: "g", Owner: "a"}}, journal: n.Journal}
	call, err := n.begin(attach("c1", "s1"), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := call.Apply(ctx, []Resource[env]{g}); err != nil {
		t.Fatal(err)
	}
	g.look()
	if err := call.Rollback(ctx); err != nil {
		t.Fatal(err)
	}
	g.look()
	if want := []bool{true, false, true, false}; !slices.Equal(g.held, want) {
		t.Errorf("held: %v, want %v", g.held, want)
	}
	n.wantClean(t)
}
