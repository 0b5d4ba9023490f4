package host

import (
	"fmt"
	"os/exec"

	"golang.org/x/sys/unix"
)

// StartApart starts a command in a mount namespace of its own: a copy of the
// host's, as furnish has changed it. furnish runs on the host's thread, within
// it; what it mounts ends with the command.
func (h *Host) StartApart(c *exec.Cmd, furnish func() error) (err error) {
	h.Do(func() {
		var leave func()
		if leave, err = goApart(); err != nil {
			return
		}
		defer leave()
		if err = furnish(); err == nil {
			err = c.Start()
		}
	})
	if err != nil {
		return fmt.Errorf("start in another mount namespace: %w", err)
	}
	return nil
}

// goApart takes the calling thread, the host's, into a copy of its mount
// namespace. A thread that can't return is of no use to anybody.
func goApart() (leave func(), err error) {
	home, err := unix.Open("/proc/thread-self/ns/mnt", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	// Who enters a mount namespace is at its root.
	cwd, err := unix.Open(".", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err == nil {
		if err = unix.Unshare(unix.CLONE_NEWNS); err != nil {
			_ = unix.Close(cwd)
		}
	}
	if err != nil {
		_ = unix.Close(home)
		return nil, err
	}
	return func() {
		err := unix.Setns(home, unix.CLONE_NEWNS)
		if err == nil {
			err = unix.Fchdir(cwd)
		}
		if err != nil {
			panic(fmt.Sprintf("host: no way back into its mount namespace: %v", err))
		}
		_ = unix.Close(cwd)
		_ = unix.Close(home)
	}, nil
}
