package inject

import (
	"slices"

	"golang.org/x/sys/unix"
)

// entry is a system call by number and name. The tables of those that not every
// architecture has are in calls_GOARCH.go.
type entry struct {
	number int
	name   string
	shape
}

func sends() []entry {
	return []entry{
		{unix.SYS_SENDTO, "sendto", shape{fd: 1}},
		{unix.SYS_SENDMSG, "sendmsg", shape{fd: 1}},
		{unix.SYS_SENDMMSG, "sendmmsg", shape{fd: 1}},
	}
}

func receives() []entry {
	return []entry{
		{unix.SYS_RECVFROM, "recvfrom", shape{fd: 1}},
		{unix.SYS_RECVMSG, "recvmsg", shape{fd: 1}},
		{unix.SYS_RECVMMSG, "recvmmsg", shape{fd: 1}},
	}
}

func files() []entry {
	return append(oldFiles(), []entry{
		{unix.SYS_OPENAT, "openat", shape{dir: 1, path: 2, flags: 3}},
		{unix.SYS_OPENAT2, "openat2", shape{dir: 1, path: 2}},
		{unix.SYS_WRITE, "write", shape{fd: 1, size: 3}},
		{unix.SYS_WRITEV, "writev", shape{fd: 1}},
		{unix.SYS_PWRITE64, "pwrite64", shape{fd: 1, size: 3}},
		{unix.SYS_PWRITEV, "pwritev", shape{fd: 1}},
		{unix.SYS_PWRITEV2, "pwritev2", shape{fd: 1}},
		{unix.SYS_COPY_FILE_RANGE, "copy_file_range", shape{fd: 3, size: 5}},
		{unix.SYS_SENDFILE, "sendfile", shape{fd: 1, size: 4}},
		{unix.SYS_TRUNCATE, "truncate", shape{path: 1, size: 2}},
		{unix.SYS_FTRUNCATE, "ftruncate", shape{fd: 1, size: 2}},
		{unix.SYS_FALLOCATE, "fallocate", shape{fd: 1, size: 4}},
		{unix.SYS_RENAMEAT, "renameat", shape{dir: 1, path: 2, newDir: 3, newPath: 4}},
		{unix.SYS_RENAMEAT2, "renameat2", shape{dir: 1, path: 2, newDir: 3, newPath: 4}},
		{unix.SYS_LINKAT, "linkat", shape{dir: 1, path: 2, newDir: 3, newPath: 4}},
		{unix.SYS_SYMLINKAT, "symlinkat", shape{raw: 1, dir: 2, path: 3}},
		{unix.SYS_UNLINKAT, "unlinkat", shape{dir: 1, path: 2, flags: 3}},
		{unix.SYS_MKDIRAT, "mkdirat", shape{dir: 1, path: 2}},
		{unix.SYS_MKNODAT, "mknodat", shape{dir: 1, path: 2}},
		{unix.SYS_FCHMOD, "fchmod", shape{fd: 1}},
		{unix.SYS_FCHMODAT, "fchmodat", shape{dir: 1, path: 2}},
		{unix.SYS_FCHOWN, "fchown", shape{fd: 1}},
		{unix.SYS_FCHOWNAT, "fchownat", shape{dir: 1, path: 2}},
		{unix.SYS_FLOCK, "flock", shape{fd: 1, flags: 2}},
		{unix.SYS_FCNTL, "fcntl", shape{fd: 1, flags: 2}},
		{unix.SYS_FSYNC, "fsync", shape{fd: 1}},
		{unix.SYS_FDATASYNC, "fdatasync", shape{fd: 1}},
	}...)
}

func reads() []entry {
	return []entry{
		{unix.SYS_READ, "read", shape{fd: 1, size: 3}},
		{unix.SYS_PREAD64, "pread64", shape{fd: 1, size: 3}},
		{unix.SYS_GETDENTS64, "getdents64", shape{fd: 1, size: 3}},
	}
}

func looks() []entry {
	return append(oldLooks(), []entry{
		{sysFstatat, sysFstatatName, shape{dir: 1, path: 2, flags: 4}},
		{unix.SYS_STATX, "statx", shape{dir: 1, path: 2, flags: 3}},
	}...)
}

func mounts() []entry {
	return []entry{
		{unix.SYS_MOUNT, "mount", shape{raw: 1, path: 2, flags: 4}},
		{unix.SYS_UMOUNT2, "umount2", shape{path: 1, flags: 2}},
		{unix.SYS_MOVE_MOUNT, "move_mount", shape{dir: 1, path: 2, newDir: 3, newPath: 4, flags: 5}},
		{unix.SYS_OPEN_TREE, "open_tree", shape{dir: 1, path: 2, flags: 3}},
		{unix.SYS_FSOPEN, "fsopen", shape{raw: 1}},
		{unix.SYS_FSMOUNT, "fsmount", shape{flags: 2}},
		{unix.SYS_MOUNT_SETATTR, "mount_setattr", shape{dir: 1, path: 2, flags: 3}},
		{unix.SYS_PIVOT_ROOT, "pivot_root", shape{path: 1, newPath: 2}},
	}
}

func namespaces() []entry {
	return []entry{{unix.SYS_SETNS, "setns", shape{fd: 1, flags: 2}}, {unix.SYS_UNSHARE, "unshare", shape{flags: 1}}}
}

func controls() []entry {
	return []entry{{unix.SYS_IOCTL, "ioctl", shape{fd: 1, flags: 2}}, {unix.SYS_SETSOCKOPT, "setsockopt", shape{fd: 1, flags: 3}}}
}

func execs() []entry {
	return []entry{{unix.SYS_EXECVE, "execve", shape{path: 1}}, {unix.SYS_EXECVEAT, "execveat", shape{dir: 1, path: 2}}}
}

func all() []entry {
	return slices.Concat(sends(), receives(), files(), mounts(), namespaces(), controls(), execs())
}

func numbers(table []entry) []int {
	n := make([]int, 0, len(table))
	for _, e := range table {
		n = append(n, e.number)
	}
	return n
}

// Sends are the calls by which a netlink request leaves.
func Sends() []int { return numbers(sends()) }

// Receives are those by which an answer comes. A read is not among them: it is
// files' as well, and nobody reads netlink by it.
func Receives() []int { return numbers(receives()) }

// Files are those that change files, or lock them. Of opens only those that may
// change something are trapped, of fcntl only locks: a program that starts opens
// many files to read.
func Files() []int { return numbers(files()) }

// Mounts are those that change mounts.
func Mounts() []int { return numbers(mounts()) }

// Namespaces are those by which a thread changes its namespaces.
func Namespaces() []int { return numbers(namespaces()) }

// Controls are those that change devices by ioctl (a tap has no other way), and
// tables of the old iptables by setsockopt. Others of these two are not trapped.
func Controls() []int { return numbers(controls()) }

// Execs are those that execute a program.
func Execs() []int { return numbers(execs()) }

// Looks are those by which a path is looked at. They change nothing, and are not
// among All.
func Looks() []int { return numbers(looks()) }

// Reads are those by which files and directories are read. With them every open
// is trapped, if Files are, and not only what may change something. They are not
// among All.
func Reads() []int { return numbers(reads()) }

// All are all of these but Looks and Reads.
func All() []int { return numbers(all()) }
