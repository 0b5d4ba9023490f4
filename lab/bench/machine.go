package bench

import (
	"runtime"

	"golang.org/x/sys/unix"
)

// machine is what a number depends on.
type machine struct {
	Kernel string `json:"kernel"`
	Arch   string `json:"arch"`
	CPUs   int    `json:"cpus"`
	Go     string `json:"go"`
}

func thisMachine() machine {
	m := machine{Kernel: "?", Arch: runtime.GOARCH, CPUs: runtime.NumCPU(), Go: runtime.Version()}
	var u unix.Utsname
	if unix.Uname(&u) == nil {
		m.Kernel = unix.ByteSliceToString(u.Release[:])
	}
	return m
}
