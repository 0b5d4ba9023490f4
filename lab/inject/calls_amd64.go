package inject

import "golang.org/x/sys/unix"

const auditArch = unix.AUDIT_ARCH_X86_64

// oldFiles are those that newer architectures have only with a directory.
func oldFiles() []entry {
	return []entry{
		{unix.SYS_OPEN, "open"},
		{unix.SYS_CREAT, "creat"},
		{unix.SYS_RENAME, "rename"},
		{unix.SYS_LINK, "link"},
		{unix.SYS_SYMLINK, "symlink"},
		{unix.SYS_UNLINK, "unlink"},
		{unix.SYS_MKDIR, "mkdir"},
		{unix.SYS_RMDIR, "rmdir"},
		{unix.SYS_MKNOD, "mknod"},
		{unix.SYS_CHMOD, "chmod"},
		{unix.SYS_CHOWN, "chown"},
		{unix.SYS_LCHOWN, "lchown"},
	}
}

// opens says which argument of a call that opens has the flags.
func opens() map[int]uint32 {
	return map[int]uint32{unix.SYS_OPENAT: 2, unix.SYS_OPEN: 1}
}
