package kernel

import (
	"errors"
	"slices"

	"golang.org/x/sys/unix"
)

// Object is a sort of thing that can be looked up, or removed.
type Object int

// The sorts of things. Each has its own errnos for "there is none".
const (
	ObjectLink Object = iota + 1
	ObjectAddress
	ObjectRoute
	ObjectRouteTable
	ObjectWay // where a packet would go
	ObjectRule
	ObjectNeighbour
	ObjectBridgeVLAN
	ObjectNamespace
	ObjectFile
	ObjectSysctl
	ObjectTable
	ObjectChain
	ObjectNftRule
	ObjectSet
	ObjectElement
	ObjectFamily // of generic netlink

	objectEnd
)

// absence is the errno table: the errnos by which the kernel says that there
// is none. Every other errno means that we could not find out.
func absence(k Object) []unix.Errno {
	switch k {
	case ObjectLink:
		return []unix.Errno{unix.ENODEV}
	case ObjectAddress:
		// ENXIO: IPv6 is off on this link, so it has no address of that family.
		return []unix.Errno{unix.EADDRNOTAVAIL, unix.ENXIO}
	case ObjectRoute:
		// ENOENT: IPv6's word for a default route that is not there.
		return []unix.Errno{unix.ESRCH, unix.ENOENT}
	case ObjectWay:
		// EACCES and EINVAL: a route of type prohibit, or blackhole.
		return []unix.Errno{unix.ENETUNREACH, unix.EHOSTUNREACH, unix.EACCES, unix.EINVAL}
	case ObjectNamespace, ObjectFile:
		// ENOTDIR: the path goes on below what is no directory. ENAMETOOLONG:
		// nobody can have made a file of such a name.
		return []unix.Errno{unix.ENOENT, unix.ENOTDIR, unix.ENAMETOOLONG}
	case ObjectRouteTable, ObjectRule, ObjectNeighbour, ObjectBridgeVLAN, ObjectSysctl,
		ObjectTable, ObjectChain, ObjectNftRule, ObjectSet, ObjectElement, ObjectFamily:
		return []unix.Errno{unix.ENOENT}
	}
	return nil
}

// Absent says that err, got from a look-up or a removal, is the kernel's
// statement that there is no such object. It is false for nil.
func Absent(k Object, err error) bool {
	errno, ok := answered(err)
	return ok && slices.Contains(absence(k), errno)
}

// Unsupported says that this kernel has no such thing, so that none can exist
// (rule 8).
func Unsupported(err error) bool {
	errno, ok := answered(err)
	return ok && (errno == unix.EOPNOTSUPP || errno == unix.EPROTONOSUPPORT || errno == unix.EAFNOSUPPORT)
}

// Exists says that something of that name or key is there already.
func Exists(err error) bool {
	errno, ok := answered(err)
	return ok && errno == unix.EEXIST
}

// Busy says that the call can be tried again later.
func Busy(err error) bool {
	errno, ok := answered(err)
	return ok && (errno == unix.EBUSY || errno == unix.EAGAIN)
}

// Refused says that the kernel does not take the value that it was given, and
// will not take it at the next try.
func Refused(err error) bool {
	errno, ok := answered(err)
	return ok && (errno == unix.EINVAL || errno == unix.ERANGE || errno == unix.EADDRNOTAVAIL || errno == unix.EADDRINUSE)
}

// Denied says that the caller may not do this here: it lacks the right, or what
// it would write is mounted read-only.
func Denied(err error) bool {
	errno, ok := answered(err)
	return ok && (errno == unix.EROFS || errno == unix.EACCES || errno == unix.EPERM)
}

// answered gives the errno of err if it is an answer of the kernel to the
// call: neither an interrupted dump nor a lost answer is one.
func answered(err error) (unix.Errno, bool) {
	if err == nil || Unanswered(err) || Interrupted(err) {
		return 0, false
	}
	var errno unix.Errno
	ok := errors.As(err, &errno)
	return errno, ok
}
