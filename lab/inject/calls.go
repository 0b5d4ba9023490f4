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
}

func sends() []entry {
	return []entry{
		{unix.SYS_SENDTO, "sendto"},
		{unix.SYS_SENDMSG, "sendmsg"},
		{unix.SYS_SENDMMSG, "sendmmsg"},
	}
}

func receives() []entry {
	return []entry{
		{unix.SYS_RECVFROM, "recvfrom"},
		{unix.SYS_RECVMSG, "recvmsg"},
		{unix.SYS_RECVMMSG, "recvmmsg"},
	}
}

func files() []entry {
	return append(oldFiles(), []entry{
		{unix.SYS_OPENAT, "openat"},
		{unix.SYS_OPENAT2, "openat2"},
		{unix.SYS_WRITE, "write"},
		{unix.SYS_WRITEV, "writev"},
		{unix.SYS_PWRITE64, "pwrite64"},
		{unix.SYS_PWRITEV, "pwritev"},
		{unix.SYS_PWRITEV2, "pwritev2"},
		{unix.SYS_COPY_FILE_RANGE, "copy_file_range"},
		{unix.SYS_SENDFILE, "sendfile"},
		{unix.SYS_TRUNCATE, "truncate"},
		{unix.SYS_FTRUNCATE, "ftruncate"},
		{unix.SYS_FALLOCATE, "fallocate"},
		{unix.SYS_RENAMEAT, "renameat"},
		{unix.SYS_RENAMEAT2, "renameat2"},
		{unix.SYS_LINKAT, "linkat"},
		{unix.SYS_SYMLINKAT, "symlinkat"},
		{unix.SYS_UNLINKAT, "unlinkat"},
		{unix.SYS_MKDIRAT, "mkdirat"},
		{unix.SYS_MKNODAT, "mknodat"},
		{unix.SYS_FCHMOD, "fchmod"},
		{unix.SYS_FCHMODAT, "fchmodat"},
		{unix.SYS_FCHOWN, "fchown"},
		{unix.SYS_FCHOWNAT, "fchownat"},
		{unix.SYS_FLOCK, "flock"},
		{unix.SYS_FCNTL, "fcntl"},
		{unix.SYS_FSYNC, "fsync"},
		{unix.SYS_FDATASYNC, "fdatasync"},
	}...)
}

func mounts() []entry {
	return []entry{
		{unix.SYS_MOUNT, "mount"},
		{unix.SYS_UMOUNT2, "umount2"},
		{unix.SYS_MOVE_MOUNT, "move_mount"},
		{unix.SYS_OPEN_TREE, "open_tree"},
		{unix.SYS_FSOPEN, "fsopen"},
		{unix.SYS_FSMOUNT, "fsmount"},
		{unix.SYS_MOUNT_SETATTR, "mount_setattr"},
		{unix.SYS_PIVOT_ROOT, "pivot_root"},
	}
}

func namespaces() []entry {
	return []entry{{unix.SYS_SETNS, "setns"}, {unix.SYS_UNSHARE, "unshare"}}
}

func execs() []entry {
	return []entry{{unix.SYS_EXECVE, "execve"}, {unix.SYS_EXECVEAT, "execveat"}}
}

func all() []entry {
	return slices.Concat(sends(), receives(), files(), mounts(), namespaces(), execs())
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

// Execs are those that execute a program.
func Execs() []int { return numbers(execs()) }

// All are all of these.
func All() []int { return numbers(all()) }
