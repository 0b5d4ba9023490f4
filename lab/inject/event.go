package inject

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
	Flags         int      // of an open, unshare, setns, mount; the operation of flock and fcntl
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
	e := Event{}
	for _, known := range all() {
		if known.number == c.Number {
			e.Call = known.name
		}
	}
	e.Text = e.Call
	var err error
	e.PID, err = c.Process()
	return e, err
}
