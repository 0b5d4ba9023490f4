package campaign

import (
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/fairlead-net/fairlead/lab/inject"
)

// sortOf says what an event does. What is no sort is no point: what is read of
// the machine's own files, output, and what a child does before it executes a program: Go makes children that
// only try what the kernel can do.
func sortOf(e inject.Event) sort {
	if e.Fresh && e.Kind != inject.KindExec {
		return sortNone
	}
	switch e.Kind {
	case inject.KindNetlink:
		return netlinkSort(e)
	case inject.KindSocket:
		if !e.Receive {
			return sortSend
		}
	case inject.KindFile:
		return fileSort(e)
	case inject.KindMount:
		if e.Call == "umount2" {
			return sortUnmount
		}
		return sortMount
	case inject.KindNamespace:
		if e.Call == "unshare" {
			return unshareSort(e)
		}
		return sortEnter
	case inject.KindExec:
		return sortExec
	}
	return sortNone
}

// unshareSort leaves out what every thread of Go that changes a mount does to
// itself only.
func unshareSort(e inject.Event) sort {
	if e.Flags&^unix.CLONE_FS == 0 {
		return sortNone
	}
	return sortUnshare
}

// records are where a host has what plugins and runtimes write down: its own,
// and empty at the start, so that all that is there is of the network. What is
// looked at elsewhere (programs, libraries, the kernel's own files) is no point.
func records() []string { return []string{"/run/", "/var/run/", "/var/lib/"} }

// spacesDir is where the namespaces of containers are.
const spacesDir = "/run/netns/"

// lookSort is what a look at a path, or the reading of a file, is: a point where
// its answer can decide what is taken away.
func lookSort(e inject.Event, s sort) sort {
	if !slices.ContainsFunc(records(), func(dir string) bool { return strings.HasPrefix(e.Path, dir) }) {
		return sortNone
	}
	if s == sortLook && strings.HasPrefix(e.Path, spacesDir) {
		return sortSpaceOf
	}
	return s
}

// looks tells whether an event changes nothing, but looks at a file.
func looks(e inject.Event) bool {
	if e.Kind != inject.KindFile {
		return false
	}
	switch e.Call {
	case "read", "pread64", "getdents64", "stat", "lstat", "newfstatat", "fstatat", "statx":
		return true
	case "open", "openat", "openat2":
		return e.Flags&(unix.O_ACCMODE|unix.O_TRUNC|unix.O_CREAT|unix.O_TMPFILE&^unix.O_DIRECTORY) == unix.O_RDONLY
	}
	return false
}

func fileSort(e inject.Event) sort {
	param := strings.HasPrefix(e.Path, "/proc/sys/")
	if !param && (strings.HasPrefix(e.Path, "/dev/") || strings.HasPrefix(e.Path, "/proc/")) {
		return sortNone
	}
	switch e.Call {
	case "open", "openat", "openat2", "creat":
		return openSort(e, param)
	case "read", "pread64", "getdents64":
		return lookSort(e, sortRead)
	case "stat", "lstat", "newfstatat", "fstatat", "statx":
		return lookSort(e, sortStat)
	case "write", "writev", "pwrite64", "pwritev", "pwritev2", "copy_file_range", "sendfile":
		if param {
			return sortSetParam
		}
		return sortWrite
	case "rename", "renameat", "renameat2", "link", "linkat", "symlink", "symlinkat", "mkdir", "mkdirat", "mknod", "mknodat":
		return sortPlace
	case "unlink", "unlinkat", "rmdir":
		return sortUnlink
	case "flock", "fcntl":
		return lockSort(e)
	case "fsync", "fdatasync":
		return sortSync
	case "truncate", "ftruncate", "fallocate":
		return sortSpace
	case "ioctl":
		return sortDevice
	}
	return sortMode // chmod, chown
}

func openSort(e inject.Event, param bool) sort {
	switch {
	case looks(e):
		return lookSort(e, sortLook)
	case param:
		return sortParam
	case e.Call == "creat" || e.Flags&(unix.O_CREAT|unix.O_TMPFILE&^unix.O_DIRECTORY) != 0:
		return sortCreate
	}
	return sortOpen
}

func lockSort(e inject.Event) sort {
	switch {
	case e.Call == "fcntl":
		if e.Flags == unix.F_SETLK || e.Flags == unix.F_OFD_SETLK {
			return sortTryLock
		}
	case e.Flags&unix.LOCK_UN != 0:
		return sortNone
	case e.Flags&unix.LOCK_NB != 0:
		return sortTryLock
	}
	return sortLock
}

// netlinkSort takes the first request that changes something, else the first.
func netlinkSort(e inject.Event) sort {
	found := sortNone
	for _, m := range e.Netlink {
		s := requestSort(e.Protocol, m)
		if s == sortNone {
			continue
		}
		if found == sortNone || s.changes() && !found.changes() || s != sortRemove && found == sortRemove && s.changes() {
			found = s
		}
	}
	switch {
	case !e.Receive:
		return found
	case found == sortDump:
		return sortDumped
	}
	return sortReceive
}

// The kinds of requests of rtnetlink, in the two lowest bits of the type.
const (
	routeNew = iota
	routeDel
	routeGet
	routeSet
)

func requestSort(protocol int, m inject.Message) sort {
	switch protocol {
	case unix.NETLINK_ROUTE:
		return routeSort(m)
	case unix.NETLINK_NETFILTER:
		return netfilterSort(m)
	case unix.NETLINK_GENERIC:
		if m.Type == unix.GENL_ID_CTRL {
			return sortGet
		}
		return sortChange
	}
	return sortChange
}

func routeSort(m inject.Message) sort {
	if m.Type < unix.RTM_BASE {
		return sortNone
	}
	switch (m.Type - unix.RTM_BASE) & 3 {
	case routeNew:
		if m.Flags&unix.NLM_F_CREATE != 0 {
			return sortMake
		}
		return sortChange
	case routeDel:
		return sortRemove
	case routeSet:
		return sortChange
	}
	return listing(m)
}

func listing(m inject.Message) sort {
	if m.Flags&unix.NLM_F_DUMP == unix.NLM_F_DUMP {
		return sortDump
	}
	return sortGet
}

// Messages of conntrack: IPCTNL_MSG_CT_GET and _DELETE.
const (
	conntrackGet    = 1
	conntrackDelete = 2
)

// netfilterSort knows the messages of nftables and of conntrack.
func netfilterSort(m inject.Message) sort {
	what := int(m.Type & 0xff)
	switch m.Type >> 8 {
	case unix.NFNL_SUBSYS_NONE:
		return sortNone // begin and end of a batch
	case unix.NFNL_SUBSYS_NFTABLES:
		switch what {
		case unix.NFT_MSG_GETTABLE, unix.NFT_MSG_GETCHAIN, unix.NFT_MSG_GETRULE, unix.NFT_MSG_GETSET, unix.NFT_MSG_GETSETELEM, unix.NFT_MSG_GETGEN, unix.NFT_MSG_GETOBJ, unix.NFT_MSG_GETFLOWTABLE:
			return listing(m)
		case unix.NFT_MSG_DELTABLE, unix.NFT_MSG_DELCHAIN, unix.NFT_MSG_DELRULE, unix.NFT_MSG_DELSET, unix.NFT_MSG_DELSETELEM, unix.NFT_MSG_DELOBJ, unix.NFT_MSG_DELFLOWTABLE:
			return sortRemove
		}
		return sortMake
	case unix.NFNL_SUBSYS_CTNETLINK:
		switch what {
		case conntrackGet:
			return listing(m)
		case conntrackDelete:
			return sortRemove
		}
		return sortChange
	case unix.NFNL_SUBSYS_NFT_COMPAT:
		return sortGet
	}
	return sortChange
}
