package kernel

import (
	"fmt"
	"runtime"

	"golang.org/x/sys/unix"
)

// Do calls f on a thread that is inside the namespace, and returns what it
// returns. A panic of f is passed on to the caller. f must not start
// goroutines that need to be inside: they run elsewhere. Calls upon n that need
// such a thread (sysctls) cost less from within f.
func (n *Namespace) Do(f func() error) error {
	return n.call("netns.do", "", func() error { return n.do(f) })
}

func (n *Namespace) do(f func() error) error {
	fd, err := n.descriptor()
	if err != nil {
		return err
	}
	runtime.LockOSThread()
	here, err := n.isCurrent()
	if err == nil && here {
		defer runtime.UnlockOSThread()
		return f()
	}
	runtime.UnlockOSThread()
	if err != nil {
		return err
	}
	return onOwnThread(func(home int) error {
		if err := unix.Setns(fd, unix.CLONE_NEWNET); err != nil {
			return fmt.Errorf("enter: %w", err)
		}
		return f()
	})
}

// isCurrent says whether the calling thread, which must be locked, is inside.
func (n *Namespace) isCurrent() (bool, error) {
	var st unix.Stat_t
	if err := unix.Stat(selfPath, &st); err != nil {
		return false, fmt.Errorf("%s: %w", selfPath, err)
	}
	return n.id == identity{dev: st.Dev, ino: st.Ino}, nil
}

// onOwnThread calls f on a thread of its own, which f may take to another
// namespace. If the thread can't be put back it ends with its goroutine: Go
// destroys a thread whose goroutine ends while locked to it.
func onOwnThread(f func(home int) error) error {
	var (
		err      error
		panicked any
		returned bool
	)
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread()
		home, e := unix.Open(selfPath, unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if e != nil {
			err, returned = fmt.Errorf("%s: %w", selfPath, e), true
			runtime.UnlockOSThread()
			return
		}
		defer func() {
			if unix.Setns(home, unix.CLONE_NEWNET) == nil {
				runtime.UnlockOSThread()
			}
			_ = unix.Close(home)
		}()
		defer func() {
			if !returned {
				panicked = recover()
			}
		}()
		err = f(home)
		returned = true
	}()
	<-done
	switch {
	case panicked != nil:
		panic(panicked)
	case !returned:
		runtime.Goexit() // f called it: a test that failed, for one
	}
	return err
}
