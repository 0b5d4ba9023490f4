package engine

import (
	"context"
	"errors"
	"testing"
)

// toyFact is guarded by a lock, as the choice of a free table is.
type toyFact struct {
	value any
	err   error
}

func (f toyFact) Name() string                           { return "table" }
func (f toyFact) Lock() string                           { return "tables" }
func (f toyFact) Find(context.Context, env) (any, error) { return f.value, f.err }

func TestRule18FactsAreLockedUntilTheChosenIsMade(t *testing.T) {
	t.Parallel()
	n := testNode(t)
	n.w.setScope("1", "alive")
	call, err := n.begin(attach("c", "1"), nil)
	if err != nil {
		t.Fatal(err)
	}
	found, err := call.Facts(t.Context(), []Fact[env]{toyFact{value: 7}})
	if err != nil || string(found["table"]) != "7" {
		t.Fatalf("facts %v, %v", found, err)
	}
	busy := func() bool {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		lock, err := n.Journal.Lock(ctx, "tables", true)
		lock.Unlock()
		return errors.Is(err, ErrBusy)
	}
	if !busy() {
		t.Error("the fact's lock is free before the plan is on disk")
	}
	watch := &mishaps{}
	call.env.plan = watch
	watch.watch = func(string, Ref) {
		if !busy() {
			t.Error("the fact's lock is free before what was chosen is there")
		}
		entries, err := n.Journal.Entries(attach("c", "1").ID)
		if err != nil || len(entries) != 1 || len(entries[0].records) != 1 {
			t.Errorf("no plan on disk: %v", err)
		}
		if string(entries[0].Facts["table"]) != "7" {
			t.Errorf("no facts on disk")
		}
	}
	if err := call.Apply(t.Context(), one(toy("a", ""))); err != nil {
		t.Fatal(err)
	}
	if busy() {
		t.Error("the fact's lock is held though all is made")
	}
	if err := call.Commit(); err != nil {
		t.Fatal(err)
	}
	n.mustDel(t, attach("c", "1"))
	lock, err := n.Journal.Lock(t.Context(), "tables", true)
	if err != nil {
		t.Fatal(err)
	}
	if err := lock.drop(); err != nil {
		t.Error(err)
	}
	n.wantClean(t)
}

// TestRule18LockFileOfADeadADD goes with its entry, whatever else has a lock.
func TestRule18LockFileOfADeadADD(t *testing.T) {
	t.Parallel()
	n := testNode(t)
	n.w.setScope("1", "alive")
	call, err := n.begin(attach("c", "1"), nil)
	if err == nil {
		_, err = call.Facts(t.Context(), []Fact[env]{toyFact{value: 7}})
	}
	if err != nil {
		t.Fatal(err)
	}
	call.facts[0].Unlock() // as if it had died: the file stays
	call.entry.Close()
	n.mustDel(t, attach("c", "1"))
	n.wantClean(t)
}

// scopedFact is a choice within the scope.
type scopedFact struct{ toyFact }

func (scopedFact) Within() Ref { return toyScope }

func TestRule18FactsOfScopesHaveTheirOwnLocks(t *testing.T) {
	t.Parallel()
	n := testNode(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // ends what would wait
	for _, try := range []struct {
		container, scope string
		want             error
	}{{"a", "1", nil}, {"b", "2", nil}, {"c", "1", ErrBusy}} {
		n.w.setScope(try.scope, "alive")
		call, err := n.begin(attach(try.container, try.scope), nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := call.Facts(ctx, []Fact[env]{scopedFact{toyFact{value: 7}}}); !errors.Is(err, try.want) {
			t.Errorf("fact of %s in %s: %v, want %v", try.container, try.scope, err, try.want)
		}
		t.Cleanup(func() { _ = call.Rollback(context.Background()) })
	}
}

func TestFactThatCannotBeFoundEndsTheADD(t *testing.T) {
	t.Parallel()
	n := testNode(t)
	n.w.setScope("1", "alive")
	for _, fact := range []toyFact{{err: errToy}, {value: func() {}}} {
		call, err := n.begin(attach("c", "1"), nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := call.Facts(t.Context(), []Fact[env]{fact}); err == nil {
			t.Error("no error")
		}
		if err := call.Rollback(t.Context()); err != nil {
			t.Error(err)
		}
		n.wantClean(t)
	}
}
