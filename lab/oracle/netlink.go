package oracle

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"golang.org/x/sys/unix"
)

// errMoved is a look that was overtaken by a change; it is worth another.
var errMoved = errors.New("what is looked at changes meanwhile")

// tries is how often a look that was overtaken is made again.
const tries = 8

// conn is a netlink socket. It stays in the namespace that it was opened in.
type conn struct {
	fd  int
	seq uint32
	buf []byte
}

func dial(protocol int) (*conn, error) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, protocol)
	if err != nil {
		return nil, fmt.Errorf("netlink socket: %w", err)
	}
	c := &conn{fd: fd, buf: make([]byte, 64<<10)}
	if err := unix.SetsockoptInt(fd, unix.SOL_NETLINK, unix.NETLINK_GET_STRICT_CHK, 1); err != nil {
		c.close()
		return nil, fmt.Errorf("netlink socket: %w", err)
	}
	return c, nil
}

func (c *conn) close() { unix.Close(c.fd) }

// message is one answer: what comes after netlink's own header.
type message struct {
	kind uint16
	data []byte
}

// dump asks for a list. An answer that the kernel says was overtaken by a change
// is asked for again; one that never comes whole is an error.
func (c *conn) dump(kind uint16, body []byte) ([]message, error) {
	for range tries {
		list, err := c.ask(kind, unix.NLM_F_DUMP, body)
		if !errors.Is(err, errMoved) {
			return list, err
		}
	}
	return nil, fmt.Errorf("netlink dump %d: %w", kind, errMoved)
}

// ask sends one request and returns all that is answered.
func (c *conn) ask(kind, flags uint16, body []byte) ([]message, error) {
	c.seq++
	req := make([]byte, unix.NLMSG_HDRLEN, unix.NLMSG_HDRLEN+len(body))
	binary.NativeEndian.PutUint32(req[0:], uint32(unix.NLMSG_HDRLEN+len(body)))
	binary.NativeEndian.PutUint16(req[4:], kind)
	binary.NativeEndian.PutUint16(req[6:], unix.NLM_F_REQUEST|flags)
	binary.NativeEndian.PutUint32(req[8:], c.seq)
	req = append(req, body...)
	if _, err := unix.Write(c.fd, req); err != nil { // to the kernel, when to nobody
		return nil, fmt.Errorf("netlink request %d: %w", kind, err)
	}
	var list []message
	var moved error
	for {
		n, _, err := unix.Recvfrom(c.fd, c.buf, unix.MSG_TRUNC)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err == nil && n > len(c.buf) {
			err = fmt.Errorf("%d bytes at once", n)
		}
		if err != nil {
			return nil, fmt.Errorf("netlink answer to %d: %w", kind, err)
		}
		part, interrupted, done, err := c.read(slices.Clone(c.buf[:n]), flags&unix.NLM_F_DUMP != 0)
		if err != nil {
			return nil, fmt.Errorf("netlink answer to %d: %w", kind, err)
		}
		if interrupted {
			moved = errMoved // but the rest must be read
		}
		list = append(list, part...)
		if done {
			return list, moved
		}
	}
}

// read takes one datagram apart.
func (c *conn) read(b []byte, dump bool) (list []message, interrupted, done bool, err error) {
	for len(b) > 0 {
		if len(b) < unix.NLMSG_HDRLEN {
			return nil, false, false, errors.New("cut short")
		}
		size := int(binary.NativeEndian.Uint32(b))
		kind, flags := binary.NativeEndian.Uint16(b[4:]), binary.NativeEndian.Uint16(b[6:])
		if size < unix.NLMSG_HDRLEN || size > len(b) {
			return nil, false, false, errors.New("cut short")
		}
		ours := binary.NativeEndian.Uint32(b[8:]) == c.seq
		data := b[unix.NLMSG_HDRLEN:size]
		b = b[min(len(b), (size+3)&^3):]
		if !ours {
			continue
		}
		interrupted = interrupted || flags&unix.NLM_F_DUMP_INTR != 0
		switch kind {
		case unix.NLMSG_ERROR, unix.NLMSG_DONE:
			return list, interrupted, true, errnoOf(data)
		case unix.NLMSG_OVERRUN:
			return nil, false, false, errors.New("overrun")
		case unix.NLMSG_NOOP:
		default:
			list = append(list, message{kind, data})
			done = done || !dump
		}
	}
	return list, interrupted, done, nil
}

// errnoOf is what an ERROR or DONE message says.
func errnoOf(data []byte) error {
	if len(data) < 4 {
		return nil
	}
	if code := int32(binary.NativeEndian.Uint32(data)); code != 0 {
		return unix.Errno(-code)
	}
	return nil
}
