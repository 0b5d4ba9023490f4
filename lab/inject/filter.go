package inject

import (
	"fmt"
	"runtime"
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Offsets in struct seccomp_data.
const (
	dataNr   = 0
	dataArch = 4
	dataArgs = 16
)

func load(at uint32) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: at}
}

// loadArg loads the lower half of an argument: we run on little-endian machines.
func loadArg(n uint32) unix.SockFilter { return load(dataArgs + 8*n) }

func jumpEqual(k uint32, yes, no int) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: k, Jt: uint8(yes), Jf: uint8(no)}
}

func jumpAny(bits uint32, yes, no int) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K, K: bits, Jt: uint8(yes), Jf: uint8(no)}
}

func allow() unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW}
}

func trap() unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_USER_NOTIF}
}

// program allows all calls but these, and of those what changes nothing; it
// hands the rest to the listener. Opens that only read are among the rest if
// reads are. Calls of another architecture's numbering are allowed: nothing here
// makes such.
func program(arch uint32, calls []int) []unix.SockFilter {
	p := []unix.SockFilter{load(dataArch), jumpEqual(arch, 1, 0), allow(), load(dataNr)}
	reading := slices.Contains(calls, unix.SYS_READ)
	for _, c := range calls {
		then := decide(c, reading)
		p = append(p, jumpEqual(uint32(c), 0, len(then)))
		p = append(p, then...)
	}
	return append(p, allow())
}

// changes are the flags of an open that may change something.
const changes = unix.O_WRONLY | unix.O_RDWR | unix.O_CREAT | unix.O_TRUNC | unix.O_APPEND

// decide is what becomes of a call that has a number to be trapped.
func decide(call int, reading bool) []unix.SockFilter {
	if flags, ok := opens()[call]; ok && !reading {
		return []unix.SockFilter{loadArg(flags), jumpAny(changes, 0, 1), trap(), allow()}
	}
	switch call {
	case unix.SYS_FCNTL:
		return only(1, []uint32{unix.F_SETLK, unix.F_SETLKW, unix.F_OFD_SETLK, unix.F_OFD_SETLKW})
	case unix.SYS_IOCTL:
		var requests []uint32
		for _, r := range deviceRequests() {
			requests = append(requests, uint32(r.value))
		}
		return only(1, requests)
	case unix.SYS_SETSOCKOPT:
		return only(2, []uint32{replaceTable})
	}
	return []unix.SockFilter{trap()}
}

// only traps a call if an argument has one of these values.
func only(argument uint32, values []uint32) []unix.SockFilter {
	p := []unix.SockFilter{loadArg(argument)}
	for i, v := range values {
		p = append(p, jumpEqual(v, len(values)-i, 0))
	}
	return append(p, allow(), trap())
}

// install puts the filter on the calling thread and gives the listener. It traps
// what executes in any case: who a process is changes by that.
// WAIT_KILLABLE_RECV: else a signal, and Go sends itself many, makes a call
// start anew that was heard already.
func install(calls []int) (int, error) {
	calls = append(slices.Clone(calls), Execs()...)
	slices.Sort(calls)
	p := program(auditArch, slices.Compact(calls))
	prog := unix.SockFprog{Len: uint16(len(p)), Filter: &p[0]}
	fd, _, errno := unix.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER,
		unix.SECCOMP_FILTER_FLAG_NEW_LISTENER|unix.SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV,
		uintptr(unsafe.Pointer(&prog)))
	runtime.KeepAlive(p)
	if errno != 0 {
		return -1, fmt.Errorf("seccomp filter (needs root, Linux 5.19, and to be under no other listener): %w", errno)
	}
	return int(fd), nil
}
