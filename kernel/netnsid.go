package kernel

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"

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
	err := n.get(r, func(b []byte) (err error) {
		id, err = decodeNetnsID(b)
		return err
	})
	return id, err
}

func decodeNetnsID(b []byte) (id int, err error) {
	id = unix.NETNSA_NSID_NOT_ASSIGNED
	if len(b) < unix.SizeofRtGenmsg {
		return id, errMalformed
	}
	return id, eachAttr(b[align(unix.SizeofRtGenmsg):], func(t uint16, v []byte) error {
		if t == unix.NETNSA_NSID {
			id = int(int32(binary.NativeEndian.Uint32(v)))
		}
		return nil
	})
}

// NetnsIDs lists the numbers that this namespace has for others. There is one
// for each that a link of this one was moved to, or has its other end in.
func (n *Namespace) NetnsIDs() (all []int, err error) {
	err = n.call("netns.list", "", func() error {
		all, err = dump(n, newRequest(unix.RTM_GETNSID, 0, rtGen()), func(b []byte) (int, bool, error) {
			id, err := decodeNetnsID(b)
			return id, id >= 0, err
		})
		return err
	})
	return all, err
}

// LinksIn lists the links of the namespace that has the number id here.
func (n *Namespace) LinksIn(id int) ([]Link, error) {
	return n.links("in "+strconv.Itoa(id), func(r *request) { r.u32(unix.IFLA_TARGET_NETNSID, uint32(id)) })
}

// DelLinkIn is DelLink in the namespace that has the number id here.
func (n *Namespace) DelLinkIn(id, index int) (bool, error) {
	return n.remove(ObjectLink, "link.del", strconv.Itoa(index)+" in "+strconv.Itoa(id), func() error {
		r := newRequest(unix.RTM_DELLINK, 0, ifInfo(index, 0, 0))
		r.u32(unix.IFLA_TARGET_NETNSID, uint32(id))
		return n.change(r)
	})
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
