package inject

import (
	"fmt"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Offsets in struct seccomp_data.
const (
	dataNr   = 0
	dataArch = 4
)

// program allows all calls but these, which it hands to the listener. Calls of
// another architecture's numbering are allowed: nothing here makes such.
func program(arch uint32, calls []int) []unix.SockFilter {
	load := func(at uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: at}
	}
	jumpEqual := func(k uint32, yes, no uint8) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: k, Jt: yes, Jf: no}
	}
	give := func(k uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: k}
	}
	p := []unix.SockFilter{
		load(dataArch), jumpEqual(arch, 1, 0), give(unix.SECCOMP_RET_ALLOW), load(dataNr),
	}
	for _, c := range calls {
		p = append(p, jumpEqual(uint32(c), 0, 1), give(unix.SECCOMP_RET_USER_NOTIF))
	}
	return append(p, give(unix.SECCOMP_RET_ALLOW))
}

// install puts the filter on the calling thread and gives the listener.
// WAIT_KILLABLE_RECV: else a signal, and Go sends itself many, makes a call
// start anew that was heard already.
func install(calls []int) (int, error) {
	p := program(auditArch, calls)
	prog := unix.SockFprog{Len: uint16(len(p)), Filter: &p[0]}
	fd, _, errno := unix.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER,
		unix.SECCOMP_FILTER_FLAG_NEW_LISTENER|unix.SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV,
		uintptr(unsafe.Pointer(&prog)))
	runtime.KeepAlive(p)
	if errno != 0 {
		return -1, fmt.Errorf("seccomp filter (needs root, and Linux 5.19): %w", errno)
	}
	return int(fd), nil
}
