package host

import (
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

const netnsDir = "/run/netns"

// setUp brings a link of the calling thread's namespace up.
func setUp(link string) error {
	s, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(s)
	req, err := unix.NewIfreq(link)
	if err != nil {
		return err
	}
	req.SetUint16(unix.IFF_UP)
	if err := unix.IoctlIfreq(s, unix.SIOCSIFFLAGS, req); err != nil {
		return fmt.Errorf("setting %s up: %w", link, err)
	}
	return nil
}

// Netns makes the network namespace of a container and returns its path,
// /run/netns/NAME, which exists in this host only.
func (h *Host) Netns(name string) string {
	h.t.Helper()
	path := filepath.Join(netnsDir, name)
	var err error
	h.Do(func() { err = h.makeNetns(path) })
	if err != nil {
		h.t.Fatalf("host: namespace %s: %v", name, err)
	}
	return path
}

func (h *Host) makeNetns(path string) (err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL, 0o444)
	if err != nil {
		return err
	}
	f.Close()
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		return err
	}
	defer h.comeBack()
	return unix.Mount("/proc/thread-self/ns/net", path, "", unix.MS_BIND, "")
}

// comeBack puts the host's thread into the host's namespace again. A thread
// that can't return is of no use to any test.
func (h *Host) comeBack() {
	if err := unix.Setns(h.netns, unix.CLONE_NEWNET); err != nil {
		panic(fmt.Sprintf("host: no way back into its namespace: %v", err))
	}
}

// DeleteNetns takes a container's namespace away, as a runtime does: nothing
// is left at its path. The kernel destroys what is in it a moment later.
func (h *Host) DeleteNetns(path string) {
	h.t.Helper()
	var err error
	h.Do(func() {
		if err = unix.Unmount(path, unix.MNT_DETACH); err == nil {
			err = os.Remove(path)
		}
	})
	if err != nil {
		h.t.Fatalf("host: deleting namespace %s: %v", path, err)
	}
}

// Inside runs f on the host's thread, within the namespace at path. As in Do,
// f must not end its goroutine.
func (h *Host) Inside(path string, f func()) {
	h.t.Helper()
	var err error
	h.Do(func() {
		var fd int
		fd, err = unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err != nil {
			return
		}
		defer unix.Close(fd)
		if err = unix.Setns(fd, unix.CLONE_NEWNET); err != nil {
			return
		}
		defer h.comeBack()
		f()
	})
	if err != nil {
		h.t.Fatalf("host: entering %s: %v", path, err)
	}
}

// RemoveNetns is DeleteNetns for a path that may be gone already, or be no
// namespace any more.
func (h *Host) RemoveNetns(path string) {
	h.t.Helper()
	var err error
	h.Do(func() {
		_ = unix.Unmount(path, unix.MNT_DETACH) // EINVAL: a plain file
		if err = os.Remove(path); os.IsNotExist(err) {
			err = nil
		}
	})
	if err != nil {
		h.t.Fatalf("host: removing %s: %v", path, err)
	}
}
