package inject

import (
	"encoding/binary"
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// An answer is an acknowledgement that waits in a socket's queue for a request
// that was not made, and what is to be made of it.
type answer struct {
	socket  uint64
	seq     uint32
	errno   unix.Errno // 0: of a batch, a request that did not fail
	request []byte     // whole
}

// Where struct nlmsghdr has what.
const (
	nlTypeAt  = 4
	nlFlagsAt = 6
	nlSeqAt   = 8
	nlPortAt  = 12
)

// nlFlagCapped is NLM_F_CAPPED: the request is not echoed.
const nlFlagCapped = 0x100

// forge has the kernel acknowledge the requests that are about to be sent, and
// not do them: it is sent messages that ask for nothing but to be acknowledged,
// by the caller's own socket, whose queue the answers are then in. A request
// itself is never sent for the caller: what it says of descriptors and
// namespaces would be understood as ours.
func (c *Call) forge(errno unix.Errno) (outcome, error) {
	if !c.session.wanted[unix.SYS_RECVMSG] {
		return outcome{}, errors.New("forge an answer: receives are not trapped")
	}
	sent, err := c.Sent()
	if err != nil {
		return outcome{}, err
	}
	fd, err := c.duplicate(int(int32(c.Args[0])))
	if err != nil {
		return outcome{}, err
	}
	defer unix.Close(fd)
	s, err := c.session.socket(fd)
	if err != nil {
		return outcome{}, fmt.Errorf("forge an answer: %w", err)
	}
	answers := answersTo(sent, s, errno)
	if !s.netlink() || len(answers) == 0 {
		return outcome{}, errors.New("forge an answer: this is no request of netlink")
	}
	var asking []byte
	for _, a := range answers {
		b := make([]byte, unix.NLMSG_HDRLEN)
		nlHeader(b, unix.NLMSG_NOOP, unix.NLM_F_REQUEST|unix.NLM_F_ACK, a.seq)
		asking = append(asking, b...)
	}
	c.bind(fd)
	if err := unix.Sendto(fd, asking, unix.MSG_DONTWAIT, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return outcome{}, fmt.Errorf("forge an answer: %w", err)
	}
	c.session.promised.Lock()
	defer c.session.promised.Unlock()
	c.session.answers = append(c.session.answers, answers...)
	if c.Number == unix.SYS_SENDMMSG {
		return done(1, c.sentAs(len(sent))), nil
	}
	return done(len(sent), nil), nil
}

// bind gives an unbound socket the port that it would get when its owner sends:
// the kernel would give it one of ours.
func (c *Call) bind(fd int) {
	name, err := unix.Getsockname(fd)
	if own, ok := name.(*unix.SockaddrNetlink); err == nil && ok && own.Pid == 0 {
		// If it is taken, any will do.
		_ = unix.Bind(fd, &unix.SockaddrNetlink{Family: unix.AF_NETLINK, Pid: uint32(c.process.pid)})
	}
}

// sentAs notes in the first struct mmsghdr how much was sent.
func (c *Call) sentAs(n int) error {
	b := binary.NativeEndian.AppendUint32(nil, uint32(n))
	return errors.Join(c.write(c.Args[1]+headerSize, b))
}

// answersTo are what the kernel would queue if the requests fail: all that ask
// for an answer or do not ask, since an error is always told. A batch of
// netfilter fails as a whole, by its first request; of the others, those are
// answered that ask to be.
func answersTo(sent []byte, s socket, errno unix.Errno) []answer {
	all := Messages(sent)
	batch := s.Protocol == unix.NETLINK_NETFILTER && len(all) > 0 && all[0].Type == unix.NFNL_MSG_BATCH_BEGIN
	var answers []answer
	failed := false
	for _, m := range all {
		if m.Type < unix.NLMSG_MIN_TYPE {
			continue
		}
		a := answer{socket: s.self, seq: m.Seq, errno: errno, request: m.whole}
		if batch {
			control := m.Type == unix.NFNL_MSG_BATCH_BEGIN || m.Type == unix.NFNL_MSG_BATCH_END
			if failed || control {
				a.errno = 0
			}
			failed = failed || !control
			if a.errno == 0 && m.Flags&unix.NLM_F_ACK == 0 {
				continue
			}
		}
		answers = append(answers, a)
	}
	return answers
}

// nlHeader writes struct nlmsghdr for all of b.
func nlHeader(b []byte, kind, flags uint16, seq uint32) {
	binary.NativeEndian.PutUint32(b, uint32(len(b)))
	binary.NativeEndian.PutUint16(b[nlTypeAt:], kind)
	binary.NativeEndian.PutUint16(b[nlFlagsAt:], flags)
	binary.NativeEndian.PutUint32(b[nlSeqAt:], seq)
}

// turn makes of the kernel's acknowledgement what it would have said to the
// request: the error, and the request echoed, unless the socket asked for less.
func (a answer) turn(ack []byte, capped bool) []byte {
	const errorAt = unix.NLMSG_HDRLEN
	echoed := a.request
	if capped || a.errno == 0 {
		echoed = echoed[:unix.NLMSG_HDRLEN]
	}
	b := make([]byte, align(errorAt+4+len(echoed)))
	copy(b, ack[:errorAt])
	flags := binary.NativeEndian.Uint16(ack[nlFlagsAt:]) &^ nlFlagCapped
	if capped {
		flags |= nlFlagCapped
	}
	nlHeader(b, unix.NLMSG_ERROR, flags, a.seq)
	binary.NativeEndian.PutUint32(b[errorAt:], uint32(-int32(a.errno)))
	copy(b[errorAt+4:], echoed)
	return b
}

// mine finds the answer that a datagram at the head of a queue is to become.
func (s *Session) mine(socket uint64, datagram []byte) (int, bool) {
	const echo = unix.NLMSG_HDRLEN + 4
	if len(datagram) < echo+unix.NLMSG_HDRLEN ||
		binary.NativeEndian.Uint16(datagram[nlTypeAt:]) != unix.NLMSG_ERROR ||
		binary.NativeEndian.Uint16(datagram[echo+nlTypeAt:]) != unix.NLMSG_NOOP {
		return 0, false
	}
	seq := binary.NativeEndian.Uint32(datagram[nlSeqAt:])
	for i, a := range s.answers {
		if a.socket == socket && a.seq == seq {
			return i, true
		}
	}
	return 0, false
}
