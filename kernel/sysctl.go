package kernel

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// Sysctl reads a kernel parameter by its path below /proc/sys, with slashes,
// so that an interface's name may have dots: "net/ipv4/conf/eth0.5/arp_notify".
// What is below net is the namespace's own. It is false when there is no such
// parameter, which is so for those of a link that is gone.
func (n *Namespace) Sysctl(name string) (value string, ok bool, err error) {
	err = n.call("sysctl.get", name, func() error {
		return n.withSysctl(name, os.O_RDONLY, func(f *os.File) error {
			b := make([]byte, 4096)
			size, err := f.Read(b)
			if size > 0 || err == nil {
				value, ok = strings.TrimRight(string(b[:size]), "\n"), true
				return nil
			}
			return err
		})
	})
	if Absent(ObjectSysctl, err) {
		return "", false, nil
	}
	return value, ok, err
}

// ErrWriteOnly is what reading a parameter answers that can only be written:
// "net/ipv4/route/flush".
var ErrWriteOnly = errors.New("the parameter can only be written")

// SetSysctl writes a kernel parameter, named as for Sysctl.
func (n *Namespace) SetSysctl(name, value string) error {
	return n.call("sysctl.set", name, func() error {
		return n.withSysctl(name, os.O_WRONLY, func(f *os.File) error {
			_, err := f.WriteString(value)
			return err
		})
	})
}

// SysctlWritable tells whether a kernel parameter, named as for Sysctl, may be
// written. It is false where /proc/sys, or this part of it, is mounted read-only,
// and where only another user may.
func (n *Namespace) SysctlWritable(name string) (writable bool, err error) {
	err = n.call("sysctl.access", name, func() error {
		return n.atSysctl(name, func(path string) error {
			err := unix.Access(path, unix.W_OK)
			if Denied(err) {
				return nil
			}
			writable = err == nil
			return err
		})
	})
	return writable && err == nil, err
}

// withSysctl opens the parameter inside the namespace, where it is decided
// whose it is.
func (n *Namespace) withSysctl(name string, flags int, f func(*os.File) error) error {
	return n.atSysctl(name, func(path string) error {
		file, err := os.OpenFile(path, flags, 0)
		if errors.Is(err, unix.EACCES) && flags == os.O_RDONLY {
			if info, statErr := os.Stat(path); statErr == nil && info.Mode().Perm()&0o444 == 0 {
				return ErrWriteOnly
			}
		}
		if err != nil {
			return err
		}
		defer file.Close()
		return f(file)
	})
}

// atSysctl calls f with the parameter's path, inside the namespace.
func (n *Namespace) atSysctl(name string, f func(path string) error) error {
	if name == "" || filepath.IsAbs(name) || filepath.Clean(name) != name || strings.HasPrefix(name, "..") {
		return fmt.Errorf("not the name of a parameter: %w", unix.EINVAL)
	}
	return n.do(func() error { return f(filepath.Join("/proc/sys", name)) })
}
