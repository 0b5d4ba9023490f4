package kernel

import (
	"errors"
	"strings"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// Error is a call of this package that failed.
type Error struct {
	Op        string     // the call: "link.add"
	Object    string     // what it was about: "eth0"
	Namespace string     // where: "host", or the path of the namespace
	Errno     unix.Errno // 0 when the failure was none of the kernel's
	Message   string     // the kernel's own words (extended acknowledgement), if any
	// Unanswered: the request was sent, and no answer was read. It may have
	// been carried out.
	Unanswered bool

	err error
}

// Error gives all that is known, in one line.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.Op)
	if e.Object != "" {
		b.WriteString(" " + e.Object)
	}
	if e.Namespace != "" {
		b.WriteString(" in " + e.Namespace)
	}
	b.WriteString(": ")
	switch {
	case e.err != nil:
		b.WriteString(e.err.Error())
	case e.Errno != 0:
		b.WriteString(e.Errno.Error())
	}
	if e.Message != "" {
		b.WriteString(": " + e.Message)
	}
	if e.Unanswered {
		b.WriteString(" (no answer was read: it may have been done)")
	}
	return b.String()
}

// Unwrap gives the cause, or the errno.
func (e *Error) Unwrap() error {
	if e.err != nil {
		return e.err
	}
	if e.Errno != 0 {
		return e.Errno
	}
	return nil
}

// wrap completes err with where it happened. What is known already is kept.
func (n *Namespace) wrap(op, object string, err error) error {
	if err == nil {
		return nil
	}
	switch known := err.(type) { //nolint:errorlint // what wraps one of these has words of its own
	case *Error:
		c := *known
		if c.Op == "" {
			c.Op, c.Object, c.Namespace = op, object, n.name
		}
		return &c
	case unix.Errno:
		return &Error{Op: op, Object: object, Namespace: n.name, Errno: known}
	}
	return &Error{Op: op, Object: object, Namespace: n.name, Errno: errnoOf(err), err: err}
}

// Interrupted says that a list changed while it was read, each time that it
// was tried. What was read is not given.
func Interrupted(err error) bool { return errors.Is(err, nl.ErrDumpInterrupted) }

// Unanswered says that the request was sent and no answer was read: it may
// have been carried out.
func Unanswered(err error) bool {
	var e *Error
	return errors.As(err, &e) && e.Unanswered
}
