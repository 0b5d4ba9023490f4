package kernel

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// lastErrno is MAX_ERRNO: the kernel returns none above it.
const lastErrno = 4095

// errnos are all that have a name, and all that the kernel could return.
func errnos() (all []unix.Errno) {
	for e := unix.Errno(1); e <= lastErrno; e++ {
		all = append(all, e)
	}
	return all
}

// TestErrnoTable holds every errno against every object: the ones written here,
// for the second time, are absence, and no others.
func TestErrnoTable(t *testing.T) {
	t.Parallel()
	absent := map[Object][]string{
		ObjectLink:       {"ENODEV"},
		ObjectAddress:    {"EADDRNOTAVAIL", "ENXIO"},
		ObjectRoute:      {"ESRCH", "ENOENT"},
		ObjectRouteTable: {"ENOENT"},
		ObjectWay:        {"ENETUNREACH", "EHOSTUNREACH", "EACCES", "EINVAL"},
		ObjectRule:       {"ENOENT"},
		ObjectNeighbour:  {"ENOENT"},
		ObjectBridgeVLAN: {"ENOENT"},
		ObjectNamespace:  {"ENOENT", "ENOTDIR", "ENAMETOOLONG"},
		ObjectFile:       {"ENOENT", "ENOTDIR", "ENAMETOOLONG"},
		ObjectSysctl:     {"ENOENT"},
		ObjectTable:      {"ENOENT"},
		ObjectChain:      {"ENOENT"},
		ObjectNftRule:    {"ENOENT"},
		ObjectSet:        {"ENOENT"},
		ObjectElement:    {"ENOENT"},
		ObjectFamily:     {"ENOENT"},
	}
	for k := ObjectLink; k < objectEnd; k++ {
		want, ok := absent[k]
		if !ok {
			t.Errorf("object %d is not in the test", k)
		}
		for _, e := range errnos() {
			name := unix.ErrnoName(e)
			is := name != "" && slices.Contains(want, name)
			if name == "" {
				if Absent(k, e) {
					t.Errorf("object %d: %d, which has no name, is absence", k, e)
				}
				continue
			}
			for how, err := range map[string]error{
				"bare":    e,
				"wrapped": fmt.Errorf("look: %w", &Error{Op: "x.get", Errno: e}),
				"inner":   &Error{Op: "x.get", Errno: e, err: fmt.Errorf("open: %w", e)},
			} {
				if got := Absent(k, err); got != is {
					t.Errorf("object %d, %s %s (%d): absent is %v", k, how, name, e, got)
				}
			}
			if Absent(k, &Error{Errno: e, Unanswered: true}) {
				t.Errorf("object %d: %s is absence although nothing was answered", k, name)
			}
		}
		for _, err := range []error{nil, errors.New("x"), nl.ErrDumpInterrupted, &Error{err: nl.ErrDumpInterrupted}, unix.Errno(0)} {
			if Absent(k, err) {
				t.Errorf("object %d: %v is absence", k, err)
			}
		}
	}
	for _, k := range []Object{0, objectEnd, -1} {
		for _, e := range errnos() {
			if Absent(k, e) {
				t.Errorf("object %d is none, but %v is absence", k, e)
			}
		}
	}
}

// TestRule8PermanentRefusals: these, and no others, mean that the kernel has
// no such objects.
func TestRule8PermanentRefusals(t *testing.T) {
	t.Parallel()
	testPredicate(t, "Unsupported", Unsupported, "EOPNOTSUPP", "ENOTSUP", "EPROTONOSUPPORT", "EAFNOSUPPORT")
}

func TestErrnoPredicates(t *testing.T) {
	t.Parallel()
	testPredicate(t, "Exists", Exists, "EEXIST")
	testPredicate(t, "Busy", Busy, "EBUSY", "EAGAIN", "EWOULDBLOCK")
	testPredicate(t, "Refused", Refused, "EINVAL", "ERANGE", "EADDRNOTAVAIL", "EADDRINUSE")
	testPredicate(t, "Interrupted", Interrupted)
	testPredicate(t, "Unanswered", Unanswered)
}

func testPredicate(t *testing.T, what string, is func(error) bool, names ...string) {
	t.Helper()
	for _, e := range errnos() {
		want := slices.Contains(names, unix.ErrnoName(e))
		if got := is(fmt.Errorf("x: %w", &Error{Errno: e})); got != want {
			t.Errorf("%s(%s) is %v", what, unix.ErrnoName(e), got)
		}
		if want && is(&Error{Errno: e, Unanswered: true}) {
			t.Errorf("%s(%s) although nothing was answered", what, unix.ErrnoName(e))
		}
	}
	if is(nil) || is(errors.New("x")) {
		t.Errorf("%s of no error of the kernel", what)
	}
}

func TestErrorKeepsAllThatIsKnown(t *testing.T) {
	t.Parallel()
	e := &Error{Op: "link.add", Object: "eth0", Namespace: "/run/netns/x", Errno: unix.EINVAL, Message: "Too many"}
	if got, want := e.Error(), "link.add eth0 in /run/netns/x: invalid argument: Too many"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if !errors.Is(e, unix.EINVAL) {
		t.Error("the errno is lost")
	}
	e = &Error{Op: "link.add", Errno: unix.ENOBUFS, Unanswered: true}
	contains(t, e, "link.add: ", "no buffer space", "may have been done")
	inner := errors.New("inner")
	if !errors.Is(&Error{err: inner}, inner) {
		t.Error("the cause is lost")
	}
	if (&Error{Op: "x"}).Unwrap() != nil {
		t.Error("a cause out of nothing")
	}
}
