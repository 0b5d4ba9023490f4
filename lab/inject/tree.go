package inject

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// below are the processes that descend from a process, as far as they are
// children of someone living.
func below(pid int) []int {
	var all []int
	seen := map[int]bool{pid: true}
	for next := []int{pid}; len(next) > 0; next = next[1:] {
		for _, child := range children(next[0]) {
			if !seen[child] {
				seen[child] = true
				all, next = append(all, child), append(next, child)
			}
		}
	}
	return all
}

// children are those of all threads; none of a process that has ended.
func children(pid int) []int {
	tasks := fmt.Sprintf("/proc/%d/task", pid)
	threads, err := os.ReadDir(tasks)
	if err != nil {
		return nil
	}
	var all []int
	for _, t := range threads {
		list, err := os.ReadFile(tasks + "/" + t.Name() + "/children")
		if err != nil {
			continue
		}
		for field := range strings.FieldsSeq(string(list)) {
			if n, err := strconv.Atoi(field); err == nil {
				all = append(all, n)
			}
		}
	}
	return all
}

// killBelow kills all that descends from a process, except one, and waits for
// their end. Who was forked meanwhile is found in the next round.
func killBelow(pid, except int) {
	for {
		living := 0
		for _, p := range below(pid) {
			if p == except {
				continue
			}
			fd, err := unix.PidfdOpen(p, 0)
			if err != nil {
				continue
			}
			if killAndWait(fd) {
				living++
			}
			_ = unix.Close(fd)
		}
		if living == 0 {
			return
		}
	}
}

// killAndWait kills a process and waits until all its threads have ended. It
// tells whether there was anything to kill: a zombie is nothing.
func killAndWait(pidfd int) (lived bool) {
	if ended(pidfd, 0) {
		return false
	}
	if err := unix.PidfdSendSignal(pidfd, unix.SIGKILL, nil, 0); err != nil {
		return false // it has ended
	}
	ended(pidfd, endTimeout)
	return true
}

// endTimeout, in milliseconds, is for a killed process to end. It takes longer
// only if the kernel is stuck.
const endTimeout = 10000

// ended tells whether a process has ended, or does within the time.
func ended(pidfd, milliseconds int) bool {
	p := []unix.PollFd{{Fd: int32(pidfd), Events: unix.POLLIN}}
	for {
		n, err := unix.Poll(p, milliseconds)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		return n > 0
	}
}
