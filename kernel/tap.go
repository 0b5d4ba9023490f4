package kernel

import (
	"context"
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// tunDevice is where a tap device is got from.
const tunDevice = "/dev/net/tun"

// TapSpec is a tap device to be made: a link whose frames a process reads and
// writes. It stays until DelLink.
type TapSpec struct {
	Name       string
	Owner      *uint32 // user who may open it; nil: by privilege only
	Group      *uint32
	MultiQueue bool
	VNetHdr    bool // frames come with a header for offloads
	// SELinux is the context that the device is labelled with; "": that of this
	// process. Where SELinux is not at work a context is an error. It takes a
	// program that calls MakeTap (see there).
	SELinux string
}

// AddTap makes a tap device. It is an error (Exists) when there is a link of
// that name.
func (n *Namespace) AddTap(ctx context.Context, s TapSpec) error {
	return n.call("tap.add", s.Name, func() error { return n.addTap(ctx, s) })
}

func (n *Namespace) addTap(ctx context.Context, s TapSpec) error {
	if err := s.check(); err != nil {
		return err
	}
	// The device is made where the thread is that opens.
	var tun *os.File
	err := n.do(func() (err error) {
		tun, err = os.OpenFile(tunDevice, os.O_RDWR, 0)
		return err
	})
	if err != nil {
		return err
	}
	// Until it is told to persist it goes when this is closed.
	defer tun.Close()
	fd := int(tun.Fd())
	if s.SELinux == "" {
		err = attachTap(fd, s.Name, s.flags())
	} else {
		err = labelledTap(ctx, tun, s)
	}
	if err != nil {
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

func (s TapSpec) check() error {
	if _, err := unix.NewIfreq(s.Name); err != nil || s.Name == "" {
		return fmt.Errorf("not a name: %w", unix.EINVAL)
	}
	return nil
}

func (s TapSpec) flags() uint16 {
	flags := uint16(unix.IFF_TAP | unix.IFF_NO_PI | unix.IFF_TUN_EXCL)
	if s.MultiQueue {
		flags |= unix.IFF_MULTI_QUEUE
	}
	if s.VNetHdr {
		flags |= unix.IFF_VNET_HDR
	}
	return flags
}

// attachTap makes the device of an open /dev/net/tun.
func attachTap(fd int, name string, flags uint16) error {
	req, err := unix.NewIfreq(name)
	if err != nil {
		return err
	}
	req.SetUint16(flags)
	return unix.IoctlIfreq(fd, unix.TUNSETIFF, req)
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

// TunKind is what the kernel says of a tap device, or of a tun. It is none that
// AddLink can make: see AddTap.
type TunKind struct {
	Tap        bool
	Owner      *uint32
	Group      *uint32
	MultiQueue bool
	Persist    bool // it stays when no process has it open
}

// Kind implements LinkKind.
func (TunKind) Kind() string { return "tun" }

func (TunKind) encode(*encoder) error {
	return fmt.Errorf("no message makes a tun: %w", unix.EOPNOTSUPP)
}

func decodeTun(a attrs) TunKind {
	return TunKind{
		Tap:   getU8(a[unix.IFLA_TUN_TYPE]) == unix.IFF_TAP,
		Owner: a.u32(unix.IFLA_TUN_OWNER), Group: a.u32(unix.IFLA_TUN_GROUP),
		MultiQueue: getU8(a[unix.IFLA_TUN_MULTI_QUEUE]) != 0, Persist: getU8(a[unix.IFLA_TUN_PERSIST]) != 0,
	}
}
