package engine

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// trace runs a part of the test binary under ptrace, and calls f before every
// system call (by its number) between the part's two marks. All of the child's
// other threads idle meanwhile.
func trace(t *testing.T, f func(nr int), part string, args ...string) {
	t.Helper()
	done := make(chan error)
	go func() {
		// ptrace is a matter between threads.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		done <- traceHere(f, part, args)
	}()
	if err := <-done; err != nil {
		t.Fatalf("trace %s %q: %v", part, args, err)
	}
}

func traceHere(f func(nr int), part string, args []string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	pid, err := syscall.ForkExec(self, append([]string{self}, args...), &syscall.ProcAttr{
		Env:   append(childEnviron(part), "GODEBUG=asyncpreemptoff=1"),
		Files: []uintptr{0, 1, 2},
		Sys:   &syscall.SysProcAttr{Ptrace: true, Setpgid: true},
	})
	if err != nil {
		return err
	}
	var ws unix.WaitStatus
	if _, err := wait(-pid, &ws); err != nil {
		return err
	}
	const options = unix.PTRACE_O_TRACESYSGOOD | unix.PTRACE_O_TRACECLONE | unix.PTRACE_O_EXITKILL
	if err := unix.PtraceSetOptions(pid, options); err != nil {
		return err
	}
	return follow(pid, f)
}

// follow lets the tracee run from stop to stop until it exits.
func follow(pid int, f func(nr int)) error {
	marks, tid, signal := 0, pid, 0
	for {
		if err := unix.PtraceSyscall(tid, signal); err != nil && !errors.Is(err, unix.ESRCH) {
			return fmt.Errorf("go on: %w", err)
		}
		var ws unix.WaitStatus
		var err error
		// The group, not any child: other tests have theirs.
		if tid, err = wait(-pid, &ws); err != nil {
			return err
		}
		signal = 0
		switch {
		case ws.Exited() && tid == pid:
			if ws.ExitStatus() != 0 || marks != 2 {
				return fmt.Errorf("exit status %d after %d marks", ws.ExitStatus(), marks)
			}
			return nil
		case ws.Signaled() && tid == pid:
			return fmt.Errorf("ended by %v", ws.Signal())
		case !ws.Stopped(), ws.StopSignal() == unix.SIGSTOP, ws.StopSignal() == unix.SIGTRAP:
			// A thread's beginning or end.
		case ws.StopSignal() != unix.SIGTRAP|0x80:
			signal = int(ws.StopSignal())
		default:
			nr, entry, err := syscallAt(tid)
			if errors.Is(err, unix.ESRCH) {
				continue // another thread ended the process
			}
			if err != nil {
				return err
			}
			if entry && nr == unix.SYS_GETPGID {
				marks++
			} else if entry && marks == 1 {
				f(nr)
			}
		}
	}
}

func wait(pid int, ws *unix.WaitStatus) (tid int, err error) {
	err = retryEINTR(func() (err error) {
		tid, err = unix.Wait4(pid, ws, unix.WALL, nil)
		return err
	})
	return tid, err
}

// syscallInfo is the beginning of struct ptrace_syscall_info (linux/ptrace.h).
type syscallInfo struct {
	op      uint8
	_       [3]uint8
	arch    uint32
	ip, sp  uint64
	nr      uint64
	_       [6]uint64
	_, _, _ uint64
}

func syscallAt(tid int) (nr int, entry bool, err error) {
	const getSyscallInfo, infoEntry = 0x420e, 1
	var info syscallInfo
	_, _, errno := unix.Syscall6(unix.SYS_PTRACE, getSyscallInfo, uintptr(tid),
		unsafe.Sizeof(info), uintptr(unsafe.Pointer(&info)), 0, 0)
	if errno != 0 {
		return 0, false, fmt.Errorf("ask which system call: %w", errno)
	}
	return int(info.nr), info.op == infoEntry, nil
}
