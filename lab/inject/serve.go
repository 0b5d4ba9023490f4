package inject

import (
	"errors"
	"fmt"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// notification is struct seccomp_notif, response struct seccomp_notif_resp.
type notification struct {
	id    uint64
	pid   uint32 // of the thread
	flags uint32
	nr    int32
	arch  uint32
	ip    uint64
	args  [6]uint64
}

type response struct {
	id    uint64
	val   int64
	errno int32 // negative
	flags uint32
}

// Requests that x/sys has not: SECCOMP_IOCTL_NOTIF_ID_VALID and _SET_FLAGS.
const (
	ioctlIDValid  = 0x40082102
	ioctlSetFlags = 0x40082104
)

// serve answers calls until nobody has the filter any more.
func serve(listener int, hook Hook) error {
	// Closed on an early return: whoever waits then gets ENOSYS.
	defer unix.Close(listener)
	// The scheduler then hands the processor over at once. Linux before 6.6 does
	// not know this; nothing but time depends on it.
	_ = ioctlValue(listener, ioctlSetFlags, unix.SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP)
	for {
		n := notification{}
		more, err := next(listener, &n)
		if err != nil || !more {
			return err
		}
		if n.id == 0 {
			continue // who called is gone
		}
		if err := answer(listener, &n, hook); err != nil {
			return err
		}
	}
}

// next waits for a call. There are no more when all who had the filter have
// ended.
func next(listener int, n *notification) (more bool, err error) {
	p := []unix.PollFd{{Fd: int32(listener), Events: unix.POLLIN}}
	for {
		_, err := unix.Poll(p, -1)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return false, fmt.Errorf("poll the listener: %w", err)
		}
		if p[0].Revents&unix.POLLIN == 0 {
			return false, nil
		}
		err = ioctl(listener, unix.SECCOMP_IOCTL_NOTIF_RECV, unsafe.Pointer(n))
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if errors.Is(err, unix.ENOENT) {
			*n = notification{}
			return true, nil
		}
		if err != nil {
			return false, fmt.Errorf("receive a call: %w", err)
		}
		return true, nil
	}
}

func answer(listener int, n *notification, hook Hook) error {
	v := hook(&Call{Number: int(n.nr), Args: n.args, TID: int(n.pid), id: n.id, listener: listener})
	r := response{id: n.id, flags: unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE}
	if v.Errno != 0 {
		r.errno, r.flags = -int32(v.Errno), 0
	}
	err := ioctl(listener, unix.SECCOMP_IOCTL_NOTIF_SEND, unsafe.Pointer(&r))
	if err != nil && !errors.Is(err, unix.ENOENT) { // ENOENT: the caller was killed meanwhile
		return fmt.Errorf("answer a call: %w", err)
	}
	return nil
}

func ioctl(fd int, request uintptr, arg unsafe.Pointer) error {
	for {
		_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), request, uintptr(arg))
		runtime.KeepAlive(arg)
		if errno == 0 {
			return nil
		}
		if errno != unix.EINTR {
			return errno
		}
	}
}

func ioctlValue(fd int, request, arg uintptr) error {
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), request, arg); errno != 0 {
		return errno
	}
	return nil
}
