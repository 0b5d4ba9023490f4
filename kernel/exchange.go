package kernel

import (
	"encoding/binary"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// dumpTries is how often an interrupted dump is begun anew before it is
// reported.
const dumpTries = 20

// request is a message to the kernel: its header, then the fixed part, then
// the attributes.
type request struct{ encoder }

// newRequest begins a message of that type; NLM_F_REQUEST is implied.
func newRequest(typ, flags uint16, fixed []byte) *request {
	r := &request{encoder{b: make([]byte, unix.SizeofNlMsghdr, 256)}}
	binary.NativeEndian.PutUint16(r.b[4:], typ)
	binary.NativeEndian.PutUint16(r.b[6:], flags|unix.NLM_F_REQUEST)
	r.b = append(r.b, fixed...)
	return r
}

func (r *request) flags() uint16 { return binary.NativeEndian.Uint16(r.b[6:]) }

// acknowledged has the kernel answer even if there is nothing to say.
func (r *request) acknowledged() {
	binary.NativeEndian.PutUint16(r.b[6:], r.flags()|unix.NLM_F_ACK)
}

// change sends a request that changes something and reads the answer.
func (n *Namespace) change(r *request) error {
	r.acknowledged()
	return n.exchange(r, nil)
}

// get sends a request for one object. each is called at most once.
func (n *Namespace) get(r *request, each func(b []byte) error) error {
	return n.exchange(r, each)
}

// dump lists, with decode called for each object. The list is complete, or
// there is an error: an interrupted dump is begun anew, and reported in the
// end; the part is never given.
func dump[T any](n *Namespace, r *request, decode func(b []byte) (T, bool, error)) ([]T, error) {
	binary.NativeEndian.PutUint16(r.b[6:], r.flags()|unix.NLM_F_DUMP)
	for try := 1; ; try++ {
		var all []T
		err := n.exchange(r, func(b []byte) error {
			v, ok, err := decode(b)
			if ok && err == nil {
				all = append(all, v)
			}
			return err
		})
		if err == nil {
			return all, nil
		}
		if !Interrupted(err) || try == dumpTries {
			return nil, err
		}
	}
}

// dumpFamily is dump, of objects whose message begins with their family. A kernel
// without the family that is asked for may answer with those of all others.
func dumpFamily[T any](n *Namespace, family uint8, r *request, decode func(b []byte) (T, bool, error)) ([]T, error) {
	return dump(n, r, ofFamily(family, decode))
}

// ofFamily is decode, less what is of another family.
func ofFamily[T any](family uint8, decode func(b []byte) (T, bool, error)) func(b []byte) (T, bool, error) {
	return func(b []byte) (T, bool, error) {
		if len(b) > 0 && b[0] != family {
			var none T
			return none, false, nil
		}
		return decode(b)
	}
}

// socket gives the namespace's socket, with n.mu held.
func (n *Namespace) socket() (*socket, error) {
	if n.closed.Load() {
		return nil, errClosed
	}
	if n.sock == nil {
		err := n.do(func() (err error) {
			n.sock, err = openSocket(unix.NETLINK_ROUTE)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return n.sock, nil
}

// drop closes the socket, with n.mu held. The next call opens another.
func (n *Namespace) drop() {
	if n.sock != nil {
		n.sock.close()
		n.sock = nil
	}
}

// exchange sends r and reads the whole answer. The bytes that each gets are
// valid during the call only. each must not call upon the namespace.
func (n *Namespace) exchange(r *request, each func(b []byte) error) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	s, err := n.socket()
	if err != nil {
		return err
	}
	clean, err := s.exchange(r, each)
	if !clean {
		// What else may come for this request is of no use to the next.
		n.drop()
	}
	return err
}

// exchange sends r and reads the whole answer. clean is false where more of it
// may come.
func (s *socket) exchange(r *request, each func(b []byte) error) (clean bool, err error) {
	s.seq++
	binary.NativeEndian.PutUint32(r.b[0:], uint32(len(r.b)))
	binary.NativeEndian.PutUint32(r.b[8:], s.seq)
	binary.NativeEndian.PutUint32(r.b[12:], s.pid)
	if err := s.send(r.b); err != nil {
		return true, err
	}
	a := answer{seq: s.seq, pid: s.pid, flags: r.flags(), each: each}
	for !a.done {
		b, err := s.receive()
		if err == nil {
			err = a.read(b)
		}
		if err != nil {
			return false, unanswered(err)
		}
	}
	return true, a.result()
}

func unanswered(err error) error {
	e := &Error{Errno: errnoOf(err), Unanswered: true}
	if e.Errno == 0 {
		e.err = err
	}
	return e
}

// answer collects the messages that answer one request.
type answer struct {
	seq, pid    uint32
	flags       uint16 // of the request
	each        func(b []byte) error
	done        bool
	interrupted bool
	err         error // the kernel's
	decodeErr   error
}

// result is what the whole answer says.
func (a *answer) result() error {
	switch {
	case a.err != nil:
		return a.err
	case a.interrupted:
		return nl.ErrDumpInterrupted
	}
	return a.decodeErr
}

// read takes in one datagram.
func (a *answer) read(b []byte) error {
	for len(b) >= unix.SizeofNlMsghdr {
		size := int(binary.NativeEndian.Uint32(b[0:]))
		if size < unix.SizeofNlMsghdr || size > len(b) {
			return errMalformed
		}
		seq, pid := binary.NativeEndian.Uint32(b[8:]), binary.NativeEndian.Uint32(b[12:])
		if seq == a.seq && pid == a.pid && !a.done {
			a.message(binary.NativeEndian.Uint16(b[4:]), binary.NativeEndian.Uint16(b[6:]), b[unix.SizeofNlMsghdr:size])
		}
		b = b[min(align(size), len(b)):]
	}
	return nil
}

func (a *answer) message(typ, flags uint16, b []byte) {
	if flags&unix.NLM_F_DUMP_INTR != 0 {
		a.interrupted = true
	}
	switch typ {
	case unix.NLMSG_DONE, unix.NLMSG_ERROR:
		a.done = true
		if len(b) >= 4 {
			a.err = verdict(typ, flags, b)
		}
	case unix.NLMSG_NOOP:
	default:
		if a.each != nil && a.decodeErr == nil {
			a.decodeErr = a.each(b)
		}
		// A request for one object that asks for no acknowledgement ends with it.
		if a.flags&(unix.NLM_F_ACK|unix.NLM_F_DUMP) == 0 && flags&unix.NLM_F_MULTI == 0 {
			a.done = true
		}
	}
}

// verdict reads the errno, and the words that the kernel may add.
func verdict(typ, flags uint16, b []byte) error {
	code := int32(binary.NativeEndian.Uint32(b))
	if code == 0 {
		return nil
	}
	e := &Error{Errno: unix.Errno(-code)}
	tlvs := b[4:]
	if typ == unix.NLMSG_ERROR {
		// The header of our request comes back; its body does not (CAP_ACK).
		tlvs = tlvs[min(unix.SizeofNlMsghdr, len(tlvs)):]
	}
	if flags&unix.NLM_F_ACK_TLVS != 0 {
		_ = eachAttr(tlvs, func(t uint16, v []byte) error {
			if t == nl.NLMSGERR_ATTR_MSG {
				e.Message = text(v)
			}
			return nil
		})
	}
	return e
}
