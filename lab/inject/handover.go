package inject

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

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
	return nil
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
