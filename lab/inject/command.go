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

// Prepare changes a command that has not been started, so that it runs with
// these calls trapped. The caller starts it, wherever it likes, calls Attach,
// waits for it, then calls Wait. The process that is started is a launcher,
// whose child the command is; it passes signals on, ends as the command does,
// and takes it along when it is killed. What is heard begins with the command: not
// with its being executed.
func Prepare(cmd *exec.Cmd, calls []int, hook Hook) (*Session, error) {
	if cmd.Err != nil {
		return nil, cmd.Err
	}
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("socket pair: %w", err)
	}
	s := newSession(cmd, calls, hook)
	s.ours, s.theirs = os.NewFile(uintptr(fds[0]), "inject"), os.NewFile(uintptr(fds[1]), "inject")
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
	listener, err := receiveListener(int(s.ours.Fd()))
	if err != nil {
		return errors.Join(err, s.ours.Close())
	}
	s.launcher = s.cmd.Process.Pid
	// Now the launcher may go on: whatever is called waits for us.
	if _, err := unix.Write(int(s.ours.Fd()), []byte{0}); err != nil {
		return errors.Join(fmt.Errorf("answer the launcher: %w", err), unix.Close(listener), s.ours.Close())
	}
	go func() {
		err := s.serve(listener)
		// The launcher takes this for our death, if it is still there.
		s.done <- errors.Join(append(s.wrong, err, s.ours.Close())...)
	}()
	return nil
}

// Wait waits until the command and all its children have ended. An error means
// that something was not done as a verdict said, or not every call was heard.
// A process that the command left behind is waited for: see Alive and Kill.
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
