package kernel

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/fairlead-net/fairlead/program"
)

// The kernel labels a tun device with the SELinux context of the task that
// makes it. A process of several threads, as a Go program is, may not change its
// own context to one of another type. So this very program is executed once
// more, under the context, with the open /dev/net/tun as its descriptor 3: that
// belongs to the namespace that it was opened in, wherever the child is. All
// that the policy must allow is the same as for any program that is executed
// under a context.

// tapMaker is the name that the child is called by.
const tapMaker = "fairlead-make-tap"

// ErrNoSELinux is answered where a context is asked for and SELinux is not at
// work.
var ErrNoSELinux = errors.New("SELinux is not at work on this machine")

// MakeTap is the child's part: a program that makes labelled taps calls it
// first, with os.Args, and ends with the code where ok is true.
func MakeTap(args []string) (code int, ok bool) {
	if len(args) != 3 || args[0] != tapMaker {
		return 0, false
	}
	flags, err := strconv.ParseUint(args[2], 10, 16)
	if err == nil {
		err = attachTap(3, args[1], uint16(flags))
	}
	var errno unix.Errno
	if err != nil && !errors.As(err, &errno) {
		errno = unix.EINVAL
	}
	if _, err := os.Stdout.WriteString(strconv.Itoa(int(errno))); err != nil {
		return 1, true
	}
	return 0, true
}

// labelledTap has the child make the device.
func labelledTap(ctx context.Context, tun *os.File, s TapSpec) error {
	var fs unix.Statfs_t
	if err := unix.Statfs("/sys/fs/selinux", &fs); err != nil || fs.Type != unix.SELINUX_MAGIC {
		return fmt.Errorf("context %s: %w", s.SELinux, ErrNoSELinux)
	}
	done := make(chan error)
	go func() {
		// What this thread executes next has the context. It is never unlocked,
		// so it ends here and executes nothing else.
		runtime.LockOSThread()
		err := os.WriteFile("/proc/thread-self/attr/exec", []byte(s.SELinux), 0)
		if err != nil {
			err = fmt.Errorf("SELinux does not take the context %s: %w", s.SELinux, err)
		} else {
			err = makeTapInChild(ctx, tun, s)
		}
		done <- err
	}()
	return <-done
}

func makeTapInChild(ctx context.Context, tun *os.File, s TapSpec) error {
	child := program.Command(ctx, "/proc/self/exe")
	child.Args = []string{tapMaker, s.Name, strconv.Itoa(int(s.flags()))}
	child.Env = []string{}
	child.ExtraFiles = append([]*os.File{tun}, child.ExtraFiles...)
	out, err := child.Output()
	if err != nil {
		return fmt.Errorf("execute %s with the context %q: %w", tapMaker, s.SELinux, err)
	}
	errno, err := strconv.Atoi(strings.TrimSpace(string(out)))
	if err != nil {
		return fmt.Errorf("%s answered %q", tapMaker, out)
	}
	if errno != 0 {
		return unix.Errno(errno)
	}
	return nil
}
