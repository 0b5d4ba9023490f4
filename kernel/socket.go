package kernel

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// socket is a netlink socket. The kernel works on a request while it is
// being sent, so that the answer is there when sending returns.
type socket struct {
	fd  int
	pid uint32
	seq uint32
	buf []byte
}

const (
	// answerTimeout is for an answer that was sent already: it is there, or lost.
	answerTimeout = 60 // seconds
	// receiveBuffer is as much as the kernel puts into one message of a dump.
	receiveBuffer = 32 << 10
)

// openSocket opens one in the namespace of the calling thread, with the
// kernel's messages on errors and its filters on dumps.
func openSocket(protocol int) (*socket, error) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, protocol)
	if err != nil {
		return nil, err
	}
	s := &socket{fd: fd}
	if err := s.setUp(); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

func (s *socket) setUp() error {
	// CAP_ACK: an error does not bring our request back to us.
	for _, opt := range []int{unix.NETLINK_EXT_ACK, unix.NETLINK_CAP_ACK, unix.NETLINK_GET_STRICT_CHK} {
		if err := unix.SetsockoptInt(s.fd, unix.SOL_NETLINK, opt, 1); err != nil {
			return err
		}
	}
	tv := unix.Timeval{Sec: answerTimeout}
	if err := unix.SetsockoptTimeval(s.fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &tv); err != nil {
		return err
	}
	if err := unix.Bind(s.fd, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return err
	}
	sa, err := unix.Getsockname(s.fd)
	if err != nil {
		return err
	}
	s.pid = sa.(*unix.SockaddrNetlink).Pid
	return nil
}

func (s *socket) close() { _ = unix.Close(s.fd) }

func (s *socket) send(b []byte) error {
	_, err := retryEINTR(func() (int, error) {
		return 0, unix.Sendto(s.fd, b, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK})
	})
	return err
}

// receive gives one datagram, valid until the next call.
func (s *socket) receive() ([]byte, error) {
	if s.buf == nil {
		s.buf = make([]byte, receiveBuffer)
	}
	for {
		var from unix.Sockaddr
		n, err := retryEINTR(func() (n int, err error) {
			n, from, err = unix.Recvfrom(s.fd, s.buf, unix.MSG_TRUNC)
			return n, err
		})
		if err != nil {
			return nil, err
		}
		if n > len(s.buf) {
			return nil, fmt.Errorf("an answer of %d bytes is longer than the buffer", n)
		}
		if sa, ok := from.(*unix.SockaddrNetlink); ok && sa.Pid == 0 {
			return s.buf[:n], nil
		}
		// Another process may send to our socket; only the kernel is heard.
	}
}

func retryEINTR[T any](f func() (T, error)) (T, error) {
	for {
		v, err := f()
		if !errors.Is(err, unix.EINTR) {
			return v, err
		}
	}
}

func errnoOf(err error) unix.Errno {
	var errno unix.Errno
	errors.As(err, &errno)
	return errno
}
