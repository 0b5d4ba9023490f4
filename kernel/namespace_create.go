package kernel

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// Create makes a new network namespace. With a path it is mounted there, on a
// file that must not exist yet, until Unmount; else it lives as long as it is
// open, or used.
func Create(path string) (*Namespace, error) {
	name := path
	if path == "" {
		name = "a new namespace"
	}
	fail := func(err error) (*Namespace, error) {
		return nil, &Error{Op: "netns.create", Object: path, Errno: errnoOf(err), err: err}
	}
	fd := -1
	err := onOwnThread(func(int) error {
		if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
			return err
		}
		var err error
		fd, err = unix.Open(selfPath, unix.O_RDONLY|unix.O_CLOEXEC, 0)
		return err
	})
	if err != nil {
		return fail(err)
	}
	if path != "" {
		if err := mountNamespace(fd, path); err != nil {
			_ = unix.Close(fd)
			return fail(err)
		}
	}
	return newNamespace(fd, name, path)
}

func mountNamespace(fd int, path string) error {
	f, err := os.OpenFile(path, os.O_RDONLY|os.O_CREATE|os.O_EXCL, 0o444)
	if err != nil {
		return err
	}
	_ = f.Close()
	if err := unix.Mount(fmt.Sprintf("/proc/self/fd/%d", fd), path, "", unix.MS_BIND, ""); err != nil {
		_ = os.Remove(path)
		return fmt.Errorf("mount: %w", err)
	}
	return nil
}

// Unmount lets go of a namespace that was made by Create(path). It is success
// when there is none.
func Unmount(path string) error {
	fail := func(err error) error {
		return &Error{Op: "netns.unmount", Object: path, Errno: errnoOf(err), err: err}
	}
	// EINVAL: nothing is mounted there; the file is what remains.
	err := unix.Unmount(path, unix.MNT_DETACH|unix.UMOUNT_NOFOLLOW)
	if err != nil && !errors.Is(err, unix.EINVAL) && !Absent(ObjectFile, err) {
		return fail(err)
	}
	if err := os.Remove(path); err != nil && !Absent(ObjectFile, err) {
		return fail(err)
	}
	return nil
}
