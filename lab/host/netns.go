package host

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

const netnsDir = "/run/netns"

// setUp brings a link of the calling thread's namespace up.
func setUp(link string) error {
	s, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("setting %s up: %w", link, err)
	}
	defer unix.Close(s)
	req, err := unix.NewIfreq(link)
	if err != nil {
		return fmt.Errorf("setting %s up: %w", link, err)
	}
	req.SetUint16(unix.IFF_UP)
	if err := unix.IoctlIfreq(s, unix.SIOCSIFFLAGS, req); err != nil {
		return fmt.Errorf("setting %s up: %w", link, err)
	}
	return nil
}

// AddNetns makes the network namespace of a container, with the same settings as
// the host's, and returns its path, /run/netns/NAME, which exists in this host
// only.
func (h *Host) AddNetns(name string) (path string, err error) {
	path = filepath.Join(netnsDir, name)
	h.Do(func() { err = h.makeNetns(path) })
	if err != nil {
		return "", fmt.Errorf("add the namespace %s: %w", name, err)
	}
	return path, nil
}

func (h *Host) makeNetns(path string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL, 0o444)
	if err != nil {
		return err
	}
	f.Close()
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		return err
	}
	defer h.comeBack()
	if err := pinSysctls(); err != nil {
		return err
	}
	return unix.Mount("/proc/thread-self/ns/net", path, "", unix.MS_BIND, "")
}

// comeBack puts the host's thread into the host's namespace again. A thread
// that can't return is of no use to anybody.
func (h *Host) comeBack() {
	if err := unix.Setns(h.netns, unix.CLONE_NEWNET); err != nil {
		panic(fmt.Sprintf("host: no way back into its namespace: %v", err))
	}
}

// RemoveNetns takes a container's namespace away, by its name or path, as a
// runtime does: nothing is left at its path. The kernel destroys what is in it a
// moment later. One that is gone, or is no namespace any more, is no error.
func (h *Host) RemoveNetns(name string) (err error) {
	path := filepath.Join(netnsDir, filepath.Base(name))
	h.Do(func() {
		if err = unix.Unmount(path, unix.MNT_DETACH); errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOENT) {
			err = nil // a plain file, or nothing
		}
		if err != nil {
			return
		}
		if err = os.Remove(path); errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
	})
	if err != nil {
		return fmt.Errorf("remove the namespace %s: %w", path, err)
	}
	return nil
}

// Inside runs f on the host's thread, within the network namespace at path, as
// the host sees paths; "" is the host's own. As in Do, f must not end its
// goroutine.
func (h *Host) Inside(path string, f func()) (err error) {
	if path == "" {
		h.Do(f)
		return nil
	}
	h.Do(func() {
		var fd int
		if fd, err = unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0); err == nil {
			defer unix.Close(fd)
			err = h.within(fd, f)
		}
	})
	if err != nil {
		return fmt.Errorf("enter %s: %w", path, err)
	}
	return nil
}

// InsideOpen is Inside for a namespace that is at hand as a descriptor, whatever
// it is called.
func (h *Host) InsideOpen(fd int, f func()) (err error) {
	h.Do(func() { err = h.within(fd, f) })
	if err != nil {
		return fmt.Errorf("enter the namespace that descriptor %d is: %w", fd, err)
	}
	return nil
}

// within runs f on the calling thread, the host's, in another namespace.
func (h *Host) within(fd int, f func()) error {
	if err := unix.Setns(fd, unix.CLONE_NEWNET); err != nil {
		return err
	}
	defer h.comeBack()
	f()
	return nil
}
