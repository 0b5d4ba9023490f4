package host

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// A Process is one that runs in a host.
type Process struct {
	PID     int
	Program string   // as it calls itself
	Args    []string // none for one that has none
}

// Processes are those whose mounts are the host's, or whose network namespace is
// the host's own: what was started there, and its children, whoever started
// them. This process itself and those that are dead already are left out.
func (h *Host) Processes() ([]Process, error) {
	mounts, err := os.Readlink(h.own("ns/mnt"))
	if err != nil {
		return nil, fmt.Errorf("the host's mount namespace: %w", err)
	}
	netns, err := os.Readlink(h.NetnsPath())
	if err != nil {
		return nil, fmt.Errorf("the host's network namespace: %w", err)
	}
	dir, err := os.Open("/proc")
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil, fmt.Errorf("the list of processes: %w", err)
	}
	proc, self := int(dir.Fd()), os.Getpid()
	var list []Process
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil || pid == self {
			continue
		}
		if !isNamespace(proc, name+"/ns/mnt", mounts) && !isNamespace(proc, name+"/ns/net", netns) {
			continue
		}
		if p, alive := readProcess(pid); alive {
			list = append(list, p)
		}
	}
	return list, nil
}

// isNamespace is false too for a process that has ended: it has none.
func isNamespace(proc int, path, want string) bool {
	var buf [64]byte
	n, err := unix.Readlinkat(proc, path, buf[:])
	return err == nil && string(buf[:n]) == want
}

// readProcess reads what a process is; not alive is one that ended meanwhile,
// whether or not its parent knows.
func readProcess(pid int) (Process, bool) {
	dir := filepath.Join("/proc", strconv.Itoa(pid))
	stat, err := os.ReadFile(filepath.Join(dir, "stat"))
	if err != nil {
		return Process{}, false
	}
	_, rest, _ := strings.Cut(string(stat), "(")
	end := strings.LastIndex(rest, ")")
	if end < 0 || len(rest) < end+3 || strings.ContainsRune("ZXx", rune(rest[end+2])) {
		return Process{}, false
	}
	p := Process{PID: pid, Program: rest[:end]}
	if line, err := os.ReadFile(filepath.Join(dir, "cmdline")); err == nil && len(line) > 0 {
		p.Args = strings.Split(strings.TrimSuffix(string(line), "\x00"), "\x00")
	}
	return p, true
}

// kill kills the process and waits until it is dead.
func (p Process) kill() error {
	fd, err := unix.PidfdOpen(p.PID, 0)
	if errors.Is(err, unix.ESRCH) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("kill process %d (%s): %w", p.PID, p.Program, err)
	}
	defer unix.Close(fd)
	// The number may be another's by now.
	if now, alive := readProcess(p.PID); !alive || now.Program != p.Program {
		return nil
	}
	if err := unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0); err != nil && !errors.Is(err, unix.ESRCH) {
		return fmt.Errorf("kill process %d (%s): %w", p.PID, p.Program, err)
	}
	poll := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	for {
		_, err := unix.Poll(poll, -1)
		if !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}
