package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// A keeper is a process that has a lock.
type keeper struct {
	pid  int
	name string
	// took says that it is the one that took the lock, not one that inherited it.
	took bool
	// answers says that its standard output is a pipe, as that of the programs
	// that we execute is. A daemon that such a program leaves behind has let go
	// of it: else whoever executed the program would wait for ever.
	answers bool
}

// keepersOf finds the processes that have the lock on the file that f has open.
// An error means that there may be more.
func keepersOf(f *os.File) ([]keeper, error) {
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return nil, fmt.Errorf("look at %s: %w", f.Name(), err)
	}
	procs, err := os.ReadDir("/proc")
	if err != nil {
		return nil, fmt.Errorf("look who has %s: %w", f.Name(), err)
	}
	id := fmt.Sprintf("%02x:%02x:%d", unix.Major(st.Dev), unix.Minor(st.Dev), st.Ino)
	var list []keeper
	var errs []error
	for _, proc := range procs {
		pid, err := strconv.Atoi(proc.Name())
		if err != nil {
			continue
		}
		k, ok, err := asKeeper(pid, filepath.Base(f.Name()), id)
		if ok {
			list = append(list, k)
		}
		errs = append(errs, err)
	}
	return list, errors.Join(errs...)
}

// asKeeper looks whether a process has the lock of a file: base is the file's
// name, id its device and inode as the kernel writes them.
func asKeeper(pid int, base, id string) (k keeper, ok bool, err error) {
	proc := filepath.Join("/proc", strconv.Itoa(pid))
	fds, err := os.ReadDir(filepath.Join(proc, "fd"))
	if err != nil {
		return k, false, unlessForeign(err)
	}
	for _, fd := range fds {
		target, err := os.Readlink(filepath.Join(proc, "fd", fd.Name()))
		if err != nil && unlessForeign(err) != nil {
			return k, false, err
		}
		if filepath.Base(target) != base {
			continue
		}
		info, err := os.ReadFile(filepath.Join(proc, "fdinfo", fd.Name()))
		if err != nil && unlessForeign(err) != nil {
			return k, false, err
		}
		by := takerOf(info, id)
		if by == "" {
			continue
		}
		stdout, err := os.Readlink(filepath.Join(proc, "fd", "1"))
		if err != nil && unlessForeign(err) != nil {
			return k, false, err
		}
		k = keeper{pid: pid, took: by == strconv.Itoa(pid), answers: strings.HasPrefix(stdout, "pipe:")}
		name, _ := os.ReadFile(filepath.Join(proc, "comm")) // for people
		k.name = strings.TrimSpace(string(name))
		return k, true, nil
	}
	return k, false, nil
}

// unlessForeign is err, unless it says that the process or its descriptor is
// gone, or that we may not look at it: then it has more rights than we have, and
// was not executed by one of us.
func unlessForeign(err error) error {
	for _, e := range []unix.Errno{unix.ENOENT, unix.ESRCH, unix.EACCES, unix.EPERM} {
		if errors.Is(err, e) {
			return nil
		}
	}
	return err
}

// takerOf reads from a descriptor's fdinfo who took the lock that it has on the
// file: the PID, "" where it has none.
//
//	lock:	1: FLOCK  ADVISORY  WRITE 4242 00:1a:137 0 EOF
func takerOf(info []byte, id string) string {
	for line := range bytes.Lines(info) {
		words := strings.Fields(string(line))
		if len(words) > 6 && words[0] == "lock:" && words[2] == "FLOCK" && words[6] == id {
			return words[5]
		}
	}
	return ""
}

// errStranded says that nobody works under a lock any more: who took it is dead,
// and what has inherited it is a daemon that a program left behind.
var errStranded = errors.New("only daemons hold it")

// heldBy is the error of a lock that was not to be had in time.
func heldBy(f *os.File) error {
	keepers, err := keepersOf(f)
	stranded := err == nil && len(keepers) > 0
	for _, k := range keepers {
		if k.took || k.answers {
			return fmt.Errorf("lock %s: process %d (%s) has it: %w", f.Name(), k.pid, k.name, ErrBusy)
		}
	}
	if stranded {
		return fmt.Errorf("lock %s: %w: %w", f.Name(), errStranded, ErrBusy)
	}
	return fmt.Errorf("lock %s: %w", f.Name(), ErrBusy)
}

// renew puts a copy in the place of a file whose lock is stranded, so that the
// lock of the name is free.
func renew(ctx context.Context, path string) error {
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return fmt.Errorf("renew %s: %w", path, err)
	}
	// Who waited for the lock may have no time left, and this is short.
	alone, err := flock(context.WithoutCancel(ctx), dir, unix.LOCK_EX)
	if err != nil {
		return err
	}
	defer alone.Unlock()
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW, 0)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("renew %s: %w", path, err)
	}
	defer f.Close()
	// Another may have renewed it meanwhile, and be at work.
	if err := heldBy(f); !errors.Is(err, errStranded) {
		return nil
	}
	data, err := io.ReadAll(f)
	if err != nil {
		return fmt.Errorf("renew %s: %w", path, err)
	}
	return replaceFile(path, data)
}
