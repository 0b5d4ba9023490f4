package inject

import (
	"errors"
	"fmt"
	"os"
	"runtime"

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
	os.Exit(exitLauncher)
}

// run puts the filter on this thread and executes the command by it. Another
// thread, without the filter, hands the listener over, since to send it may be
// what is trapped. The lock comes first: from then on Go starts no thread from
// this one.
func (l launch) run() error {
	runtime.LockOSThread()
	unix.CloseOnExec(l.socket)
	listeners, handed := make(chan int), make(chan error)
	go func() { handed <- handOver(l.socket, <-listeners) }()
	listener, err := install(l.calls)
	if err != nil {
		return err
	}
	listeners <- listener
	if err := <-handed; err != nil {
		return err
	}
	return fmt.Errorf("execute %s: %w", l.path, unix.Exec(l.path, l.args, os.Environ()))
}

// handOver sends the listener and waits until it is listened to.
func handOver(socket, listener int) error {
	if err := unix.Sendmsg(socket, []byte{0}, unix.UnixRights(listener), nil, 0); err != nil {
		return fmt.Errorf("hand the listener over: %w", err)
	}
	n, err := unix.Read(socket, make([]byte, 1))
	if err == nil && n == 0 {
		err = errors.New("nobody listens")
	}
	if err != nil {
		return fmt.Errorf("wait for the listener: %w", err)
	}
	return unix.Close(listener)
}

// receiveListener is the other end of handOver.
func receiveListener(socket int) (int, error) {
	oob := make([]byte, unix.CmsgSpace(4))
	n, oobn, _, _, err := unix.Recvmsg(socket, make([]byte, 1), oob, unix.MSG_CMSG_CLOEXEC)
	if err == nil && n == 0 {
		err = errors.New("the launcher ended before")
	}
	if err != nil {
		return -1, fmt.Errorf("receive the listener: %w", err)
	}
	messages, err := unix.ParseSocketControlMessage(oob[:oobn])
	if err != nil || len(messages) != 1 {
		return -1, fmt.Errorf("receive the listener: %d control messages, %w", len(messages), err)
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil || len(fds) != 1 {
		return -1, fmt.Errorf("receive the listener: %d descriptors, %w", len(fds), err)
	}
	return fds[0], nil
}
