package main

import (
	"encoding/gob"
	"io"
	"sync"
)

// command is what the guest is asked to run.
type command struct {
	Argv []string
	Env  []string // the whole environment, as NAME=VALUE
	Dir  string   // the working directory, as the host names it
}

// frameKind says what a frame carries.
type frameKind byte

const (
	frameHello    frameKind = iota + 1 // guest: ready for commands
	frameAlive                         // guest: still there; sent every aliveInterval
	frameStart                         // host: run Command
	frameStdin                         // host: Data for standard input; none means its end
	frameKill                          // host: kill the command
	frameStdout                        // guest: Data from standard output
	frameStderr                        // guest: Data from standard error
	frameExit                          // guest: ended with Status
	frameNotFound                      // guest: could not be started; Data says why, Status is the shell's
)

// frame is one message between host and guest, or between the server in the
// host and its clients (serve.go).
type frame struct {
	Run     int // the command it belongs to, numbered by the host
	Kind    frameKind
	Data    []byte
	Status  int // 0 to 255, as a shell says it: 128+n for death by signal n
	Command *command
}

// link sends and receives frames. Sending is safe for concurrent use,
// receiving is for one goroutine.
type link struct {
	mu  sync.Mutex
	enc *gob.Encoder
	dec *gob.Decoder
}

func newLink(rw io.ReadWriter) *link {
	return &link{enc: gob.NewEncoder(rw), dec: gob.NewDecoder(rw)}
}

func (l *link) send(f frame) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.enc.Encode(f)
}

func (l *link) receive() (frame, error) {
	var f frame
	err := l.dec.Decode(&f)
	return f, err
}

// writer returns an io.Writer whose every Write is one frame.
func (l *link) writer(run int, kind frameKind) io.Writer {
	return frameWriter{l, run, kind}
}

type frameWriter struct {
	link *link
	run  int
	kind frameKind
}

func (w frameWriter) Write(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	if err := w.link.send(frame{Run: w.run, Kind: w.kind, Data: p}); err != nil {
		return 0, err
	}
	return len(p), nil
}

// sendInput forwards r as standard input of run, and then its end.
func (l *link) sendInput(run int, r io.Reader) {
	// An error here means that the other side is gone, which its reader reports.
	_, _ = io.Copy(l.writer(run, frameStdin), r)
	_ = l.send(frame{Run: run, Kind: frameStdin})
}
