package inject

import (
	"strings"

	"golang.org/x/sys/unix"
)

// bit is a flag and its name.
type bit struct {
	value int
	name  string
}

// words names the flags that are set, of those that have names.
func words(flags int, names []bit) string {
	var set []string
	for _, b := range names {
		if flags&b.value == b.value {
			set = append(set, b.name)
			flags &^= b.value
		}
	}
	return strings.Join(set, "|")
}

// openFlags leaves out what every program of Go says (O_CLOEXEC) and what only
// says how large files may be.
func openFlags(flags int) string {
	return words(flags, []bit{
		{unix.O_WRONLY, "O_WRONLY"}, {unix.O_RDWR, "O_RDWR"},
		{unix.O_CREAT, "O_CREAT"}, {unix.O_EXCL, "O_EXCL"}, {unix.O_TRUNC, "O_TRUNC"},
		{unix.O_APPEND, "O_APPEND"}, {unix.O_TMPFILE, "O_TMPFILE"}, {unix.O_DIRECTORY, "O_DIRECTORY"},
		{unix.O_NOFOLLOW, "O_NOFOLLOW"}, {unix.O_SYNC, "O_SYNC"}, {unix.O_PATH, "O_PATH"},
	})
}

func cloneFlags(flags int) string {
	return words(flags, []bit{
		{unix.CLONE_NEWNET, "CLONE_NEWNET"}, {unix.CLONE_NEWNS, "CLONE_NEWNS"}, {unix.CLONE_NEWPID, "CLONE_NEWPID"},
		{unix.CLONE_NEWUSER, "CLONE_NEWUSER"}, {unix.CLONE_NEWUTS, "CLONE_NEWUTS"}, {unix.CLONE_NEWIPC, "CLONE_NEWIPC"},
		{unix.CLONE_NEWCGROUP, "CLONE_NEWCGROUP"}, {unix.CLONE_NEWTIME, "CLONE_NEWTIME"},
		{unix.CLONE_FS, "CLONE_FS"}, {unix.CLONE_FILES, "CLONE_FILES"},
	})
}

func mountFlags(flags int) string {
	return words(flags, []bit{
		{unix.MS_BIND, "MS_BIND"}, {unix.MS_REC, "MS_REC"}, {unix.MS_MOVE, "MS_MOVE"}, {unix.MS_REMOUNT, "MS_REMOUNT"},
		{unix.MS_SHARED, "MS_SHARED"}, {unix.MS_SLAVE, "MS_SLAVE"}, {unix.MS_PRIVATE, "MS_PRIVATE"},
		{unix.MS_UNBINDABLE, "MS_UNBINDABLE"}, {unix.MS_RDONLY, "MS_RDONLY"},
	})
}

func umountFlags(flags int) string {
	return words(flags, []bit{
		{unix.MNT_DETACH, "MNT_DETACH"}, {unix.MNT_FORCE, "MNT_FORCE"}, {unix.MNT_EXPIRE, "MNT_EXPIRE"},
		{unix.UMOUNT_NOFOLLOW, "UMOUNT_NOFOLLOW"},
	})
}
