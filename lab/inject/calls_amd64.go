package inject

import "golang.org/x/sys/unix"

const auditArch = unix.AUDIT_ARCH_X86_64

// oldFiles are those that newer architectures have only with a directory.
func oldFiles() []entry {
	return []entry{
		{unix.SYS_OPEN, "open", shape{path: 1, flags: 2}},
		{unix.SYS_CREAT, "creat", shape{path: 1}},
		{unix.SYS_RENAME, "rename", shape{path: 1, newPath: 2}},
		{unix.SYS_LINK, "link", shape{path: 1, newPath: 2}},
		{unix.SYS_SYMLINK, "symlink", shape{raw: 1, path: 2}},
		{unix.SYS_UNLINK, "unlink", shape{path: 1}},
		{unix.SYS_MKDIR, "mkdir", shape{path: 1}},
		{unix.SYS_RMDIR, "rmdir", shape{path: 1}},
		{unix.SYS_MKNOD, "mknod", shape{path: 1}},
		{unix.SYS_CHMOD, "chmod", shape{path: 1}},
		{unix.SYS_CHOWN, "chown", shape{path: 1}},
		{unix.SYS_LCHOWN, "lchown", shape{path: 1}},
	}
}

const sysFstatat = unix.SYS_NEWFSTATAT

const sysFstatatName = "newfstatat"

func oldLooks() []entry {
	return []entry{{unix.SYS_STAT, "stat", shape{path: 1}}, {unix.SYS_LSTAT, "lstat", shape{path: 1}}}
}

// opens says which argument of a call that opens has the flags.
func opens() map[int]uint32 {
	return map[int]uint32{unix.SYS_OPENAT: 2, unix.SYS_OPEN: 1}
}
