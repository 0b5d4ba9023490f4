package inject

import (
	"strings"

	"golang.org/x/sys/unix"
)

// made is a call that was made, and where in the program.
type made struct {
	tid, number int
	at          uint64
	args        [6]uint64
}

// again tells whether the kernel itself has started a call anew, of which the
// program knows nothing. It does so with a setting of the network while somebody
// else changes the network, often hundreds of times, and with waiting for a lock
// when a signal comes. Both are the same when done twice, so that a program that
// did make the call twice is not missed.
func (c *Call) again() bool {
	now := made{c.TID, c.Number, c.at, c.Args}
	before := c.process.last
	c.process.last = now
	if now != before {
		return false
	}
	switch c.Number {
	case unix.SYS_WRITE, unix.SYS_PWRITE64:
		path := c.leadsTo(int(int32(c.Args[0])))
		return strings.HasPrefix(path, "/proc/sys/") || strings.HasPrefix(path, "/sys/")
	case unix.SYS_FLOCK:
		return c.Args[1]&unix.LOCK_NB == 0
	case unix.SYS_FCNTL:
		return c.Args[1] == unix.F_SETLKW || c.Args[1] == unix.F_OFD_SETLKW
	}
	return false
}
