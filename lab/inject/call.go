package inject

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A Call is a system call that a thread is about to make. It is good for as
// long as the hook runs.
type Call struct {
	Number int // unix.SYS_…
	Args   [6]uint64
	TID    int // the thread

	id       uint64
	listener int
	event    *Event
}

// ErrGone says that the caller was killed while its call was looked at.
var ErrGone = errors.New("the caller is gone")

// Bounds of what is read of a caller: a request of netlink has some kilobytes.
const (
	sentMax  = 1 << 20
	partsMax = 1024 // UIO_MAXIOV
)

// Memory reads the caller's memory.
func (c *Call) Memory(addr uint64, size int) ([]byte, error) {
	b := make([]byte, size)
	if size == 0 {
		return b, nil
	}
	local := []unix.Iovec{{Base: &b[0]}}
	local[0].SetLen(size)
	n, err := unix.ProcessVMReadv(c.TID, local, []unix.RemoteIovec{{Base: uintptr(addr), Len: size}}, 0)
	if err == nil && n != size {
		err = unix.EFAULT
	}
	// The number of a thread that has ended may be another's by now.
	id := c.id
	if ioctl(c.listener, ioctlIDValid, unsafe.Pointer(&id)) != nil {
		return nil, ErrGone
	}
	if err != nil {
		return nil, fmt.Errorf("read %d bytes of thread %d: %w", size, c.TID, err)
	}
	return b, nil
}

// Sent is what a sendto or sendmsg is about to send.
func (c *Call) Sent() ([]byte, error) {
	switch c.Number {
	case unix.SYS_SENDTO:
		return c.Memory(c.Args[1], int(min(c.Args[2], sentMax)))
	case unix.SYS_SENDMSG:
		return c.gather(c.Args[1])
	}
	return nil, fmt.Errorf("call %d sends nothing", c.Number)
}

// gather joins the parts that a struct msghdr names.
func (c *Call) gather(msghdr uint64) ([]byte, error) {
	const iovOffset, iovSize = 16, 16
	header, err := c.Memory(msghdr, iovOffset+16)
	if err != nil {
		return nil, err
	}
	parts := binary.NativeEndian.Uint64(header[iovOffset:])
	count := binary.NativeEndian.Uint64(header[iovOffset+8:])
	vector, err := c.Memory(parts, int(min(count, partsMax))*iovSize)
	if err != nil {
		return nil, err
	}
	var all []byte
	for ; len(vector) > 0; vector = vector[iovSize:] {
		size := binary.NativeEndian.Uint64(vector[8:])
		part, err := c.Memory(binary.NativeEndian.Uint64(vector), int(min(size, sentMax-uint64(len(all)))))
		if err != nil {
			return nil, err
		}
		all = append(all, part...)
	}
	return all, nil
}

// Process is the process that the caller's thread is of.
func (c *Call) Process() (int, error) {
	status, err := os.ReadFile("/proc/" + strconv.Itoa(c.TID) + "/status")
	if err != nil {
		return 0, fmt.Errorf("process of thread %d: %w", c.TID, err)
	}
	for line := range strings.SplitSeq(string(status), "\n") {
		if rest, ok := strings.CutPrefix(line, "Tgid:"); ok {
			return strconv.Atoi(strings.TrimSpace(rest))
		}
	}
	return 0, fmt.Errorf("process of thread %d: not told", c.TID)
}

// A Socket is what a descriptor of the caller leads to.
type Socket struct {
	Domain   int    // unix.AF_NETLINK
	Protocol int    // unix.NETLINK_ROUTE
	Cookie   uint64 // of its network namespace: SO_NETNS_COOKIE
}

// Socket looks at a descriptor of the caller. What a socket acts in is its own
// namespace, whichever the thread is in now.
func (c *Call) Socket(fd int) (s Socket, err error) {
	pid, err := c.Process()
	if err != nil {
		return s, err
	}
	process, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return s, fmt.Errorf("open process %d: %w", pid, err)
	}
	defer unix.Close(process)
	copied, err := unix.PidfdGetfd(process, fd, 0)
	if err != nil {
		return s, fmt.Errorf("descriptor %d of process %d: %w", fd, pid, err)
	}
	defer unix.Close(copied)
	for _, o := range []struct {
		name int
		to   *int
	}{{unix.SO_DOMAIN, &s.Domain}, {unix.SO_PROTOCOL, &s.Protocol}} {
		if *o.to, err = unix.GetsockoptInt(copied, unix.SOL_SOCKET, o.name); err != nil {
			return s, fmt.Errorf("descriptor %d of process %d: %w", fd, pid, err)
		}
	}
	s.Cookie, err = unix.GetsockoptUint64(copied, unix.SOL_SOCKET, unix.SO_NETNS_COOKIE)
	return s, err
}
