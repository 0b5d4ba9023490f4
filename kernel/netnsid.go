package kernel

import (
	"encoding/binary"
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// NetnsID gives the number by which the links of this namespace refer to
// another one. The kernel is made to give one out when there is none yet.
func (n *Namespace) NetnsID(of *Namespace) (int, error) {
	id := 0
	err := n.call("netns.id", of.name, func() (err error) {
		id, err = n.netnsID(of)
		return err
	})
	return id, err
}

func (n *Namespace) netnsID(of *Namespace) (int, error) {
	id, err := n.getNetnsID(of)
	if err != nil || id >= 0 {
		return id, err
	}
	r := newRequest(unix.RTM_NEWNSID, 0, rtGen())
	if err := r.namespace(unix.NETNSA_FD, of); err != nil {
		return 0, err
	}
	r.u32(unix.NETNSA_NSID, ^uint32(0)) // any
	// EEXIST: another call was quicker.
	if err := n.change(r); err != nil && !Exists(err) {
		return 0, err
	}
	id, err = n.getNetnsID(of)
	if err == nil && id < 0 {
		err = errors.New("the kernel gave no number")
	}
	return id, err
}

// getNetnsID is negative when there is none.
func (n *Namespace) getNetnsID(of *Namespace) (int, error) {
	id := unix.NETNSA_NSID_NOT_ASSIGNED
	r := newRequest(unix.RTM_GETNSID, 0, rtGen())
	if err := r.namespace(unix.NETNSA_FD, of); err != nil {
		return id, err
	}
	err := n.get(r, func(b []byte) error {
		if len(b) < unix.SizeofRtGenmsg {
			return errMalformed
		}
		return eachAttr(b[align(unix.SizeofRtGenmsg):], func(t uint16, v []byte) error {
			if t == unix.NETNSA_NSID {
				id = int(int32(binary.NativeEndian.Uint32(v)))
			}
			return nil
		})
	})
	return id, err
}

// namespace appends a descriptor of o; nil is left out.
func (e *encoder) namespace(t uint16, o *Namespace) error {
	if o == nil {
		return nil
	}
	fd, err := o.descriptor()
	if err != nil {
		return fmt.Errorf("%s: %w", o.name, err)
	}
	e.u32(t, uint32(fd))
	return nil
}

// rtGen is struct rtgenmsg, with the padding behind it.
func rtGen() []byte { return make([]byte, align(unix.SizeofRtGenmsg)) }
