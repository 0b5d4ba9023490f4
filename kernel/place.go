package kernel

import (
	"errors"
	"fmt"
	"path/filepath"
	"unsafe"

	"golang.org/x/sys/unix"
)

// mountSelfPath is the mount namespace of the calling thread.
const mountSelfPath = "/proc/thread-self/ns/mnt"

// Place identifies where the calling thread looks paths up: its mount namespace
// and its root directory. Of two processes in one place, a path that is missing
// for the one is missing for the other.
//
// The namespace is named by the kernel's number for it, which is not given to
// another (NS_GET_MNTNS_ID, Linux 6.11). Earlier kernels have an inode number
// only, which is given out anew once the namespace is gone. The root's mount and
// inode, which a chroot changes, tell most of those apart too: what is left is a
// namespace that ended and a later one with the same numbers of all three.
func Place() (string, error) {
	fail := func(err error) (string, error) {
		return "", &Error{Op: "mntns.identify", Object: mountSelfPath, Errno: errnoOf(err), err: err}
	}
	fd, err := retryEINTR(func() (int, error) { return unix.Open(mountSelfPath, unix.O_RDONLY|unix.O_CLOEXEC, 0) })
	if err != nil {
		return fail(err)
	}
	defer unix.Close(fd)
	namespace, err := mountsID(fd)
	if err != nil {
		return fail(err)
	}
	var root unix.Statx_t
	// The unique number of a mount is Linux 6.8's; both masks share one field.
	const mask = unix.STATX_INO | unix.STATX_MNT_ID | unix.STATX_MNT_ID_UNIQUE
	if err := unix.Statx(unix.AT_FDCWD, "/", unix.AT_SYMLINK_NOFOLLOW, mask, &root); err != nil {
		return fail(err)
	}
	return fmt.Sprintf("%s root %d:%d", namespace, root.Mnt_id, root.Ino), nil
}

func mountsID(fd int) (string, error) {
	var id uint64
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.NS_GET_MNTNS_ID, uintptr(unsafe.Pointer(&id)))
	switch errno {
	case 0:
		return fmt.Sprintf("id %d", id), nil
	case unix.ENOTTY, unix.EINVAL:
		self, err := identify(fd)
		return fmt.Sprintf("inode %d", self.ino), err
	}
	return "", errno
}

// Lasting tells whether a path that can be opened leads to the same for every
// process of one place, for as long as it leads anywhere: it is absolute, and
// passes none of the kernel's magic links. Those lead to what a process has
// (/proc/self/fd/3, /dev/fd/3, /proc/42/ns/net, and links to such), and are gone
// with the process, whatever becomes of what they led to.
func Lasting(path string) (bool, error) {
	if !filepath.IsAbs(path) {
		return false, nil
	}
	how := unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_MAGICLINKS}
	fd, err := retryEINTR(func() (int, error) { return unix.Openat2(unix.AT_FDCWD, path, &how) })
	if errors.Is(err, unix.ELOOP) {
		return false, nil
	}
	if err != nil {
		return false, &Error{Op: "path.resolve", Object: path, Errno: errnoOf(err), err: err}
	}
	return true, unix.Close(fd)
}
