package engine

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// A lock's file may go with its holder: who waited for it takes the next.
func TestRule18LocksWhoseFilesGo(t *testing.T) {
	t.Parallel()
	n := testNode(t)
	var all sync.WaitGroup
	var alone, together atomic.Int32
	for i := range 8 {
		all.Go(func() {
			for range 100 {
				lock, err := n.Journal.Lock(context.Background(), "l", i%2 == 0)
				if err != nil {
					t.Error(err)
					return
				}
				if i%2 != 0 {
					together.Add(1)
					runtime.Gosched()
					if alone.Load() != 0 {
						t.Error("shared and exclusive at once")
					}
					together.Add(-1)
					lock.Unlock()
					continue
				}
				for range 3 { // the others' turn
					runtime.Gosched()
				}
				if alone.Add(1) != 1 || together.Load() != 0 {
					t.Error("exclusive, and not alone")
				}
				runtime.Gosched()
				alone.Add(-1)
				if err := lock.drop(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	lock, err := n.Journal.Lock(context.Background(), "l", true)
	if err != nil {
		t.Fatal(err)
	}
	if err := lock.drop(); err != nil {
		t.Error(err)
	}
	n.wantClean(t)
}

func TestLockWaitsAsLongAsItsContext(t *testing.T) {
	t.Parallel()
	n := testNode(t)
	held, err := n.Journal.Lock(t.Context(), "l", true)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := n.Journal.Lock(ctx, "l", false); !errors.Is(err, ErrBusy) {
		t.Errorf("%v, want ErrBusy", err)
	}
	got := make(chan error)
	go func() {
		lock, err := n.Journal.Lock(context.Background(), "l", false)
		lock.Unlock()
		got <- err
	}()
	held.Unlock()
	held.Unlock()
	if err := <-got; err != nil {
		t.Error(err)
	}
	// The wait that was given up has let go of the lock that it got.
	again, err := n.Journal.Lock(context.Background(), "l", true)
	if err != nil {
		t.Error(err)
	}
	again.Unlock()
}

// A process that another goroutine is forking has our descriptors for a moment:
// a lock that was let go of is free all the same.
func TestLockIsFreeThoughItsDescriptorWasInherited(t *testing.T) {
	t.Parallel()
	n := testNode(t)
	lock, err := n.Journal.Lock(t.Context(), "l", true)
	if err != nil {
		t.Fatal(err)
	}
	inherited, err := unix.Dup(int(lock.f.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(inherited)
	lock.Unlock()
	now, cancel := context.WithCancel(t.Context())
	cancel()
	again, err := n.Journal.Lock(now, "l", true)
	if err != nil {
		t.Fatal(err)
	}
	again.Unlock()
}
