// Package inject runs a command, unmodified, under a seccomp filter that hands
// chosen system calls to a hook before they are made: of all its threads and
// children. The hook may look at the call, do anything in the meantime, and let
// it go on, or fail. It is how a race is forced, and a fault is made, at a given
// point. It needs root and Linux 5.19, no cgo and no ptrace.
//
// A filter can only be put on oneself, and stays. So a launcher stands between:
// this program once more, which puts the filter on the thread that then
// executes the command, and sends the descriptor that the calls are heard by.
// A program that uses this package calls Launch first of all.
//
// What may enter: ways to notice, understand and answer system calls. What may
// not: what to do about them, which is the hook's; anything of CNI.
package inject
