package main

import (
	"encoding/binary"
	"fmt"

	"golang.org/x/sys/unix"
)

// conn is a netlink socket in the namespace that the thread was in at dial.
type conn struct {
	fd  int
	seq uint32
}

func dial(protocol int) (*conn, error) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, protocol)
	if err != nil {
		return nil, fmt.Errorf("netlink socket: %w", err)
	}
	return &conn{fd: fd}, nil
}

// enter moves the thread into the namespace at path, for good: sockets opened
// before stay where they are, and the process ends soon.
func enter(path string) error {
	fd, err := openNamespace(path)
	if err != nil {
		return err
	}
	return join(fd)
}

func openNamespace(path string) (int, error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, fmt.Errorf("namespace %s: %w", path, err)
	}
	return fd, nil
}

func join(fd int) error {
	if err := unix.Setns(fd, unix.CLONE_NEWNET); err != nil {
		return fmt.Errorf("enter the namespace: %w", err)
	}
	return nil
}

// do sends all messages in one system call and reads until each one that asks
// for it is acknowledged. The error is the first one that the kernel reports.
func (c *conn) do(messages ...message) error {
	_, err := c.ask(messages...)
	return err
}

// ask is do that also returns the answer's last message, without its header.
func (c *conn) ask(messages ...message) (answer []byte, err error) {
	waiting := 0
	var out []byte
	for _, m := range messages {
		c.seq++
		binary.NativeEndian.PutUint32(m[0:], uint32(len(m)))
		binary.NativeEndian.PutUint32(m[8:], c.seq)
		if binary.NativeEndian.Uint16(m[6:])&unix.NLM_F_ACK != 0 {
			waiting++
		}
		out = append(out, m...)
	}
	if err := unix.Sendto(c.fd, out, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return nil, fmt.Errorf("netlink send: %w", err)
	}
	in := make([]byte, 16<<10)
	for waiting > 0 {
		n, _, rerr := unix.Recvfrom(c.fd, in, 0)
		if rerr != nil {
			return nil, fmt.Errorf("netlink receive: %w", rerr)
		}
		for rest := in[:n]; len(rest) >= unix.SizeofNlMsghdr; {
			size := int(binary.NativeEndian.Uint32(rest))
			body := rest[unix.SizeofNlMsghdr:size]
			if typ := binary.NativeEndian.Uint16(rest[4:]); typ == unix.NLMSG_ERROR {
				waiting--
				if errno := -int32(binary.NativeEndian.Uint32(body)); errno != 0 && err == nil {
					err = unix.Errno(errno)
				}
			} else {
				answer = append([]byte(nil), body...)
			}
			rest = rest[min(len(rest), (size+3)&^3):]
		}
	}
	return answer, err
}

// index finds a link by its name.
func (c *conn) index(name string) (int32, error) {
	m := newMessage(unix.RTM_GETLINK, unix.NLM_F_ACK, linkHeader(0, false, false)).
		text(unix.IFLA_IFNAME, name).
		number(unix.IFLA_EXT_MASK, rtextFilterSkipStats)
	body, err := c.ask(m)
	if err != nil {
		return 0, fmt.Errorf("link %s: %w", name, err)
	}
	return int32(binary.NativeEndian.Uint32(body[4:])), nil
}

// rtextFilterSkipStats is linux/rtnetlink.h's RTEXT_FILTER_SKIP_STATS.
const rtextFilterSkipStats = 1 << 3
