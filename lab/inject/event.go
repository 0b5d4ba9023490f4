package inject

import (
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// An Event is a call as people, and campaigns, understand it.
type Event struct {
	Call    string // "sendto", "openat"
	Kind    Kind
	PID     int
	Program string // base name of what the process executes, as it was called
	// Fresh: the process has executed nothing since it was forked. Go makes such
	// children to try what the kernel can do; they come and go as they like.
	Fresh bool

	Netlink  []Message // of a send: the requests; of a receive: those it answers
	Protocol int       // of a socket of netlink: unix.NETLINK_ROUTE
	Netns    uint64    // of a socket: SO_NETNS_COOKIE
	Receive  bool      // the call takes in

	Path, NewPath string   // absolute; of what a descriptor leads to as well
	Flags         int      // of an open, unshare, setns, mount; what flock, fcntl, ioctl, setsockopt are to do
	Size          int      // bytes of a write or send
	Argv          []string // of an exec

	// Text is one line that says all that. It has names and addresses, but no
	// sequence numbers, port numbers and descriptors, and interfaces by name: two
	// runs that do the same give the same.
	Text string
}

// Kind is what a call acts on.
type Kind int

// Other is what has no place in a file system and is no socket: pipes, eventfds,
// terminals. Go wakes itself by some of these, as often as it happens.
const (
	KindOther Kind = iota
	KindNetlink
	KindSocket // another one
	KindFile
	KindMount
	KindNamespace
	KindExec
	KindControl
)

// Event decodes the call.
func (c *Call) Event() (Event, error) {
	if c.event == nil {
		e, err := c.decode()
		if err != nil {
			return e, err
		}
		c.event = &e
	}
	return *c.event, nil
}

func (c *Call) decode() (Event, error) {
	k := c.session.known[c.Number]
	e := Event{Call: k.name, PID: c.process.pid, Receive: k.sort == sortReceive}
	if k.sort == sortUnknown {
		e.Call = "call " + strconv.Itoa(c.Number)
	}
	if err := c.process.look(c); err != nil {
		return e, err
	}
	e.Program, e.Fresh = c.process.program, c.process.fresh
	var err error
	switch k.sort {
	case sortUnknown:
		e.Text = e.Call
	case sortSend, sortReceive:
		err = c.decodeSocket(&e)
	case sortControl:
		c.decodeControl(&e)
	case sortFile:
		err = c.decodeFile(&e, k.shape)
	case sortRead:
		c.decodeRead(&e, k.shape)
	default:
		c.decodeOther(&e, k)
	}
	if gone := c.valid(); gone != nil {
		return e, gone
	}
	if err != nil {
		return e, fmt.Errorf("%s of process %d: %w", e.Call, e.PID, err)
	}
	return e, nil
}

// decodeOther decodes what is about mounts, namespaces and programs.
func (c *Call) decodeOther(e *Event, k known) {
	e.Path, e.NewPath = c.paths(k.shape)
	e.Flags = c.flags(k.shape)
	words := []string{e.Call}
	add := func(more ...string) {
		for _, w := range more {
			if w != "" {
				words = append(words, w)
			}
		}
	}
	switch k.sort {
	case sortExec:
		e.Kind = KindExec
		at := c.Args[1]
		if k.dir != 0 {
			at = c.Args[2]
		}
		e.Argv = c.texts(at)
		add(e.Path)
		if len(e.Argv) > 1 {
			add(strings.Join(e.Argv[1:], " "))
		}
	case sortNamespace:
		e.Kind = KindNamespace
		add(e.Path, cloneFlags(e.Flags))
	case sortMount:
		e.Kind = KindMount
		add(c.string(k.raw))
		add(e.Path, e.NewPath)
		if c.Number == unix.SYS_MOUNT {
			add(c.text(c.Args[2]), mountFlags(e.Flags))
		}
		if c.Number == unix.SYS_UMOUNT2 {
			add(umountFlags(e.Flags))
		}
	}
	e.Text = anonymous(strings.Join(words, " "))
}
