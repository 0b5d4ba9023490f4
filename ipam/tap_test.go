package ipam

import (
	"errors"
	"sync"

	"golang.org/x/sys/unix"
)

// A tap stands between the store and the kernel: it counts calls, and can make
// each fail, or let the process die, as far as the store can tell.
type tap struct {
	disk
	mu     sync.Mutex
	counts map[string]int
	n      int
	// before, if set, is asked before each call; an error is what it gives.
	before func(n int, op, name string) error
}

func (tp *tap) call(op, name string) error {
	tp.mu.Lock()
	defer tp.mu.Unlock()
	if tp.counts == nil {
		tp.counts = map[string]int{}
	}
	tp.n++
	tp.counts[op]++
	if tp.before == nil {
		return nil
	}
	return tp.before(tp.n, op, name)
}

// total counts calls since the last reset, and forgets them.
func (tp *tap) total() (all int, byOp map[string]int) {
	tp.mu.Lock()
	defer tp.mu.Unlock()
	all, byOp = tp.n, tp.counts
	tp.n, tp.counts = 0, nil
	return all, byOp
}

var errDied = errors.New("the process is dead")

// diesAt lets every call from the n-th on fail: what a SIGKILL there leaves.
func diesAt(n int) func(int, string, string) error {
	return func(i int, _, _ string) error {
		if i >= n {
			return errDied
		}
		return nil
	}
}

func (tp *tap) open(dir int, name string, flags int, perm uint32) (int, error) {
	op := "open"
	if flags&unix.O_CREAT != 0 {
		op = "create"
	}
	if err := tp.call(op, name); err != nil {
		return -1, err
	}
	return tp.disk.open(dir, name, flags, perm)
}

func (tp *tap) read(fd int, p []byte) (int, error) {
	if err := tp.call("read", ""); err != nil {
		return 0, err
	}
	return tp.disk.read(fd, p)
}

func (tp *tap) write(fd int, p []byte) (int, error) {
	if err := tp.call("write", ""); err != nil {
		return 0, err
	}
	return tp.disk.write(fd, p)
}

func (tp *tap) truncate(fd int, size int) error {
	if err := tp.call("truncate", ""); err != nil {
		return err
	}
	return tp.disk.truncate(fd, size)
}

// close always closes: so does death.
func (tp *tap) close(fd int) error {
	return errors.Join(tp.disk.close(fd), tp.call("close", ""))
}

func (tp *tap) stat(fd int) (unix.Stat_t, error) {
	if err := tp.call("stat", ""); err != nil {
		return unix.Stat_t{}, err
	}
	return tp.disk.stat(fd)
}

func (tp *tap) mkdir(dir int, name string, perm uint32) error {
	if err := tp.call("mkdir", name); err != nil {
		return err
	}
	return tp.disk.mkdir(dir, name, perm)
}

func (tp *tap) link(fromDir int, from string, toDir int, to string) error {
	if err := tp.call("link", to); err != nil {
		return err
	}
	return tp.disk.link(fromDir, from, toDir, to)
}

func (tp *tap) unlink(dir int, name string) error {
	if err := tp.call("unlink", name); err != nil {
		return err
	}
	return tp.disk.unlink(dir, name)
}

func (tp *tap) exists(dir int, name string) (bool, error) {
	if err := tp.call("exists", name); err != nil {
		return false, err
	}
	return tp.disk.exists(dir, name)
}

func (tp *tap) setMTime(dir int, to unix.Timespec) error {
	if err := tp.call("setMTime", ""); err != nil {
		return err
	}
	return tp.disk.setMTime(dir, to)
}

func (tp *tap) names(dir int) ([]string, error) {
	if err := tp.call("names", ""); err != nil {
		return nil, err
	}
	return tp.disk.names(dir)
}

func (tp *tap) flock(fd int, how int) error {
	if err := tp.call("flock", ""); err != nil {
		return err
	}
	return tp.disk.flock(fd, how)
}

func (tp *tap) openPlain(path string, flags int) (int, error) {
	if err := tp.call("openPlain", path); err != nil {
		return -1, err
	}
	return tp.disk.openPlain(path, flags)
}

func (tp *tap) readlink(fd int) (string, error) {
	if err := tp.call("readlink", ""); err != nil {
		return "", err
	}
	return tp.disk.readlink(fd)
}
