package host

import (
	"fmt"
	"os"
	"runtime"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

// A Host is a private host: one thread in network and mount namespaces of its
// own. It ends with its test. Its methods may be called from any goroutine,
// but not from within a function handed to Do.
type Host struct {
	t     testing.TB
	work  chan func()
	tid   int
	netns int // descriptor of the host's network namespace
	// inherited are the mounts that the host began with, the machine's.
	inherited map[string]bool

	mu    sync.Mutex
	spare int // numbers generated names
}

// New makes a host. It needs root; without, the test fails.
func New(t testing.TB) *Host {
	t.Helper()
	h := &Host{t: t, work: make(chan func()), netns: -1}
	ready := make(chan error)
	done := make(chan struct{})
	go h.live(ready, done)
	if err := <-ready; err != nil {
		t.Fatalf("making a test host: %v", err)
	}
	t.Cleanup(func() {
		close(h.work)
		<-done
	})
	return h
}

// live is the host's goroutine. It ends while still locked to its thread, so
// that the runtime ends the thread, and the namespaces with it.
func (h *Host) live(ready chan<- error, done chan<- struct{}) {
	runtime.LockOSThread()
	if unix.Gettid() == unix.Getpid() {
		// The first thread can't end, and /proc/self is its view: take
		// another one while this one is held.
		next := make(chan struct{})
		go func() {
			defer close(next)
			h.live(ready, done)
		}()
		<-next
		runtime.UnlockOSThread()
		return
	}
	defer close(done)
	if err := h.furnish(); err != nil {
		ready <- err
		return
	}
	defer unix.Close(h.netns)
	ready <- nil
	for f := range h.work {
		f()
	}
}

func (h *Host) furnish() error {
	h.tid = unix.Gettid()
	if err := unix.Unshare(unix.CLONE_NEWNET | unix.CLONE_NEWNS); err != nil {
		return fmt.Errorf("unshare (tests need root): %w", err)
	}
	if err := mountPrivate(); err != nil {
		return err
	}
	fd, err := unix.Open("/proc/thread-self/ns/net", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("own network namespace: %w", err)
	}
	h.netns = fd
	mounts, err := mountTable()
	if err != nil {
		return err
	}
	h.inherited = map[string]bool{}
	for id := range mounts {
		h.inherited[id] = true
	}
	if err := forwardNothing(); err != nil {
		return err
	}
	return setUp("lo")
}

// forwardNothing: a new namespace takes these over from the machine's own, and a
// test must not depend on what that has.
func forwardNothing() error {
	for _, name := range []string{"ipv4/ip_forward", "ipv6/conf/all/forwarding"} {
		if err := os.WriteFile("/proc/sys/net/"+name, []byte("0"), 0); err != nil {
			return fmt.Errorf("forward nothing: %w", err)
		}
	}
	return nil
}

// Do runs f on the host's thread and waits for it. Children that f starts
// inherit the host's namespaces. f must not end its goroutine (t.Fatal); a
// panic in it comes out of Do.
func (h *Host) Do(f func()) {
	finished := make(chan any)
	h.work <- func() {
		var panicked any
		defer func() { finished <- panicked }()
		defer func() { panicked = recover() }()
		f()
	}
	if p := <-finished; p != nil {
		panic(p)
	}
}

// NetnsPath is the host's own network namespace, usable from any thread of
// this process and from its children.
func (h *Host) NetnsPath() string {
	return fmt.Sprintf("/proc/%d/task/%d/ns/net", os.Getpid(), h.tid)
}

// fresh returns a name that this host has not given out before.
func (h *Host) fresh(prefix string) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.spare++
	return fmt.Sprintf("%s%d", prefix, h.spare)
}

// InVM tells whether the test runs in the virtual machine, whose kernel has
// every link kind.
func InVM() bool { return os.Getenv("FAIRLEAD_VM") == "1" }
