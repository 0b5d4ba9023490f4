package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/fairlead-net/fairlead/program"
)

// A Lock is a flock(2) on a file of the state directory. It ends with the
// process, however that ends, and with the programs that it executes under it
// (see keep).
type Lock struct {
	f *os.File
	// standsIn says that f is the state directory, in the place of a file that
	// there is no room for.
	standsIn bool
}

// Unlock lets go. A second call does nothing.
func (l *Lock) Unlock() {
	if l == nil || l.f == nil {
		return
	}
	// Closing alone would not do while another goroutine forks: its child has
	// the descriptor too, until it executes. Nothing was written.
	_ = flockNow(l.f, unix.LOCK_UN)
	_ = l.f.Close()
	l.f = nil
}

// keep is a context for what is done under the lock: programs that are executed
// under it keep it, should this process die before them.
func (l *Lock) keep(ctx context.Context) context.Context {
	if l == nil || l.f == nil {
		return ctx
	}
	return program.Hold(ctx, l.f)
}

// drop lets go of a lock that is held exclusively, and of its file: whoever
// waits for it notices, and makes another.
func (l *Lock) drop() error {
	defer l.Unlock()
	if l.standsIn {
		return nil
	}
	if err := os.Remove(l.f.Name()); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("remove the lock's file: %w", err)
	}
	return nil
}

// lockWait bounds how long a call waits for a lock that another holds. It is
// well under what runtimes give a whole call.
const lockWait = 30 * time.Second

// flock takes the lock how (LOCK_SH or LOCK_EX) on f; waiting ends with ctx, or
// after lockWait, and is then ErrBusy. On failure f is closed: a waiter that was
// given up may still get the lock, and must let it go.
func flock(ctx context.Context, f *os.File, how int) (*Lock, error) {
	err := flockNow(f, how)
	if err == nil {
		return &Lock{f: f}, nil
	}
	if !errors.Is(err, unix.EWOULDBLOCK) {
		name := f.Name()
		_ = f.Close()
		return nil, fmt.Errorf("lock %s: %w", name, err)
	}
	if errors.Is(ctx.Err(), context.Canceled) { // the caller does not wait at all
		_ = f.Close()
		return nil, fmt.Errorf("lock %s: %w", f.Name(), ErrBusy)
	}
	return flockWait(ctx, f, how)
}

func flockWait(ctx context.Context, f *os.File, how int) (*Lock, error) {
	ctx, cancel := context.WithTimeout(ctx, lockWait)
	defer cancel()
	got := make(chan error, 1)
	go func() { got <- retryEINTR(func() error { return unix.Flock(int(f.Fd()), how) }) }()
	select {
	case err := <-got:
		if err != nil {
			_ = f.Close()
			return nil, fmt.Errorf("lock %s: %w", f.Name(), err)
		}
		return &Lock{f: f}, nil
	case <-ctx.Done():
		busy := heldBy(f)
		go func() {
			if err := <-got; err != nil {
				_ = f.Close()
				return
			}
			(&Lock{f: f}).Unlock()
		}()
		return nil, busy
	}
}

func flockNow(f *os.File, how int) error {
	return retryEINTR(func() error { return unix.Flock(int(f.Fd()), how|unix.LOCK_NB) })
}

func retryEINTR(call func() error) error {
	for {
		if err := call(); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}
