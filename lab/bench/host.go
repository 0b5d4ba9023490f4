package main

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"
)

// host is a thread with a network namespace and a mount namespace of its own,
// in which /run and /var/lib are empty. What it executes is in them too. It
// dies with the thread, however the program ends, and leaves nothing behind.
type host struct {
	work       chan func()
	gone       chan struct{}
	containers []string
}

// hiddenInHosts says whether path is one that a host has nothing of.
func hiddenInHosts(path string) bool {
	return strings.HasPrefix(path, "/run/") || strings.HasPrefix(path, "/var/lib/")
}

func newHost() (*host, error) {
	h := &host{work: make(chan func()), gone: make(chan struct{})}
	ready := make(chan error)
	go h.serve(ready)
	return h, <-ready
}

// serve is the thread. It is never unlocked, so that it ends with the goroutine.
func (h *host) serve(ready chan<- error) {
	defer close(h.gone)
	runtime.LockOSThread()
	outside, err := os.Open("/proc/thread-self/ns/net")
	if err == nil {
		defer outside.Close()
		err = becomeHost()
	}
	ready <- err
	if err != nil {
		return
	}
	for f := range h.work {
		f()
	}
	// Go back first: then the namespace is let go of now, not when the thread is reaped.
	_ = unix.Setns(int(outside.Fd()), unix.CLONE_NEWNET)
}

// becomeHost puts the calling thread into namespaces of its own.
func becomeHost() error {
	if err := unix.Unshare(unix.CLONE_FS | unix.CLONE_NEWNS | unix.CLONE_NEWNET); err != nil {
		return fmt.Errorf("make a host's namespaces: %w", err)
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("make mounts private: %w", err)
	}
	for _, dir := range []string{"/run", "/var/lib"} {
		if err := unix.Mount("tmpfs", dir, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=755"); err != nil {
			return fmt.Errorf("empty %s: %w", dir, err)
		}
	}
	if err := unix.Mount("sysfs", "/sys", "sysfs", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""); err != nil {
		return fmt.Errorf("the host's own /sys: %w", err)
	}
	return os.Mkdir("/run/netns", 0o755)
}

// do runs f on the host's thread.
func (h *host) do(f func() error) error {
	done := make(chan error)
	h.work <- func() { done <- f() }
	return <-done
}

// close lets go of the host and its containers. The kernel takes them apart
// later, which settle waits for.
func (h *host) close() {
	_ = h.do(func() error { return h.dropContainers() })
	close(h.work)
	<-h.gone
}

// makeContainers makes n network namespaces that nothing was done in.
func (h *host) makeContainers(n int) error {
	return h.do(func() error {
		return h.away(func() error {
			for range n {
				path := filepath.Join("/run/netns", fmt.Sprintf("c%04d", len(h.containers)))
				if err := makeNamespace(path); err != nil {
					return fmt.Errorf("make the namespace %s: %w", path, err)
				}
				h.containers = append(h.containers, path)
			}
			return nil
		})
	})
}

// makeNamespace leaves the thread in the namespace that it makes.
func makeNamespace(path string) error {
	if err := os.WriteFile(path, nil, 0o444); err != nil {
		return err
	}
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		return err
	}
	return unix.Mount("/proc/thread-self/ns/net", path, "", unix.MS_BIND, "")
}

func (h *host) dropContainers() error {
	for _, path := range h.containers {
		if err := unix.Unmount(path, unix.MNT_DETACH); err != nil {
			return fmt.Errorf("let go of %s: %w", path, err)
		}
		if err := os.Remove(path); err != nil {
			return err
		}
	}
	h.containers = nil
	return nil
}

// away runs f, which may leave the thread in any network namespace, and comes
// back to the host's. It is called on the host's thread.
func (h *host) away(f func() error) error {
	home, err := os.Open("/proc/thread-self/ns/net")
	if err != nil {
		return err
	}
	defer home.Close()
	ferr := f()
	if err := unix.Setns(int(home.Fd()), unix.CLONE_NEWNET); err != nil {
		panic(fmt.Sprintf("cannot come back to the host's namespace: %v", err))
	}
	return ferr
}

// inside runs f in the network namespace at path. It is called on the host's thread.
func (h *host) inside(path string, f func() error) error {
	return h.away(func() error {
		ns, err := os.Open(path)
		if err != nil {
			return err
		}
		defer ns.Close()
		if err := unix.Setns(int(ns.Fd()), unix.CLONE_NEWNET); err != nil {
			return fmt.Errorf("enter %s: %w", path, err)
		}
		return f()
	})
}
