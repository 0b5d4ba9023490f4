package host

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync"

	"golang.org/x/sys/unix"
)

// A Host is a private host. Its methods may be called from any goroutine, but not
// from within a function handed to Do or Inside, nor after Close.
type Host struct {
	work  chan func()
	done  chan struct{} // closed when the thread is about to end
	once  sync.Once     // of Close
	tid   int
	netns int // descriptor of the host's network namespace
	// born are the mounts that the host began with: mount point by ID.
	born map[string]string
}

// New makes a host. It needs root.
func New() (*Host, error) {
	h := &Host{work: make(chan func()), done: make(chan struct{}), netns: -1}
	ready := make(chan error)
	go h.live(ready)
	if err := <-ready; err != nil {
		return nil, fmt.Errorf("make a private host: %w", err)
	}
	return h, nil
}

// live is the host's goroutine. It ends while still locked to its thread, so
// that the runtime ends the thread, and the namespaces with it.
func (h *Host) live(ready chan<- error) {
	runtime.LockOSThread()
	if unix.Gettid() == unix.Getpid() {
		// The first thread can't end, and /proc/self is its view: take
		// another one while this one is held.
		next := make(chan struct{})
		go func() {
			defer close(next)
			h.live(ready)
		}()
		<-next
		runtime.UnlockOSThread()
		return
	}
	defer close(h.done)
	err := h.furnish()
	if h.netns >= 0 {
		defer unix.Close(h.netns)
	}
	ready <- err
	if err != nil {
		return
	}
	for f := range h.work {
		f()
	}
}

func (h *Host) furnish() error {
	h.tid = unix.Gettid()
	if err := unix.Unshare(unix.CLONE_NEWNET | unix.CLONE_NEWNS); err != nil {
		return fmt.Errorf("unshare (root is needed): %w", err)
	}
	if err := mountPrivate(); err != nil {
		return err
	}
	fd, err := unix.Open("/proc/thread-self/ns/net", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("own network namespace: %w", err)
	}
	h.netns = fd
	if h.born, err = mountPoints(); err != nil {
		return err
	}
	if err := pinSysctls(); err != nil {
		return err
	}
	return setUp("lo")
}

// Close kills what still runs in the host, and ends it: the kernel takes its
// namespaces apart a moment later.
func (h *Host) Close() error {
	var err error
	h.once.Do(func() {
		err = h.killAll()
		close(h.work)
		<-h.done
	})
	return err
}

// Do runs f on the host's thread and waits for it. Children that f starts
// inherit the host's namespaces. f must not end its goroutine; a panic in it
// comes out of Do.
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
func (h *Host) NetnsPath() string { return h.own("ns/net") }

// own is a file of the host's thread in /proc.
func (h *Host) own(file string) string {
	return fmt.Sprintf("/proc/%d/task/%d/%s", os.Getpid(), h.tid, file)
}

// killAll kills the processes of the host until there is none.
func (h *Host) killAll() error {
	for range 100 {
		list, err := h.Processes()
		if err != nil || len(list) == 0 {
			return err
		}
		for _, p := range list {
			if err := p.kill(); err != nil {
				return err
			}
		}
	}
	return errors.New("close a private host: its processes start others quicker than they can be killed")
}
