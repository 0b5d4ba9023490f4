package kernel

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

// TestNoThreadLeftInside runs before the parallel tests, or theirs would be
// found inside.
func TestNoThreadLeftInside(t *testing.T) {
	home, err := os.Readlink("/proc/self/ns/net")
	must(t, err)
	a, b := newNS(t), newNS(t)
	var wg sync.WaitGroup
	for i := range 32 {
		wg.Go(func() {
			for range 8 {
				for _, n := range []*Namespace{a, b} {
					err := n.Do(func() error {
						if err := checkInside(n); err != nil {
							return err
						}
						// From within one into the other, and back.
						if err := b.Do(func() error { return checkInside(b) }); err != nil {
							return err
						}
						runtime.Gosched()
						return checkInside(n)
					})
					if err != nil {
						t.Error(err)
					}
				}
				if i%8 == 0 {
					doPanics(t, a)
				}
			}
		})
	}
	wg.Wait()
	threadsAt(t, home)
}

var errElsewhere = errors.New("the thread is elsewhere")

func checkInside(n *Namespace) error {
	var st unix.Stat_t
	if err := unix.Stat(selfPath, &st); err != nil {
		return err
	}
	if (identity{st.Dev, st.Ino}) != n.id {
		return errElsewhere
	}
	return nil
}

func threadsAt(t *testing.T, home string) {
	t.Helper()
	all, err := filepath.Glob("/proc/self/task/*/ns/net")
	must(t, err)
	if len(all) < 2 {
		t.Fatalf("%d threads", len(all))
	}
	for _, path := range all {
		at, err := os.Readlink(path)
		if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ESRCH) {
			continue // ended
		}
		if err != nil || at != home {
			t.Errorf("%s is in %s, want %s: %v", path, at, home, err)
		}
	}
}

func doPanics(t *testing.T, n *Namespace) {
	defer func() {
		if got := recover(); got != "overboard" {
			t.Errorf("recovered %v", got)
		}
	}()
	_ = n.Do(func() error { panic("overboard") })
	t.Error("the panic was lost")
}

// TestThreadThatStraysIsNotReused: a function that takes the thread elsewhere,
// and one that ends its goroutine, leave no thread astray.
func TestThreadThatStraysIsNotReused(t *testing.T) {
	home, err := os.Readlink("/proc/self/ns/net")
	must(t, err)
	n := newNS(t)
	for range 20 {
		must(t, n.Do(func() error { return unix.Unshare(unix.CLONE_NEWNET) }))
		done := make(chan bool)
		go func() {
			defer close(done)
			_ = n.Do(func() error { runtime.Goexit(); return nil })
			t.Error("a goroutine that ended went on")
		}()
		<-done
	}
	threadsAt(t, home)
}

func TestDoReturnsWhatItGets(t *testing.T) {
	t.Parallel()
	n := newNS(t)
	if err := n.Do(func() error { return errElsewhere }); !errors.Is(err, errElsewhere) {
		t.Error(err)
	}
	err := n.Do(func() error { return unix.EBUSY })
	if !Busy(err) {
		t.Error(err)
	}
	contains(t, err, "netns.do", n.Name())
}

// TestDoAtHomeStaysOnTheThread: no other thread is needed where one is already.
func TestDoAtHomeStaysOnTheThread(t *testing.T) {
	t.Parallel()
	host, err := Host()
	must(t, err)
	defer host.Close()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	tid := unix.Gettid()
	must(t, host.Do(func() error {
		if unix.Gettid() != tid {
			t.Error("another thread")
		}
		return nil
	}))
}
