package kernel

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// TapSpec is a tap device to be made: a link whose frames a process reads and
// writes. It stays until DelLink.
type TapSpec struct {
	Name       string
	Owner      *uint32 // user who may open it; nil: by privilege only
	Group      *uint32
	MultiQueue bool
	VNetHdr    bool // frames come with a header for offloads
}

// AddTap makes a tap device. It is an error (Exists) when there is a link of
// that name.
func (n *Namespace) AddTap(s TapSpec) error {
	return n.call("tap.add", s.Name, func() error { return n.addTap(s) })
}

func (n *Namespace) addTap(s TapSpec) error {
	req, err := unix.NewIfreq(s.Name)
	if err != nil || s.Name == "" {
		return fmt.Errorf("not a name: %w", unix.EINVAL)
	}
	flags := uint16(unix.IFF_TAP | unix.IFF_NO_PI | unix.IFF_TUN_EXCL)
	if s.MultiQueue {
		flags |= unix.IFF_MULTI_QUEUE
	}
	if s.VNetHdr {
		flags |= unix.IFF_VNET_HDR
	}
	req.SetUint16(flags)
	// The device is made where the thread is that opens.
	fd := -1
	err = n.do(func() (err error) {
		fd, err = unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_CLOEXEC, 0)
		return err
	})
	if err != nil {
		return fmt.Errorf("/dev/net/tun: %w", err)
	}
	// Until it is told to persist it goes when this is closed.
	defer unix.Close(fd)
	if err := unix.IoctlIfreq(fd, unix.TUNSETIFF, req); err != nil {
		return n.tapRefused(s.Name, err)
	}
	if s.Owner != nil {
		if err := unix.IoctlSetInt(fd, unix.TUNSETOWNER, int(*s.Owner)); err != nil {
			return fmt.Errorf("owner: %w", err)
		}
	}
	if s.Group != nil {
		if err := unix.IoctlSetInt(fd, unix.TUNSETGROUP, int(*s.Group)); err != nil {
			return fmt.Errorf("group: %w", err)
		}
	}
	return unix.IoctlSetInt(fd, unix.TUNSETPERSIST, 1)
}

// tapRefused gives EEXIST when there is a link of that name: the kernel says
// EBUSY of a tap, and EINVAL of another kind.
func (n *Namespace) tapRefused(name string, err error) error {
	if errors.Is(err, unix.EBUSY) || errors.Is(err, unix.EINVAL) {
		if _, ok, _ := n.Link(name); ok {
			return unix.EEXIST
		}
	}
	return err
}
