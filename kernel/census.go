package kernel

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Census says which network namespaces a thread of the machine is in, or a
// process has a descriptor of.
type Census struct{ who map[identity]string }

// initialPIDs is PROC_PID_INIT_INO: the inode of the PID namespace that the
// machine started with.
const initialPIDs = 0xEFFFFFFC

// TakeCensus looks at every process of the machine. Where it can't see them all
// (a PID namespace of its own, hidepid, no right to look into one) it fails: who
// was not seen may be in any namespace.
func TakeCensus() (*Census, error) {
	c := &Census{who: map[identity]string{}}
	if err := c.take(); err != nil {
		return nil, &Error{Op: "netns.census", Object: "/proc", Errno: errnoOf(err), err: err}
	}
	return c, nil
}

func (c *Census) take() error {
	pids, _, err := identityAt("/proc/self/ns/pid")
	if err != nil {
		return err
	}
	if pids.ino != initialPIDs {
		return errors.New("only the processes of a PID namespace of its own can be seen from here")
	}
	processes, err := os.ReadDir("/proc")
	if err != nil {
		return err
	}
	seen := false
	for _, p := range processes {
		pid, err := strconv.Atoi(p.Name())
		if err != nil {
			continue
		}
		seen = seen || pid == 1
		if err := c.process(pid); err != nil {
			return err
		}
	}
	if !seen {
		return errors.New("processes of others are hidden (hidepid)")
	}
	return nil
}

// process notes the namespaces of each thread, and those that a descriptor of a
// thread's leads to. Our own descriptors are those that we look by.
func (c *Census) process(pid int) error {
	dir := fmt.Sprintf("/proc/%d/task", pid)
	threads, err := entries(dir)
	if err != nil {
		return err
	}
	for _, t := range threads {
		thread := filepath.Join(dir, t)
		if err := c.note(thread, "ns/net", fmt.Sprintf("process %d is in it", pid)); err != nil {
			return err
		}
		if pid == os.Getpid() {
			continue
		}
		fds, err := entries(filepath.Join(thread, "fd"))
		if err != nil {
			return err
		}
		for _, fd := range fds {
			if err := c.note(thread, filepath.Join("fd", fd), fmt.Sprintf("process %d holds it open", pid)); err != nil {
				return err
			}
		}
	}
	return nil
}

// entries are the names in a directory of /proc; none where the process has
// ended.
func entries(dir string) ([]string, error) {
	f, err := os.Open(dir)
	if err == nil {
		defer f.Close()
		var names []string
		names, err = f.Readdirnames(-1)
		if err == nil {
			return names, nil
		}
	}
	if ended(err) {
		return nil, nil
	}
	return nil, err
}

// ended tells that a process, or what it had, is there no more.
func ended(err error) bool {
	return Absent(ObjectFile, err) || errors.Is(err, unix.ESRCH)
}

// note looks where a link of a thread leads. Of a thread that has ended meanwhile
// the kernel says EACCES, as of one that we may not look into: only of the former
// the directory is gone too.
func (c *Census) note(thread, link, who string) error {
	id, ok, err := identityAt(filepath.Join(thread, link))
	if errors.Is(err, unix.EACCES) {
		if _, there, lookErr := identityAt(thread); lookErr == nil && !there {
			return nil
		}
	}
	if err != nil {
		return err
	}
	if ok && c.who[id] == "" {
		c.who[id] = who
	}
	return nil
}

// identityAt is what a magic link leads to. Nobody's server is asked for it: a
// process may have a file open on one that is gone.
func identityAt(path string) (identity, bool, error) {
	var st unix.Statx_t
	err := unix.Statx(unix.AT_FDCWD, path, unix.AT_STATX_DONT_SYNC, unix.STATX_INO, &st)
	if ended(err) {
		return identity{}, false, nil
	}
	if err != nil {
		return identity{}, false, fmt.Errorf("%s: %w", path, err)
	}
	return identity{dev: unix.Mkdev(st.Dev_major, st.Dev_minor), ino: st.Ino}, true, nil
}

// Occupant says who is in the namespace, or may use it: a thread, a descriptor,
// a socket (a tap device's too), a link that is up and not among those known.
// "" is a fact: nobody. n must be fresh: a call upon it before opens a socket of
// our own in it.
func (c *Census) Occupant(n *Namespace, known []string) (who string, err error) {
	err = n.call("netns.occupant", "", func() error {
		if who = c.who[n.id]; who != "" {
			return nil
		}
		return n.do(func() error {
			sockets, err := openSockets()
			if err != nil {
				return err
			}
			if sockets > 0 {
				who = fmt.Sprintf("%d sockets are open in it", sockets)
				return nil
			}
			link, err := linkUp(known)
			if err == nil && link != "" {
				who = fmt.Sprintf("%s is up in it", link)
			}
			return err
		})
	})
	if err != nil {
		return "", err
	}
	return who, nil
}

// openSockets counts those of the calling thread's namespace, less the kernel's
// own. The kernel counts a netlink socket for a moment after it was closed: it is
// waited for that moment (an RCU grace period), in the kernel.
func openSockets() (used int, err error) {
	const membarrierGlobal = 1
	for range 4 {
		data, err := os.ReadFile("/proc/thread-self/net/sockstat")
		if err != nil {
			return 0, err
		}
		line, _, _ := bytes.Cut(data, []byte("\n"))
		if _, err := fmt.Sscanf(string(line), "sockets: used %d", &used); err != nil {
			return 0, fmt.Errorf("/proc/thread-self/net/sockstat: %q: %w", line, err)
		}
		if used == 0 {
			break
		}
		// A kernel that has no such call makes the count too high, not too low.
		_, _, _ = unix.Syscall(unix.SYS_MEMBARRIER, membarrierGlobal, 0, 0)
	}
	return used, nil
}

// linkUp gives a link of the calling thread's namespace that is up, is not lo
// and not among those known. It is not asked over netlink, whose sockets are
// counted after their end.
func linkUp(known []string) (string, error) {
	data, err := os.ReadFile("/proc/thread-self/net/dev")
	if err != nil {
		return "", err
	}
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return "", err
	}
	defer unix.Close(fd)
	for line := range strings.Lines(string(data)) {
		cut := strings.LastIndexByte(line, ':') // a name may have one
		if cut < 0 {
			continue // a headline
		}
		name := strings.TrimSpace(line[:cut])
		if name == "lo" || slices.Contains(known, name) {
			continue
		}
		req, err := unix.NewIfreq(name)
		if err == nil {
			err = unix.IoctlIfreq(fd, unix.SIOCGIFFLAGS, req)
		}
		if Absent(ObjectLink, err) {
			continue
		}
		if err != nil {
			return "", fmt.Errorf("link %s: %w", name, err)
		}
		if req.Uint16()&unix.IFF_UP != 0 {
			return name, nil
		}
	}
	return "", nil
}
