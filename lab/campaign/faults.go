package campaign

import (
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/fairlead-net/fairlead/lab/inject"
)

// A Fault is one thing that can go wrong at a point.
type Fault struct {
	Name    string
	Words   string // the same in a sentence
	verdict inject.Verdict
	gone    bool   // what the call is about is taken away just before
	again   bool   // what the call asks is asked by someone else just before
	scene   *scene // what else is so than before, for none of the kernel's answers
}

// A sort is what an event does, as far as what can go wrong there is the same.
type sort string

const (
	sortBegin    sort = "begin" // no call's: before the first one
	sortNone     sort = ""      // no point: nothing is asked of the kernel, or only what is nobody's record
	sortExec     sort = "exec"
	sortCreate   sort = "create a file"
	sortOpen     sort = "open for writing"
	sortLook     sort = "open to read"
	sortStat     sort = "look at a path"
	sortRead     sort = "read"
	sortSpaceOf  sort = "open a namespace"
	sortParam    sort = "open a kernel parameter"
	sortWrite    sort = "write a file"
	sortSetParam sort = "write a kernel parameter"
	sortPlace    sort = "make a name" // rename, link, symlink, mkdir
	sortUnlink   sort = "remove a name"
	sortFutile   sort = "what can't be done" // make what is there, remove what is not
	sortLock     sort = "lock"
	sortTryLock  sort = "try a lock"
	sortSync     sort = "sync"
	sortSpace    sort = "truncate or allocate"
	sortMode     sort = "change a file's attributes"
	sortMount    sort = "mount"
	sortUnmount  sort = "unmount"
	sortEnter    sort = "enter a namespace"
	sortUnshare  sort = "make a namespace"
	sortDevice   sort = "ioctl"
	sortSend     sort = "send a packet"
	sortMake     sort = "netlink: make"
	sortChange   sort = "netlink: change"
	sortRemove   sort = "netlink: remove"
	sortGet      sort = "netlink: look up"
	sortDump     sort = "netlink: list"
	sortReceive  sort = "netlink: receive"
	sortDumped   sort = "netlink: receive a list"
)

// changes tells whether such an event leaves the world another one, so that it
// matters whether a kill comes before or after it.
func (s sort) changes() bool {
	switch s {
	case sortBegin, sortNone, sortFutile, sortLook, sortStat, sortRead, sortSpaceOf, sortSend, sortGet, sortDump, sortReceive, sortDumped, sortEnter, sortParam, sortOpen:
		return false
	}
	return true
}

// errnos are what the kernel gives, on a machine in trouble, for a call that is
// right: it has no memory or no space, a disk fails, a file system was mounted
// read-only, a table or a limit is full, a security module or a user namespace
// refuses. What depends on a state that is not so (ENODEV for a link that is
// there) is no fault but a lie, and not here: for that, things are really taken
// away.
func errnos() map[sort][]unix.Errno {
	return map[sort][]unix.Errno{
		sortExec:     {unix.EAGAIN, unix.ENOMEM},
		sortCreate:   {unix.ENOSPC, unix.EROFS, unix.EMFILE, unix.EIO},
		sortOpen:     {unix.EROFS, unix.EMFILE, unix.EIO},
		sortLook:     {unix.EIO, unix.EMFILE, unix.EACCES},
		sortStat:     {unix.EIO, unix.EACCES},
		sortRead:     {unix.EIO},
		sortSpaceOf:  {unix.ENOMEM, unix.EMFILE, unix.ENFILE, unix.EACCES},
		sortParam:    {unix.EROFS, unix.EACCES},
		sortWrite:    {unix.ENOSPC, unix.EIO},
		sortSetParam: {unix.ENOMEM, unix.EPERM},
		sortPlace:    {unix.ENOSPC, unix.EROFS, unix.EIO},
		sortUnlink:   {unix.EROFS, unix.EIO},
		sortFutile:   {unix.ENOMEM},
		sortLock:     {unix.ENOMEM, unix.EINTR},
		sortTryLock:  {unix.ENOMEM},
		sortSync:     {unix.EIO, unix.ENOSPC},
		sortSpace:    {unix.ENOSPC, unix.EIO},
		sortMode:     {unix.EROFS, unix.EIO},
		sortMount:    {unix.ENOMEM, unix.ENOSPC, unix.EPERM},
		sortUnmount:  {unix.ENOMEM, unix.EPERM},
		sortEnter:    {unix.ENOMEM, unix.EPERM},
		sortUnshare:  {unix.ENOSPC, unix.ENOMEM, unix.EPERM},
		sortDevice:   {unix.ENOMEM, unix.EPERM},
		sortSend:     {unix.ENOBUFS, unix.EPERM},
		// Of the send itself: no buffer, or SELinux.
		sortMake:   {unix.ENOBUFS, unix.EACCES},
		sortChange: {unix.ENOBUFS, unix.EACCES},
		sortRemove: {unix.ENOBUFS, unix.EACCES},
		sortGet:    {unix.ENOBUFS, unix.EACCES},
		sortDump:   {unix.ENOBUFS, unix.EACCES},
		// The request was done, or not, and what the kernel said of it is lost.
		sortReceive: {unix.ENOBUFS, unix.ENOMEM},
		sortDumped:  {unix.ENOBUFS, unix.ENOMEM},
	}
}

// replies are errors that the kernel's answer to a netlink request can have.
func replies() map[sort][]unix.Errno {
	return map[sort][]unix.Errno{
		sortMake:   {unix.ENOMEM, unix.EPERM, unix.EOPNOTSUPP},
		sortChange: {unix.ENOMEM, unix.EPERM, unix.EBUSY},
		sortRemove: {unix.ENOMEM, unix.EPERM, unix.EBUSY},
		sortGet:    {unix.ENOMEM, unix.ENOBUFS, unix.EPERM},
	}
}

// allFaults are all there are, in the order of columns.
func allFaults() []Fault {
	var all []Fault
	for _, e := range []unix.Errno{
		unix.ENOSPC, unix.EROFS, unix.EIO, unix.ENOMEM, unix.ENOBUFS, unix.EMFILE, unix.ENFILE,
		unix.EAGAIN, unix.EINTR, unix.EPERM, unix.EACCES,
	} {
		all = append(all, errnoFault(e))
	}
	for _, e := range []unix.Errno{unix.ENOMEM, unix.ENOBUFS, unix.EPERM, unix.EBUSY, unix.EOPNOTSUPP} {
		all = append(all, replyFault(e))
	}
	all = append(all,
		Fault{Name: "short write", Words: "one byte is written", verdict: inject.Verdict{Short: 1}},
		Fault{Name: "interrupted", Words: "the list says that it was interrupted (NLM_F_DUMP_INTR)", verdict: inject.Verdict{Interrupt: true}},
		Fault{Name: "truncated", Words: "the list ends early, and says that it was interrupted", verdict: inject.Verdict{Interrupt: true, Truncate: true}},
		Fault{Name: "gone", Words: "what the call is about is taken away by someone else just before", gone: true},
		Fault{Name: "done before", Words: "someone else asks the same just before, so that there is nothing left to take away", again: true},
		Fault{Name: "kill before", Words: "the process is killed instead of making the call", verdict: inject.Verdict{Kill: inject.KillProcessBefore}},
		Fault{Name: "kill after", Words: "the process is killed after the call", verdict: inject.Verdict{Kill: inject.KillProcessAfter}},
		Fault{Name: "kill all before", Words: "the plugin and all its children are killed instead of making the call", verdict: inject.Verdict{Kill: inject.KillTreeBefore}},
		Fault{Name: "kill all after", Words: "the plugin and all its children are killed after the call", verdict: inject.Verdict{Kill: inject.KillTreeAfter}},
	)
	return append(all, sceneFaults()...)
}

// FaultNames are the names of all faults, in the order of columns.
func FaultNames() []string {
	var all []string
	for _, f := range allFaults() {
		all = append(all, f.Name)
	}
	return all
}

func errnoFault(e unix.Errno) Fault {
	return Fault{Name: unix.ErrnoName(e), Words: fmt.Sprintf("the call fails with %s (%s)", unix.ErrnoName(e), e.Error()), verdict: inject.Verdict{Errno: e}}
}

func replyFault(e unix.Errno) Fault {
	return Fault{Name: "reply " + unix.ErrnoName(e), Words: fmt.Sprintf("the kernel does not do it, and answers %s (%s)", unix.ErrnoName(e), e.Error()), verdict: inject.Verdict{Reply: e}}
}

// A place is what the table is asked about: an event of the trace without
// fault.
type place struct {
	sort     sort
	gone     bool     // what it is about can be taken away by someone else
	again    bool     // someone else can ask the same
	children bool     // a process has started others in this plugin's call
	scenes   []string // what else can be so, by the names of faults
}

// faultsAt are the faults of a place, in the order of columns.
func faultsAt(p place) []Fault {
	here := map[string]bool{"gone": p.gone, "done before": p.again}
	for _, e := range errnos()[p.sort] {
		here[errnoFault(e).Name] = true
	}
	for _, e := range replies()[p.sort] {
		here[replyFault(e).Name] = true
	}
	here["short write"] = p.sort == sortWrite
	here["interrupted"] = p.sort == sortDumped
	here["truncated"] = p.sort == sortDumped
	for _, when := range []string{"before", "after"} {
		here["kill "+when] = p.sort.changes()
		// Without children it is the same.
		here["kill all "+when] = p.sort.changes() && p.children
	}
	for _, name := range p.scenes {
		here[name] = true
	}
	var all []Fault
	for _, f := range allFaults() {
		if here[f.Name] {
			all = append(all, f)
		}
	}
	return all
}
