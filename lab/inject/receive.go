package inject

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"golang.org/x/sys/unix"
)

// receive does a receive in the caller's stead, where something is to be made of
// what waits in the queue. It never waits.
func (c *Call) receive(v Verdict) (outcome, error) {
	s := c.session
	changed := v.Interrupt || v.Truncate
	if !changed && len(s.answers) == 0 && len(s.dumps) == 0 || c.sort() != sortReceive {
		if changed {
			return outcome{}, errors.New("interrupt a dump: this is no receive")
		}
		return outcome{}, nil
	}
	fd, err := c.duplicate(int(int32(c.Args[0])))
	if err != nil {
		return outcome{}, err
	}
	defer unix.Close(fd)
	socket, err := s.socket(fd)
	if err != nil || !socket.netlink() {
		return outcome{}, err
	}
	s.promised.Lock()
	defer s.promised.Unlock()
	if changed {
		s.dumps[socket.self] = v
	}
	d, err := take(fd, unix.MSG_PEEK)
	switch {
	case errors.Is(err, unix.EAGAIN):
		return outcome{}, nil // the caller may wait
	case err != nil:
		return done(0, err), nil // it was the caller's, and is told only once
	}
	to, err := c.place()
	if err != nil {
		return outcome{}, c.because(err)
	}
	if i, ok := s.mine(socket.self, d.data); ok {
		capped, _ := unix.GetsockoptInt(fd, unix.SOL_NETLINK, unix.NETLINK_CAP_ACK)
		d.data = s.answers[i].turn(d.data, capped != 0)
		if to.flags&unix.MSG_PEEK == 0 {
			s.answers = slices.Delete(s.answers, i, i+1)
		}
		return c.deliver(fd, to, d)
	}
	how, ok := s.dumps[socket.self]
	if !ok || !ofDump(d.data) {
		return outcome{}, nil
	}
	d, err = how.spoil(fd, d)
	if err != nil {
		return outcome{}, err
	}
	if to.flags&unix.MSG_PEEK == 0 {
		delete(s.dumps, socket.self)
	}
	return c.deliver(fd, to, d)
}

// datagram is what was received.
type datagram struct {
	data, control []byte
	flags         int
	from          *unix.SockaddrNetlink
}

// take receives the head of a queue, or only looks at it.
func take(fd, flags int) (d datagram, err error) {
	const large = 1 << 18 // a dump's messages come 32 KiB at a time
	d.data, d.control = make([]byte, large), make([]byte, 256)
	n, oobn, got, from, err := unix.Recvmsg(fd, d.data, d.control, flags|unix.MSG_DONTWAIT|unix.MSG_CMSG_CLOEXEC)
	if err != nil {
		return d, err
	}
	d.data, d.control, d.flags = d.data[:n], d.control[:oobn], got
	d.from, _ = from.(*unix.SockaddrNetlink)
	return d, nil
}

// place is where a receive puts what it receives.
type place struct {
	flags        int
	parts        []part
	h            *header // of recvmsg and recvmmsg
	name, length uint64  // of recvfrom
	many         bool    // recvmmsg
}

func (c *Call) place() (place, error) {
	a := c.Args
	if c.Number == unix.SYS_RECVFROM {
		return place{flags: int(a[3]), parts: []part{{a[1], a[2]}}, name: a[4], length: a[5]}, nil
	}
	t := place{flags: int(a[2])}
	if c.Number == unix.SYS_RECVMMSG {
		t.many, t.flags = true, int(a[3])
	}
	h, err := c.header(a[1])
	if err != nil {
		return t, err
	}
	t.h = &h
	t.parts, err = c.vector(h.parts, h.partsCount)
	return t, err
}

// deliver takes the head of the queue off, unless the caller only peeks, and
// gives it what was made of it.
func (c *Call) deliver(fd int, to place, d datagram) (outcome, error) {
	if err := c.valid(); err != nil {
		return outcome{}, err
	}
	if to.flags&unix.MSG_PEEK == 0 {
		if _, err := take(fd, 0); err != nil {
			return outcome{}, fmt.Errorf("receive for a caller: %w", err)
		}
	}
	fits := min(len(d.data), room(to.parts))
	if c.scatter(to.parts, d.data[:fits]) != nil {
		return done(0, unix.EFAULT), nil //nolint:nilerr // as the kernel would say to the caller
	}
	flags := d.flags &^ unix.MSG_CTRUNC & ^unix.MSG_CMSG_CLOEXEC
	if fits < len(d.data) {
		flags |= unix.MSG_TRUNC
	}
	n := fits
	if to.flags&unix.MSG_TRUNC != 0 {
		n = len(d.data)
	}
	var err error
	if to.h != nil {
		err = c.fill(*to.h, d, flags)
	} else {
		err = c.nameSender(to, d)
	}
	if err == nil && to.many {
		err = c.write(c.Args[1]+headerSize, binary.NativeEndian.AppendUint32(nil, uint32(n)))
		n = 1
	}
	if err != nil {
		return outcome{}, c.because(err)
	}
	return done(n, nil), nil
}

// sender is struct sockaddr_nl.
func sender(d datagram) []byte {
	b := make([]byte, unix.SizeofSockaddrNetlink)
	binary.NativeEndian.PutUint16(b, unix.AF_NETLINK)
	if d.from != nil {
		binary.NativeEndian.PutUint32(b[4:], d.from.Pid)
		binary.NativeEndian.PutUint32(b[8:], d.from.Groups)
	}
	return b
}

// nameSender tells a recvfrom whom it received from.
func (c *Call) nameSender(to place, d datagram) error {
	if to.name == 0 || to.length == 0 {
		return nil
	}
	b, err := c.read(to.length, 4)
	if err != nil {
		return err
	}
	name := sender(d)
	if err := c.write(to.name, name[:min(len(name), int(binary.NativeEndian.Uint32(b)))]); err != nil {
		return err
	}
	return c.write(to.length, binary.NativeEndian.AppendUint32(nil, uint32(len(name))))
}

// fill completes struct msghdr.
func (c *Call) fill(h header, d datagram, flags int) error {
	u32, u64 := binary.NativeEndian.AppendUint32, binary.NativeEndian.AppendUint64
	control := d.control
	if uint64(len(control)) > h.controlLen {
		control, flags = nil, flags|unix.MSG_CTRUNC
	}
	if h.name != 0 {
		name := sender(d)
		if err := c.write(h.name, name[:min(len(name), int(h.nameLen))]); err != nil {
			return err
		}
		if err := c.write(h.at+headerNameLen, u32(nil, uint32(len(name)))); err != nil {
			return err
		}
	}
	if len(control) > 0 {
		if err := c.write(h.control, control); err != nil {
			return err
		}
	}
	if err := c.write(h.at+headerControlLen, u64(nil, uint64(len(control)))); err != nil {
		return err
	}
	if err := c.write(h.at+headerFlags, u32(nil, uint32(flags))); err != nil {
		return fmt.Errorf("fill a message: %w", err)
	}
	return nil
}
