package inject

import (
	"encoding/binary"
	"fmt"

	"golang.org/x/sys/unix"
)

// ofDump tells whether a datagram is part of a dump.
func ofDump(data []byte) bool {
	all := Messages(data)
	return len(all) > 0 && all[0].Flags&unix.NLM_F_MULTI != 0
}

// spoil makes of a datagram of a dump what it would be if what is listed had
// changed meanwhile. If nothing of it would be left, the next takes its place.
func (v Verdict) spoil(fd int, d datagram) (datagram, error) {
	d.data = v.mark(d.data)
	for len(d.data) == 0 {
		if _, err := take(fd, 0); err != nil {
			return d, fmt.Errorf("truncate a dump: %w", err)
		}
		next, err := take(fd, unix.MSG_PEEK)
		if err != nil {
			return d, fmt.Errorf("truncate a dump: what follows: %w", err)
		}
		next.data = v.mark(next.data)
		d = next
	}
	return d, nil
}

// mark gives all messages NLM_F_DUMP_INTR; to truncate, the latter half of the
// entries are left out, and of one, that one.
func (v Verdict) mark(data []byte) []byte {
	all := Messages(data)
	entries := 0
	for _, m := range all {
		if m.Type >= unix.NLMSG_MIN_TYPE {
			entries++
		}
	}
	keep := entries
	if v.Truncate {
		keep = entries / 2
	}
	var marked []byte
	for _, m := range all {
		if m.Type >= unix.NLMSG_MIN_TYPE {
			if keep == 0 {
				continue
			}
			keep--
		}
		b := make([]byte, align(len(m.whole)))
		copy(b, m.whole)
		binary.NativeEndian.PutUint16(b[nlFlagsAt:], m.Flags|unix.NLM_F_DUMP_INTR)
		marked = append(marked, b...)
	}
	return marked
}
