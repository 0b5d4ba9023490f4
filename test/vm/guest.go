package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// portName names the virtio port between host and guest.
	portName = "fairlead"
	// aliveInterval is how often the guest says that it is alive.
	aliveInterval = time.Second
	// drainDelay is how long output is awaited that processes left behind by
	// a command hold open, as os/exec's WaitDelay.
	drainDelay = 2 * time.Second
	// consolePrefix marks what the guest's init itself says on the console.
	consolePrefix = "fairlead-vm: "
)

// guestMain is the guest's init. It never returns: the host kills the machine.
// When init cannot go on it ends, and the kernel panics, which the host sees.
func guestMain() {
	fmt.Println(consolePrefix + guest().Error())
	os.Exit(1)
}

// guest serves the host; it returns only on failure.
func guest() error {
	if err := setUpRoot(); err != nil {
		return err
	}
	port, err := openPort(portName)
	if err != nil {
		return err
	}
	g := &guestRuns{
		link: newLink(port),
		runs: map[int]*guestRun{},
		dead: map[int]chan unix.WaitStatus{},
	}
	go g.reap()
	if err := g.link.send(frame{Kind: frameHello}); err != nil {
		return fmt.Errorf("greeting the host: %w", err)
	}
	go g.sayAlive()
	for {
		f, err := g.link.receive()
		if err != nil {
			return fmt.Errorf("reading from the host: %w", err)
		}
		g.handle(f)
	}
}

// openPort opens the virtio port of that name; the device appears some time
// after its driver was loaded.
func openPort(name string) (*os.File, error) {
	const attempts, pause = 1000, 10 * time.Millisecond
	for range attempts {
		names, err := filepath.Glob("/sys/class/virtio-ports/*/name")
		if err != nil {
			return nil, err
		}
		for _, n := range names {
			if got, err := os.ReadFile(n); err == nil && strings.TrimSpace(string(got)) == name {
				return os.OpenFile("/dev/"+filepath.Base(filepath.Dir(n)), os.O_RDWR, 0)
			}
		}
		time.Sleep(pause)
	}
	return nil, fmt.Errorf("no virtio port named %q appeared", name)
}

// guestRuns are the commands that run in the guest.
type guestRuns struct {
	link *link

	mu   sync.Mutex
	runs map[int]*guestRun            // by the host's number
	dead map[int]chan unix.WaitStatus // by pid; takes the status from reap
}

type guestRun struct {
	pid   int
	stdin chan []byte   // an empty one is the end
	gone  chan struct{} // closed when the command has ended
}

func (g *guestRuns) sayAlive() {
	for range time.Tick(aliveInterval) {
		if g.link.send(frame{Kind: frameAlive}) != nil {
			return
		}
	}
}

func (g *guestRuns) handle(f frame) {
	switch f.Kind {
	case frameStart:
		if err := g.start(f.Run, f.Command); err != nil {
			_ = g.link.send(frame{Run: f.Run, Kind: frameNotFound, Status: 127, Data: []byte(err.Error())})
		}
	case frameStdin:
		if r := g.run(f.Run); r != nil {
			select {
			case r.stdin <- f.Data:
			case <-r.gone:
			}
		}
	case frameKill:
		if r := g.run(f.Run); r != nil {
			_ = unix.Kill(-r.pid, unix.SIGKILL)
		}
	default: // the rest goes the other way
	}
}

func (g *guestRuns) run(n int) *guestRun {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.runs[n]
}

// start starts the command with pipes of its own: programs that open
// /dev/stdin or /dev/stderr anew cannot do so with a virtio port.
func (g *guestRuns) start(n int, c *command) error {
	path, err := lookPath(c)
	if err != nil {
		return err
	}
	theirs, ours, err := standardPipes()
	if err != nil {
		return err
	}
	defer closeAll(theirs)

	// The lock keeps reap from meeting the child before it is known here.
	g.mu.Lock()
	defer g.mu.Unlock()
	pid, err := syscall.ForkExec(path, c.Argv, &syscall.ProcAttr{
		Dir:   c.Dir,
		Env:   c.Env,
		Files: []uintptr{theirs[0].Fd(), theirs[1].Fd(), theirs[2].Fd()},
		Sys:   &syscall.SysProcAttr{Setsid: true},
	})
	if err != nil {
		closeAll(ours)
		return fmt.Errorf("%s in %s: %w", c.Argv[0], c.Dir, err)
	}
	run := &guestRun{pid: pid, stdin: make(chan []byte, 64), gone: make(chan struct{})}
	died := make(chan unix.WaitStatus, 1)
	g.runs[n], g.dead[pid] = run, died
	go run.feed(ours[0])
	go g.wait(n, run, died, ours[1], ours[2])
	return nil
}

// standardPipes makes the pipes for standard input, output and error.
func standardPipes() (theirs, ours []*os.File, err error) {
	for i := range 3 {
		r, w, err := os.Pipe()
		if err != nil {
			closeAll(theirs)
			closeAll(ours)
			return nil, nil, err
		}
		if i == 0 {
			r, w = w, r
		}
		theirs, ours = append(theirs, w), append(ours, r)
	}
	return theirs, ours, nil
}

func closeAll(files []*os.File) {
	for _, f := range files {
		f.Close()
	}
}

// feed writes what comes as standard input until its end, or until the reader
// is gone; what comes after that is dropped, so that nobody waits.
func (r *guestRun) feed(w *os.File) {
	defer w.Close()
	broken := false
	for {
		select {
		case data := <-r.stdin:
			if len(data) == 0 {
				w.Close()
				broken = true
			}
			if !broken {
				_, err := w.Write(data)
				broken = err != nil
			}
		case <-r.gone:
			return
		}
	}
}

// wait forwards the command's output and, when it is all there, its status.
func (g *guestRuns) wait(n int, run *guestRun, died <-chan unix.WaitStatus, stdout, stderr *os.File) {
	var copied sync.WaitGroup
	copied.Go(func() { _, _ = io.Copy(g.link.writer(n, frameStdout), stdout) })
	copied.Go(func() { _, _ = io.Copy(g.link.writer(n, frameStderr), stderr) })

	status := <-died
	g.mu.Lock()
	delete(g.runs, n)
	g.mu.Unlock()
	close(run.gone)

	output := []*os.File{stdout, stderr}
	late := time.AfterFunc(drainDelay, func() { closeAll(output) })
	copied.Wait()
	late.Stop()
	closeAll(output)
	code := status.ExitStatus()
	if status.Signaled() {
		code = 128 + int(status.Signal())
	}
	_ = g.link.send(frame{Run: n, Kind: frameExit, Status: code})
}

// reap collects every dead process, as init must: the commands' status goes to
// who waits for it, that of orphans nowhere.
func (g *guestRuns) reap() {
	for {
		var status unix.WaitStatus
		pid, err := unix.Wait4(-1, &status, 0, nil)
		if errors.Is(err, unix.ECHILD) {
			time.Sleep(10 * time.Millisecond) // no child at all: look again
			continue
		}
		if err != nil {
			continue
		}
		g.mu.Lock()
		if died, ok := g.dead[pid]; ok {
			died <- status
			delete(g.dead, pid)
		}
		g.mu.Unlock()
	}
}

// lookPath finds the command as a shell would, in the PATH that it gets.
func lookPath(c *command) (string, error) {
	name := c.Argv[0]
	if strings.Contains(name, "/") {
		return name, nil
	}
	for _, e := range c.Env {
		list, ok := strings.CutPrefix(e, "PATH=")
		if !ok {
			continue
		}
		for _, dir := range filepath.SplitList(list) {
			path := filepath.Join(dir, name)
			if st, err := os.Stat(path); err == nil && st.Mode().IsRegular() && unix.Access(path, unix.X_OK) == nil {
				return path, nil
			}
		}
	}
	return "", fmt.Errorf("%s: not found in the guest's PATH", name)
}
