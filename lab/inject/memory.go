package inject

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Bounds of what is read of a caller: a request of netlink has some kilobytes.
const (
	sentMax   = 1 << 20
	partsMax  = 1024 // UIO_MAXIOV
	stringMax = 4096 // PATH_MAX
	argvMax   = 1024
)

// Memory reads the caller's memory.
func (c *Call) Memory(addr uint64, size int) ([]byte, error) {
	b, err := c.read(addr, size)
	// The number of a thread that has ended may be another's by now.
	if e := c.valid(); e != nil {
		return nil, e
	}
	return b, err
}

// valid tells whether the caller still waits.
func (c *Call) valid() error {
	id := c.id
	if ioctl(c.listener, ioctlIDValid, unsafe.Pointer(&id)) != nil {
		return ErrGone
	}
	return nil
}

// read reads memory and leaves it to others to ask whose it was.
func (c *Call) read(addr uint64, size int) ([]byte, error) {
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
	if err != nil {
		return nil, fmt.Errorf("read %d bytes of thread %d: %w", size, c.TID, err)
	}
	return b, nil
}

// write writes into the caller's memory. The caller must be known to wait.
func (c *Call) write(addr uint64, b []byte) error {
	if len(b) == 0 {
		return nil
	}
	local := []unix.Iovec{{Base: &b[0]}}
	local[0].SetLen(len(b))
	n, err := unix.ProcessVMWritev(c.TID, local, []unix.RemoteIovec{{Base: uintptr(addr), Len: len(b)}}, 0)
	if err == nil && n != len(b) {
		err = unix.EFAULT
	}
	if err != nil {
		return fmt.Errorf("write %d bytes of thread %d: %w", len(b), c.TID, err)
	}
	return nil
}

// text reads a string that ends with a zero. What is not there is "": the call
// will fail for it. The memory behind the string may be nobody's, hence two
// parts, of which the second may fail.
func (c *Call) text(addr uint64) string {
	if addr == 0 {
		return ""
	}
	page := uint64(os.Getpagesize())
	first := int(min(page-addr%page, stringMax))
	b := make([]byte, stringMax)
	local := []unix.Iovec{{Base: &b[0]}}
	local[0].SetLen(len(b))
	remote := []unix.RemoteIovec{{Base: uintptr(addr), Len: first}}
	if first < stringMax {
		remote = append(remote, unix.RemoteIovec{Base: uintptr(addr) + uintptr(first), Len: stringMax - first})
	}
	n, err := unix.ProcessVMReadv(c.TID, local, remote, 0)
	if err != nil {
		return ""
	}
	end := bytes.IndexByte(b[:n], 0)
	if end < 0 {
		end = n
	}
	return string(b[:end])
}

// texts reads a list of strings that ends with a null pointer.
func (c *Call) texts(addr uint64) []string {
	var all []string
	for addr != 0 && len(all) < argvMax {
		at, err := c.read(addr, 8)
		if err != nil || binary.NativeEndian.Uint64(at) == 0 {
			break
		}
		all = append(all, c.text(binary.NativeEndian.Uint64(at)))
		addr += 8
	}
	return all
}

// A part is a piece of the caller's memory: a struct iovec.
type part struct {
	base uint64
	size uint64
}

// vector reads a list of parts.
func (c *Call) vector(addr, count uint64) ([]part, error) {
	const size = 16
	b, err := c.read(addr, int(min(count, partsMax))*size)
	if err != nil {
		return nil, err
	}
	var all []part
	for ; len(b) > 0; b = b[size:] {
		all = append(all, part{binary.NativeEndian.Uint64(b), binary.NativeEndian.Uint64(b[8:])})
	}
	return all, nil
}

// gather joins what is in parts.
func (c *Call) gather(parts []part) ([]byte, error) {
	var all []byte
	for _, p := range parts {
		b, err := c.read(p.base, int(min(p.size, sentMax-uint64(len(all)))))
		if err != nil {
			return nil, err
		}
		all = append(all, b...)
	}
	return all, nil
}

// scatter writes as much as has room in parts.
func (c *Call) scatter(parts []part, b []byte) error {
	for _, p := range parts {
		n := int(min(p.size, uint64(len(b))))
		if err := c.write(p.base, b[:n]); err != nil {
			return err
		}
		b = b[n:]
	}
	return nil
}

// room is how much parts take.
func room(parts []part) int {
	n := 0
	for _, p := range parts {
		n += int(min(p.size, 1<<30))
	}
	return n
}

// header is struct msghdr.
type header struct {
	at                uint64
	name, control     uint64
	nameLen           uint32
	parts, partsCount uint64
	controlLen        uint64
}

// Where struct msghdr has what, and how large it and struct mmsghdr are.
const (
	headerNameLen    = 8
	headerControlLen = 40
	headerFlags      = 48
	headerSize       = 56
	headersSize      = 64
)

func (c *Call) header(at uint64) (header, error) {
	b, err := c.read(at, headerSize)
	if err != nil {
		return header{}, err
	}
	u := binary.NativeEndian.Uint64
	return header{
		at: at, name: u(b), nameLen: binary.NativeEndian.Uint32(b[headerNameLen:]),
		parts: u(b[16:]), partsCount: u(b[24:]), control: u(b[32:]), controlLen: u(b[headerControlLen:]),
	}, nil
}

// Sent is what a send, or a write, is about to send; of sendmmsg, all of it.
func (c *Call) Sent() ([]byte, error) {
	b, err := c.sent()
	if e := c.valid(); e != nil {
		return nil, e
	}
	return b, err
}

func (c *Call) sent() ([]byte, error) {
	switch c.Number {
	case unix.SYS_SENDTO, unix.SYS_WRITE, unix.SYS_PWRITE64:
		return c.read(c.Args[1], int(min(c.Args[2], sentMax)))
	case unix.SYS_WRITEV, unix.SYS_PWRITEV, unix.SYS_PWRITEV2:
		parts, err := c.vector(c.Args[1], c.Args[2])
		if err != nil {
			return nil, err
		}
		return c.gather(parts)
	case unix.SYS_SENDMSG:
		return c.sentBy(c.Args[1])
	case unix.SYS_SENDMMSG:
		var all []byte
		for i := range min(c.Args[2], partsMax) {
			b, err := c.sentBy(c.Args[1] + i*headersSize)
			if err != nil {
				return nil, err
			}
			all = append(all, b...)
		}
		return all, nil
	}
	return nil, fmt.Errorf("call %d sends nothing", c.Number)
}

func (c *Call) sentBy(at uint64) ([]byte, error) {
	h, err := c.header(at)
	if err != nil {
		return nil, err
	}
	parts, err := c.vector(h.parts, h.partsCount)
	if err != nil {
		return nil, err
	}
	return c.gather(parts)
}
