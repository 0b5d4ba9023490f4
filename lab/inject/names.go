package inject

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// linkKey is an interface by the namespace that it is in, and its index.
type linkKey struct {
	netns uint64
	index int
}

// unknownLink is the name of an interface that is not there.
const unknownLink = "?"

// linkName finds the name of an interface in the namespace of a socket of the
// caller. Names that were found are kept until a request changes them.
func (c *Call) linkName(fd int, netns uint64, index int) string {
	key := linkKey{netns, index}
	if name, ok := c.session.names[key]; ok {
		return name
	}
	name, err := lookUp(fd, index)
	if err != nil {
		return unknownLink
	}
	c.session.names[key] = name
	return name
}

// renamed forgets names after a request that may change them.
func (s *Session) renamed(netns uint64, index int) { delete(s.names, linkKey{netns, index}) }

// lookUp asks by a socket of its own, which it makes in the namespace of the
// given one; nothing of it stays, or the namespace would.
func lookUp(fd, index int) (name string, err error) {
	netns, err := unix.IoctlRetInt(fd, unix.SIOCGSKNS)
	if err != nil {
		return "", fmt.Errorf("namespace of a socket: %w", err)
	}
	defer unix.Close(netns)
	result := make(chan error)
	go func() {
		runtime.LockOSThread()
		var returned error
		name, returned, err = nameIn(netns, index)
		if returned == nil {
			runtime.UnlockOSThread() // else the thread ends with its goroutine
		}
		result <- errors.Join(err, returned)
	}()
	err = <-result
	return name, err
}

// nameIn enters a namespace, asks there, and returns.
func nameIn(netns, index int) (name string, returned, err error) {
	own, err := unix.Open("/proc/thread-self/ns/net", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return "", nil, fmt.Errorf("own namespace: %w", err)
	}
	defer unix.Close(own)
	if err := unix.Setns(netns, unix.CLONE_NEWNET); err != nil {
		return "", nil, fmt.Errorf("enter a namespace: %w", err)
	}
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	returned = unix.Setns(own, unix.CLONE_NEWNET)
	if err != nil {
		return "", returned, fmt.Errorf("socket: %w", err)
	}
	defer unix.Close(fd)
	var request [40]byte // struct ifreq
	binary.NativeEndian.PutUint32(request[unix.IFNAMSIZ:], uint32(index))
	if err := ioctl(fd, unix.SIOCGIFNAME, unsafe.Pointer(&request)); err != nil {
		return "", returned, fmt.Errorf("interface %d: %w", index, err)
	}
	return cString(request[:unix.IFNAMSIZ]), returned, nil
}

// cString is what is before the first zero.
func cString(b []byte) string {
	before, _, _ := bytes.Cut(b, []byte{0})
	return string(before)
}

// familyName finds the name of a family of generic netlink. Their numbers are
// drawn when the kernel starts.
func (s *Session) familyName(id uint16) string {
	if name, ok := s.families[id]; ok {
		return name
	}
	name, err := askFamily(id)
	if err != nil {
		return unknownLink
	}
	s.families[id] = name
	return name
}

func askFamily(id uint16) (string, error) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_GENERIC)
	if err != nil {
		return "", fmt.Errorf("socket: %w", err)
	}
	defer unix.Close(fd)
	const generic = 4 // struct genlmsghdr
	b := make([]byte, unix.NLMSG_HDRLEN+generic+8)
	nlHeader(b, unix.GENL_ID_CTRL, unix.NLM_F_REQUEST, 1)
	b[unix.NLMSG_HDRLEN], b[unix.NLMSG_HDRLEN+1] = unix.CTRL_CMD_GETFAMILY, 1
	attr := b[unix.NLMSG_HDRLEN+generic:]
	binary.NativeEndian.PutUint16(attr, 6)
	binary.NativeEndian.PutUint16(attr[2:], unix.CTRL_ATTR_FAMILY_ID)
	binary.NativeEndian.PutUint16(attr[4:], id)
	if err := unix.Sendto(fd, b, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return "", fmt.Errorf("ask for family %d: %w", id, err)
	}
	answer := make([]byte, 1<<16)
	n, _, err := unix.Recvfrom(fd, answer, 0)
	if err != nil {
		return "", fmt.Errorf("ask for family %d: %w", id, err)
	}
	for _, m := range Messages(answer[:n]) {
		if code, ok := number(m.Body[:min(4, len(m.Body))]); ok && m.Type == unix.NLMSG_ERROR {
			return "", fmt.Errorf("ask for family %d: %w", id, unix.Errno(-int32(code)))
		}
		if name, ok := m.Attributes(generic)[unix.CTRL_ATTR_FAMILY_NAME]; ok {
			return cString(name), nil
		}
	}
	return "", fmt.Errorf("ask for family %d: not told", id)
}
