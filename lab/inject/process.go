package inject

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// process is one that was seen. Its pidfd stays open: numbers are used again.
type process struct {
	pid, pidfd int
	after      Kill // what awaits it at its next call

	last made // its last call

	known   bool // program and fresh are as they are now
	program string
	fresh   bool
	old     []int // threads that were there when it was about to execute
}

// thread is what a thread's number meant a moment ago.
type thread struct {
	*process
	at time.Time
}

// trusted is how long the number of a thread is taken to mean the same: until it
// comes round again, thousands must have been made.
const trusted = 500 * time.Millisecond

// table are the processes of a session.
type table struct {
	mu      sync.Mutex
	threads map[int]thread
	all     []*process
}

// of gives the process of a thread that waits.
func (t *table) of(tid int, now time.Time) (*process, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if k, ok := t.threads[tid]; ok && now.Sub(k.at) < trusted {
		return k.process, nil
	}
	p, err := t.find(tid)
	if err != nil {
		return nil, err
	}
	t.threads[tid] = thread{p, now}
	return p, nil
}

// await has a process killed at its next call; KillNone: no more.
func (t *table) await(p *process, k Kill) {
	t.mu.Lock()
	defer t.mu.Unlock()
	p.after = k
}

// executes is told that a thread's process is about to become another program.
// Until it is, its other threads may still call.
func (t *table) executes(p *process, tid int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	p.known, p.old = false, nil
	for other, k := range t.threads {
		if k.process == p && other != tid {
			p.old = append(p.old, other)
		}
	}
}

// find asks the kernel. A pidfd is had only of the thread that a process began
// with, and is quicker than /proc.
func (t *table) find(tid int) (*process, error) {
	pid := tid
	pidfd, err := unix.PidfdOpen(tid, 0)
	if err != nil {
		if pid, err = processOf(tid); err != nil {
			return nil, err
		}
		if pidfd, err = unix.PidfdOpen(pid, 0); err != nil {
			return nil, fmt.Errorf("open process %d: %w", pid, err)
		}
	}
	for _, p := range t.all {
		if p.pid == pid && !ended(p.pidfd, 0) {
			unix.Close(pidfd)
			return p, nil
		}
	}
	t.sweep()
	p := &process{pid: pid, pidfd: pidfd}
	t.all = append(t.all, p)
	return p, nil
}

// sweep forgets those that have ended, when they are many.
func (t *table) sweep() {
	const many = 64
	if len(t.all) < many {
		return
	}
	t.all = slices.DeleteFunc(t.all, func(p *process) bool {
		if p.after != KillNone || !ended(p.pidfd, 0) {
			return false
		}
		unix.Close(p.pidfd)
		for tid, k := range t.threads {
			if k.process == p {
				delete(t.threads, tid)
			}
		}
		return true
	})
}

// living are those that have not ended.
func (t *table) living() []*process {
	t.mu.Lock()
	defer t.mu.Unlock()
	var all []*process
	for _, p := range t.all {
		if p.pidfd >= 0 && !ended(p.pidfd, 0) {
			all = append(all, p)
		}
	}
	return all
}

// kill kills all but one, and waits for their end. The lock keeps their pidfds.
func (t *table) kill(except int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, p := range t.all {
		if p.pidfd >= 0 && p.pid != except {
			killAndWait(p.pidfd)
		}
	}
}

// awaited are those that were to be killed at their next call.
func (t *table) awaited() []*process {
	t.mu.Lock()
	defer t.mu.Unlock()
	var all []*process
	for _, p := range t.all {
		if p.after != KillNone {
			all = append(all, p)
		}
	}
	return all
}

// close is for when all have ended.
func (t *table) close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, p := range t.all {
		unix.Close(p.pidfd)
		p.pidfd = -1
	}
}

// processOf is the process that a thread is of.
func processOf(tid int) (int, error) {
	status, err := os.ReadFile("/proc/" + strconv.Itoa(tid) + "/status")
	if err != nil {
		return 0, fmt.Errorf("process of thread %d: %w", tid, err)
	}
	for line := range strings.SplitSeq(string(status), "\n") {
		if rest, ok := strings.CutPrefix(line, "Tgid:"); ok {
			return strconv.Atoi(strings.TrimSpace(rest))
		}
	}
	return 0, fmt.Errorf("process of thread %d: not told", tid)
}

// look finds out what the process executes.
func (p *process) look(c *Call) error {
	if p.known && !p.fresh {
		return nil
	}
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(p.pid) + "/stat")
	if err != nil {
		return c.because(fmt.Errorf("process %d: %w", p.pid, err))
	}
	_, rest, _ := strings.Cut(string(stat[bytes.LastIndexByte(stat, ')')+1:]), " ")
	const flagsField, forkNoExec = 6, 0x40 // PF_FORKNOEXEC
	if f := strings.Fields(rest); len(f) > flagsField {
		flags, err := strconv.ParseUint(f[flagsField], 10, 64)
		if err != nil {
			return fmt.Errorf("flags of process %d: %w", p.pid, err)
		}
		p.fresh = flags&forkNoExec != 0
	}
	if p.known {
		return nil
	}
	p.program, err = programOf(c, p.pid)
	p.known = err == nil && !slices.Contains(p.old, c.TID)
	return err
}

// comm is the kernel's short name of a process.
func comm(pid int) string {
	name, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/comm")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(name))
}

// because is why something could not be found out: that the caller is gone, if
// it is.
func (c *Call) because(err error) error {
	if e := c.valid(); e != nil {
		return e
	}
	return err
}

// programOf is the base name that was executed. /proc/PID/exe would tell what a
// symbolic link led to, or the interpreter of a script.
func programOf(c *Call, pid int) (string, error) {
	auxv, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/auxv")
	if err != nil {
		return "", c.because(fmt.Errorf("program of process %d: %w", pid, err))
	}
	const atExecFn, size = 31, 16
	for ; len(auxv) >= size; auxv = auxv[size:] {
		if binary.NativeEndian.Uint64(auxv) == atExecFn {
			return path.Base(c.text(binary.NativeEndian.Uint64(auxv[8:]))), nil
		}
	}
	return "", c.because(fmt.Errorf("program of process %d: not told", pid))
}
