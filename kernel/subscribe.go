package kernel

import (
	"context"
	"errors"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// subscription hears of changes in a namespace.
type subscription struct {
	f   *os.File
	buf []byte
}

// subscribe hears of the groups (unix.RTNLGRP_…) from now on.
func (n *Namespace) subscribe(groups ...uint) (*subscription, error) {
	sa := unix.SockaddrNetlink{Family: unix.AF_NETLINK}
	for _, g := range groups {
		sa.Groups |= 1 << (g - 1)
	}
	fd := -1
	err := n.do(func() (err error) {
		fd, err = unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, unix.NETLINK_ROUTE)
		if err != nil {
			return err
		}
		return unix.Bind(fd, &sa)
	})
	if err != nil {
		if fd >= 0 {
			_ = unix.Close(fd)
		}
		return nil, err
	}
	// Non-blocking, so that a deadline can end a read.
	return &subscription{f: os.NewFile(uintptr(fd), "netlink"), buf: make([]byte, receiveBuffer)}, nil
}

func (s *subscription) close() { _ = s.f.Close() }

// wait returns when something was heard, or the context ends. What was heard
// is not looked at: the caller looks anew, so that it does not matter when
// some of it was lost (ENOBUFS).
func (s *subscription) wait(ctx context.Context) error {
	stop := context.AfterFunc(ctx, func() { _ = s.f.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()
	_, err := s.f.Read(s.buf)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if errors.Is(err, unix.ENOBUFS) {
		return nil
	}
	return err
}
