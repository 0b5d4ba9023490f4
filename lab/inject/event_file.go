package inject

import (
	"encoding/binary"
	"path"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// argument is one of the call's, counted from 1.
func (c *Call) argument(n int) uint64 {
	if n == 0 {
		return 0
	}
	return c.Args[n-1]
}

// string is a string argument, counted from 1.
func (c *Call) string(n int) string { return c.text(c.argument(n)) }

func (c *Call) flags(s shape) int {
	if c.Number == unix.SYS_OPENAT2 { // struct open_how begins with them
		if b, err := c.read(c.Args[2], 8); err == nil {
			return int(binary.NativeEndian.Uint64(b))
		}
	}
	return int(int32(c.argument(s.flags)))
}

// paths are what the call acts on, by absolute paths.
func (c *Call) paths(s shape) (first, second string) {
	switch {
	case s.fd != 0:
		first = c.leadsTo(int(int32(c.argument(s.fd))))
	case s.path != 0:
		first = c.absolute(s.dir, s.path)
	}
	if s.newPath != 0 {
		second = c.absolute(s.newDir, s.newPath)
	}
	return first, second
}

// absolute makes a path absolute, as the caller sees files. Links are left.
func (c *Call) absolute(dir, name int) string {
	p := c.string(name)
	if path.IsAbs(p) {
		return path.Clean(p)
	}
	var base string
	if fd := int(int32(c.argument(dir))); dir == 0 || fd == unix.AT_FDCWD {
		base = c.link("cwd")
	} else {
		base = c.leadsTo(fd)
	}
	return path.Join(base, p)
}

// leadsTo says what a descriptor leads to: a path, or "pipe", "socket",
// "anon_inode:[eventfd]", "net" (a namespace).
func (c *Call) leadsTo(fd int) string {
	l := strings.TrimSuffix(c.link("fd/"+strconv.Itoa(fd)), " (deleted)")
	if path.IsAbs(l) {
		return l
	}
	if what, rest, ok := strings.Cut(l, ":["); ok && strings.Trim(rest, "0123456789]") == "" {
		return what
	}
	return l
}

// link reads a link of the caller's in /proc; "" when it can't be, which is how
// a call is that will fail.
func (c *Call) link(name string) string {
	b := make([]byte, stringMax)
	n, err := unix.Readlink("/proc/"+strconv.Itoa(c.TID)+"/"+name, b)
	if err != nil {
		return ""
	}
	return string(b[:n])
}

// decodeFile decodes what is about files, and writes to whatever it be.
func (c *Call) decodeFile(e *Event, s shape) error {
	e.Path, e.NewPath = c.paths(s)
	e.Flags, e.Size = c.flags(s), int(c.argument(s.size))
	e.Kind = KindFile
	switch {
	case s.fd != 0 && e.Path == "socket":
		return c.decodeSocket(e)
	case !path.IsAbs(e.Path), strings.HasPrefix(e.Path, "/dev/") && !strings.HasPrefix(e.Path, "/dev/net/"):
		e.Kind = KindOther
	}
	if c.Number == unix.SYS_WRITEV || c.Number == unix.SYS_PWRITEV || c.Number == unix.SYS_PWRITEV2 {
		parts, err := c.vector(c.Args[1], c.Args[2])
		if err != nil {
			return err
		}
		e.Size = room(parts)
	}
	words := []string{e.Call, e.Path}
	if raw := c.string(s.raw); s.raw != 0 {
		words = []string{e.Call, raw, e.Path}
	}
	if e.NewPath != "" {
		words = append(words, e.NewPath)
	}
	if f := c.fileFlags(e); f != "" {
		words = append(words, f)
	}
	e.Text = anonymous(strings.Join(words, " "))
	return nil
}

// decodeRead decodes what looks at a file, or reads it. A look at what is open
// already is no look at a path.
func (c *Call) decodeRead(e *Event, s shape) {
	e.Flags, e.Size = c.flags(s), int(c.argument(s.size))
	if e.Path, _ = c.paths(s); path.IsAbs(e.Path) && (s.path == 0 || c.string(s.path) != "") {
		e.Kind = KindFile
	}
	e.Text = anonymous(e.Call + " " + e.Path)
}

// fileFlags says what the flags of a call about files mean.
func (c *Call) fileFlags(e *Event) string {
	switch e.Call {
	case "open", "openat", "openat2":
		return openFlags(e.Flags)
	case "unlinkat":
		return words(e.Flags, []bit{{unix.AT_REMOVEDIR, "AT_REMOVEDIR"}})
	case "flock":
		return words(e.Flags, []bit{
			{unix.LOCK_SH, "LOCK_SH"}, {unix.LOCK_EX, "LOCK_EX"}, {unix.LOCK_UN, "LOCK_UN"}, {unix.LOCK_NB, "LOCK_NB"},
		})
	case "fcntl":
		return c.lock(e.Flags)
	}
	return ""
}

// lock says what a lock by fcntl is to be.
func (c *Call) lock(operation int) string {
	name := map[int]string{
		unix.F_SETLK: "F_SETLK", unix.F_SETLKW: "F_SETLKW",
		unix.F_OFD_SETLK: "F_OFD_SETLK", unix.F_OFD_SETLKW: "F_OFD_SETLKW",
	}[operation]
	b, err := c.read(c.Args[2], 2) // struct flock begins with the type
	if err != nil {
		return name
	}
	switch binary.NativeEndian.Uint16(b) {
	case unix.F_RDLCK:
		return name + " F_RDLCK"
	case unix.F_WRLCK:
		return name + " F_WRLCK"
	}
	return name + " F_UNLCK"
}

// anonymous takes the numbers of processes, threads and descriptors out of paths
// in /proc.
func anonymous(text string) string {
	if !strings.Contains(text, "/proc/") {
		return text
	}
	parts := strings.Split(text, "/")
	for i := 1; i < len(parts); i++ {
		switch number, rest, _ := strings.Cut(parts[i], " "); {
		case number == "" || strings.Trim(number, "0123456789") != "":
		case parts[i-1] == "proc" || parts[i-1] == "task" || parts[i-1] == "fd":
			parts[i] = "*"
			if rest != "" {
				parts[i] += " " + rest
			}
		}
	}
	return strings.Join(parts, "/")
}
