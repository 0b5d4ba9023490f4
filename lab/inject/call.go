package inject

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// A Call is a system call that a thread is about to make. It is good for as
// long as the hook runs.
type Call struct {
	Number int // unix.SYS_…
	Args   [6]uint64
	TID    int // the thread

	id       uint64
	at       uint64 // of the program
	listener int
	session  *Session
	process  *process
	event    *Event
}

// ErrGone says that the caller was killed while its call was looked at.
var ErrGone = errors.New("the caller is gone")

// Process is the process that the caller's thread is of.
func (c *Call) Process() (int, error) { return c.process.pid, nil }

// sort is the set that the call is of.
func (c *Call) sort() sort { return c.session.known[c.Number].sort }

// A Socket is what a descriptor of the caller leads to.
type Socket struct {
	Domain   int    // unix.AF_NETLINK
	Protocol int    // unix.NETLINK_ROUTE
	Cookie   uint64 // of its network namespace: SO_NETNS_COOKIE
}

// socket is a Socket and how to know it again: SO_COOKIE.
type socket struct {
	Socket
	self uint64
}

func (s Socket) netlink() bool { return s.Domain == unix.AF_NETLINK }

// Socket looks at a descriptor of the caller. What a socket acts in is its own
// namespace, whichever the thread is in now.
func (c *Call) Socket(fd int) (Socket, error) {
	copied, err := c.duplicate(fd)
	if err != nil {
		return Socket{}, err
	}
	defer unix.Close(copied)
	s, err := c.session.socket(copied)
	return s.Socket, err
}

// duplicate gets a descriptor of the caller. Close it soon: the caller may close
// its own and expect that to be the end of what it leads to.
func (c *Call) duplicate(fd int) (int, error) {
	copied, err := unix.PidfdGetfd(c.process.pidfd, fd, 0)
	if err != nil {
		if e := c.valid(); e != nil {
			return -1, e
		}
		return -1, fmt.Errorf("descriptor %d of process %d: %w", fd, c.process.pid, err)
	}
	return copied, nil
}

// socket is what a descriptor leads to. What that is never changes.
func (s *Session) socket(fd int) (socket, error) {
	self, err := unix.GetsockoptUint64(fd, unix.SOL_SOCKET, unix.SO_COOKIE)
	if err != nil {
		return socket{}, fmt.Errorf("cookie of a socket: %w", err)
	}
	if known, ok := s.sockets[self]; ok {
		return known, nil
	}
	k := socket{self: self}
	for _, o := range []struct {
		name int
		to   *int
	}{{unix.SO_DOMAIN, &k.Domain}, {unix.SO_PROTOCOL, &k.Protocol}} {
		if *o.to, err = unix.GetsockoptInt(fd, unix.SOL_SOCKET, o.name); err != nil {
			return k, fmt.Errorf("option %d of a socket: %w", o.name, err)
		}
	}
	if k.Cookie, err = unix.GetsockoptUint64(fd, unix.SOL_SOCKET, unix.SO_NETNS_COOKIE); err != nil {
		return k, fmt.Errorf("namespace of a socket: %w", err)
	}
	s.sockets[self] = k
	return k, nil
}
