package inject

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// exitLauncher is the launcher's status when the command could not be started.
const exitLauncher = 125

// Launch does nothing in a process that was not started by this package as
// launcher; in one that was it does not return. It comes first in main, or in
// TestMain.
func Launch() {
	if len(os.Args) == 0 || os.Args[0] != launcherName {
		return
	}
	l, err := parseLaunch(os.Args)
	if err == nil {
		err = l.run()
	}
	fmt.Fprintln(os.Stderr, "inject:", err)
	unix.Exit(exitLauncher)
}

// run starts the command from a thread that has the filter, and stays its parent
// until it ends. All that is said, to the supervisor or to people, is said by
// other threads: to say it may be what is trapped.
func (l launch) run() error {
	unix.CloseOnExec(l.socket)
	// Whoever is orphaned comes to us: nobody of the tree gets out of sight.
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("become a reaper: %w", err)
	}
	r := runner{
		launch: l, listener: make(chan int), proceed: make(chan struct{}),
		started: make(chan int), ended: make(chan unix.WaitStatus), failed: make(chan error),
	}
	go r.filtered()
	var listener int
	select {
	case listener = <-r.listener:
	case err := <-r.failed:
		return err
	}
	if err := handOver(l.socket, listener); err != nil {
		return err
	}
	lost := make(chan struct{})
	go func() {
		// The supervisor says no more; this ends when it does.
		_, _ = unix.Read(l.socket, make([]byte, 1))
		close(lost)
	}()
	signals := passed()
	close(r.proceed)
	return r.stay(signals, lost)
}

// runner is what the filtered thread and the others tell each other.
type runner struct {
	launch
	listener chan int
	proceed  chan struct{}
	started  chan int
	ended    chan unix.WaitStatus
	failed   chan error
}

// filtered is the thread with the filter. The lock comes first: from then on Go
// starts no thread from this one. It never ends before the process: the command
// would be killed by that.
func (r *runner) filtered() {
	runtime.LockOSThread()
	listener, err := install(r.calls)
	if err != nil {
		r.failed <- err
		select {}
	}
	r.listener <- listener
	<-r.proceed
	pid, err := syscall.ForkExec(r.path, r.args, &syscall.ProcAttr{
		Env: os.Environ(), Files: inherited(r.socket),
		Sys: &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL},
	})
	if err != nil {
		r.failed <- fmt.Errorf("execute %s: %w", r.path, err)
		select {}
	}
	r.started <- pid
	for {
		var status unix.WaitStatus
		reaped, err := unix.Wait4(-1, &status, 0, nil)
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			r.failed <- fmt.Errorf("wait for %s: %w", r.path, err)
			select {}
		case reaped == pid:
			r.ended <- status
		}
	}
}

// inherited are the descriptors below the socket, as they are.
func inherited(socket int) []uintptr {
	var all []uintptr
	for fd := range socket {
		if _, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err != nil {
			all = append(all, ^uintptr(0)) // stays closed
			continue
		}
		all = append(all, uintptr(fd))
	}
	return all
}

// passed are signals that are for the command.
func passed() <-chan os.Signal {
	signals := make(chan os.Signal, 16)
	for _, s := range []os.Signal{unix.SIGHUP, unix.SIGINT, unix.SIGQUIT, unix.SIGTERM, unix.SIGUSR1, unix.SIGUSR2} {
		if !signal.Ignored(s) {
			signal.Notify(signals, s)
		}
	}
	return signals
}

// stay passes signals on and ends as the command does. If the supervisor is
// lost, everybody goes: their calls wait already, since the listener is kept.
func (r *runner) stay(signals <-chan os.Signal, lost <-chan struct{}) error {
	pid := 0
	var pending <-chan os.Signal // none is taken while there is no command
	for {
		select {
		case err := <-r.failed:
			return err
		case pid = <-r.started:
			pending = signals
		case s := <-pending:
			if n, ok := s.(syscall.Signal); ok {
				_ = unix.Kill(pid, n) // it may have ended
			}
		case <-lost:
			killBelow(unix.Getpid(), 0)
			return errors.New("the supervisor is lost")
		case status := <-r.ended:
			return end(status)
		}
	}
}

// end ends this process as another one did.
func end(status unix.WaitStatus) error {
	if !status.Signaled() {
		unix.Exit(status.ExitStatus()) // at once: os.Exit waits a second when built with -race
	}
	s := status.Signal()
	_ = unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{}) // not a second core
	// By hand: Go's handlers would print what happened to them.
	var byDefault [4]uint64 // struct sigaction
	_, _, _ = unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(s), uintptr(unsafe.Pointer(&byDefault)), 0, 8, 0, 0)
	_ = unix.Kill(unix.Getpid(), s)
	select {}
}
