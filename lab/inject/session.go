package inject

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// A Hook is called before each trapped call is made, while the calling thread
// waits; one call at a time. It may do anything in the meantime.
type Hook func(*Call) Verdict

// A Session is a command under the filter. Its maps belong to the goroutine that
// serves.
type Session struct {
	hook   Hook
	wanted map[int]bool // calls that the hook hears of
	known  map[int]known
	cmd    *exec.Cmd
	ours   *os.File // the launcher takes the end of it for the end of us
	theirs *os.File
	done   chan error
	wrong  []error

	launcher int  // process
	begun    bool // the command is executed
	table    table
	doomed   atomic.Bool // all are to be killed, now and later

	sockets  map[uint64]socket    // by SO_COOKIE
	requests map[uint64][]Message // what was last sent by a socket
	names    map[linkKey]string
	families map[uint16]string // of generic netlink

	promised sync.Mutex // guards what Outstanding tells
	answers  []answer
	dumps    map[uint64]Verdict // what is to become of the next dump, by socket
}

func newSession(cmd *exec.Cmd, calls []int, hook Hook) *Session {
	s := &Session{
		hook: hook, cmd: cmd, done: make(chan error, 1), wanted: map[int]bool{}, known: byNumber(),
		table:   table{threads: map[int]thread{}},
		sockets: map[uint64]socket{}, requests: map[uint64][]Message{},
		names: map[linkKey]string{}, families: map[uint16]string{},
		dumps: map[uint64]Verdict{},
	}
	for _, c := range calls {
		s.wanted[c] = true
	}
	return s
}

// Kill kills the command and all that came of it, and whoever of it shows up
// later. When it returns, those that were found have ended.
func (s *Session) Kill() {
	s.doomed.Store(true)
	// Who is not below the launcher any more was seen at least.
	defer s.table.kill(s.launcher)
	commands := children(s.launcher)
	if len(commands) == 0 {
		return
	}
	// The command goes last: with it the launcher goes, to which orphans come.
	// Stopped, it makes no more children.
	command, err := unix.PidfdOpen(commands[0], 0)
	if err != nil {
		return
	}
	defer unix.Close(command)
	_ = unix.PidfdSendSignal(command, unix.SIGSTOP, nil, 0) // it may have ended
	killBelow(s.launcher, commands[0])
	killAndWait(command)
}

// A Process is one that was seen.
type Process struct {
	PID     int
	Program string
}

// Alive are the processes that were seen and have not ended: asked when the
// command has, and before Wait, those it left behind.
func (s *Session) Alive() []Process {
	var all []Process
	for _, p := range s.table.living() {
		if p.pid != s.launcher {
			all = append(all, Process{p.pid, comm(p.pid)})
		}
	}
	return all
}

// Outstanding tells, of what verdicts promised for later, what has not come to
// pass: a kill after a call that was the last, an error that nobody received.
func (s *Session) Outstanding() []string {
	var all []string
	for _, p := range s.table.awaited() {
		all = append(all, fmt.Sprintf("process %d made no other call to be killed at", p.pid))
	}
	s.promised.Lock()
	defer s.promised.Unlock()
	for _, a := range s.answers {
		if a.errno != 0 {
			all = append(all, "nobody received: "+a.errno.Error())
		}
	}
	for range s.dumps {
		all = append(all, "no dump was received")
	}
	return slices.Clip(all)
}

// fail notes what could not be done as a verdict said.
func (s *Session) fail(err error) {
	if err != nil && !errors.Is(err, ErrGone) {
		s.wrong = append(s.wrong, err)
	}
}
