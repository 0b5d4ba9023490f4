package inject

import (
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Requests that x/sys has for some architectures only, alike on all:
// SECCOMP_IOCTL_NOTIF_ID_VALID and _SET_FLAGS.
const (
	ioctlIDValid  = 0x40082102
	ioctlSetFlags = 0x40082104
)

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
