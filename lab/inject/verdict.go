package inject

import "golang.org/x/sys/unix"

// A Verdict says how a call goes on. The zero value lets it be made. At most one
// field is set. What can't be carried out (a short write of a socket) is an
// error of Session.Wait, and the call is made.
type Verdict struct {
	// Errno, if not 0, is what the call fails with instead of being made.
	Errno unix.Errno

	// Short, if not 0, makes a write to a file stop after so many bytes. They
	// are really written.
	Short int

	// Reply, if not 0, is what the kernel answers to a netlink request that is
	// not made: at a send. Of a batch of netfilter the first request is what
	// fails, and the batch with it. It takes effect when the answer is received,
	// so Receives must be trapped too.
	Reply unix.Errno

	// Interrupt, at a receive, marks the messages of a dump as inconsistent
	// (NLM_F_DUMP_INTR), as the kernel does when something changed meanwhile.
	// Truncate does so too, and leaves half of the entries out. What is received
	// next and is part of a dump is marked, if this is not.
	Interrupt, Truncate bool

	// Kill kills the caller, or everybody.
	Kill Kill
}

// Kill says who is killed, and when.
type Kill int

// A tree is the command and all that came of it. To kill it is sticky: whoever
// shows up later is killed as well. After is when the call was made: at the next
// trapped call of the same process, which is not made; if there is none, nobody
// is killed (Session.Outstanding tells).
const (
	KillNone Kill = iota
	KillProcessBefore
	KillProcessAfter
	KillTreeBefore
	KillTreeAfter
)
