package inject

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// A Hook is called before each trapped call is made, while the calling thread
// waits; one call at a time. It may do anything in the meantime.
type Hook func(*Call) Verdict

// A Session is a command under the filter.
type Session struct {
	hook   Hook
	ours   *os.File // end of the socket that the launcher sends the listener by
	theirs *os.File
	done   chan error
}

// Prepare changes a command that has not been started, so that it runs with
// these calls trapped. The caller starts it, wherever it likes, calls Attach,
// waits for it, then calls Wait.
func Prepare(cmd *exec.Cmd, calls []int, hook Hook) (*Session, error) {
	if cmd.Err != nil {
		return nil, cmd.Err
	}
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("socket pair: %w", err)
	}
	s := &Session{
		hook: hook, done: make(chan error, 1),
		ours:   os.NewFile(uintptr(fds[0]), "inject"),
		theirs: os.NewFile(uintptr(fds[1]), "inject"),
	}
	cmd.ExtraFiles = append(cmd.ExtraFiles, s.theirs)
	l := launch{
		socket: 2 + len(cmd.ExtraFiles), // the first is descriptor 3
		calls:  calls, path: cmd.Path, args: cmd.Args,
	}
	cmd.Path, cmd.Args = "/proc/self/exe", l.argv()
	return s, nil
}

// Attach begins to hear the calls of the command that was started. When it
// fails the command ends by itself.
func (s *Session) Attach() error {
	s.theirs.Close()
	defer s.ours.Close()
	listener, err := receiveListener(int(s.ours.Fd()))
	if err != nil {
		return err
	}
	go func() { s.done <- serve(listener, s.hook) }()
	// Only now may the launcher go on: whatever it calls is heard.
	if _, err := unix.Write(int(s.ours.Fd()), []byte{0}); err != nil {
		return fmt.Errorf("answer the launcher: %w", err)
	}
	return nil
}

// Wait waits until the command and all its children have ended. An error means
// that not every call was heard; the command then got ENOSYS.
func (s *Session) Wait() error { return <-s.done }

// Run starts cmd under the filter, and waits for it.
func Run(cmd *exec.Cmd, calls []int, hook Hook) error {
	s, err := Prepare(cmd, calls, hook)
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		s.Abandon()
		return err
	}
	if err := s.Attach(); err != nil {
		return errors.Join(err, cmd.Wait())
	}
	err = cmd.Wait()
	return errors.Join(err, s.Wait())
}

// Abandon frees what Prepare made, for a command that could not be started.
func (s *Session) Abandon() {
	s.ours.Close()
	s.theirs.Close()
}

// launcherName is argv[0] of the launcher: nobody is called so by accident.
const launcherName = "fairlead-inject-launcher"

// launch is what the launcher is told, as arguments.
type launch struct {
	socket int
	calls  []int
	path   string
	args   []string
}

func (l launch) argv() []string {
	calls := make([]string, 0, len(l.calls))
	for _, c := range l.calls {
		calls = append(calls, strconv.Itoa(c))
	}
	return append([]string{launcherName, strconv.Itoa(l.socket), strings.Join(calls, ","), l.path}, l.args...)
}

func parseLaunch(argv []string) (l launch, err error) {
	if len(argv) < 5 {
		return l, errors.New("too few arguments")
	}
	if l.socket, err = strconv.Atoi(argv[1]); err != nil {
		return l, err
	}
	for c := range strings.SplitSeq(argv[2], ",") {
		n, err := strconv.Atoi(c)
		if err != nil {
			return l, err
		}
		l.calls = append(l.calls, n)
	}
	l.path, l.args = argv[3], argv[4:]
	return l, nil
}

// Kill kills the command and all that came of it, and whoever of it shows up
// later.
func (s *Session) Kill() {}

// A Process is one that was seen.
type Process struct {
	PID     int
	Program string
}

// Alive are the processes that were seen and have not ended: asked when the
// command has, and before Wait, those it left behind.
func (s *Session) Alive() []Process { return nil }

// Outstanding tells, of what verdicts promised for later, what has not come to
// pass: a kill after a call that was the last, an error that nobody received.
func (s *Session) Outstanding() []string { return nil }
