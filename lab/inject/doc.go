// Package inject runs a command, unmodified, under a seccomp filter that hands
// chosen system calls to a hook before they are made: of all its threads and
// children. The hook may look at the call, do anything in the meantime, and let
// it go on, or have it fail, half done, forged, or its maker killed: a Verdict
// says which. It is how a race is forced, and a fault is made, at a given point.
// It needs root and Linux 5.19, no cgo and no ptrace.
//
// A filter can only be put on oneself, and stays. So a launcher stands between:
// this program once more, which puts the filter on one of its threads, starts
// the command by it, and sends the descriptor that the calls are heard by. A
// program that uses this package calls Launch first of all. The launcher stays
// the command's parent, and whoever is orphaned comes to it: it makes them all
// end when the supervisor, which is the program that has the hook, does not live
// to do so. The rest of what it does is not to be noticed: standard streams,
// descriptors, environment, status and signals are as without it.
//
// Calls are counted, and points are named, by process and by what an Event says,
// never by thread: Go's goroutines change theirs. A process that has executed
// nothing since it was forked (Event.Fresh) does not count at all.
//
// What may enter: ways to notice, understand and answer system calls. What may
// not: what to do about them, which is the hook's; anything of CNI.
package inject
