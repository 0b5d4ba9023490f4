package engine

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/fairlead-net/fairlead/attachment"
)

// guarded looks, while it is made and removed, whether its lock is held.
type guarded struct {
	exclusive
	journal *Journal
	held    []bool
	during  func() // while it is removed
}

func (*guarded) Guard() string { return "the guarded" }

func (g *guarded) look() {
	ctx, cancel := context.WithCancel(context.Background())
	cancel() // no waiting
	lock, err := g.journal.Lock(ctx, g.Guard(), true)
	g.held = append(g.held, errors.Is(err, ErrBusy))
	if err == nil {
		_ = lock.drop()
	}
}

func (g *guarded) Create(ctx context.Context, e env) error {
	g.look()
	return g.exclusive.Create(ctx, e)
}

func (g *guarded) Remove(ctx context.Context, e env) error {
	g.look()
	if g.during != nil {
		g.during()
	}
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

// TestGuardsFileThatStaysIsSaid, and a removal that is called again takes it.
func TestGuardsFileThatStaysIsSaid(t *testing.T) {
	t.Parallel()
	n, ctx := testNode(t), context.Background()
	g := &guarded{exclusive: exclusive{base{Name: "g", Owner: "a"}}, journal: n.Journal}
	call, err := n.begin(attach("c1", "s1"), nil)
	if err == nil {
		err = call.Apply(ctx, []Resource[env]{g})
	}
	if err != nil {
		t.Fatal(err)
	}
	// What can't be removed as a file is a directory with something in it.
	path := filepath.Join(n.Journal.Root(), "locks", attachment.Digest(g.Guard()))
	g.during = func() {
		if err := errors.Join(os.Remove(path), os.MkdirAll(filepath.Join(path, "x"), 0o700)); err != nil {
			t.Error(err)
		}
	}
	var remains *RemainingError
	if err := call.Rollback(ctx); !errors.As(err, &remains) {
		t.Errorf("removed: %v", err)
	}
	g.during = nil
	if err := os.RemoveAll(path); err != nil {
		t.Fatal(err)
	}
	n.mustDel(t, attach("c1", "s1"))
	n.wantClean(t)
}
