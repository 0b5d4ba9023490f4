package ipam

import (
	"errors"
	"io/fs"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// files are the system calls that the store makes, one method a call, so that
// a test can count them and let each fail. Names are relative to an open
// directory and the last component is never followed if it is a symlink.
type files interface {
	open(dir int, name string, flags int, perm uint32) (int, error)
	read(fd int, p []byte) (int, error)
	write(fd int, p []byte) (int, error)
	truncate(fd int, size int) error
	close(fd int) error
	stat(fd int) (unix.Stat_t, error)
	mkdir(dir int, name string, perm uint32) error
	link(fromDir int, from string, toDir int, to string) error
	unlink(dir int, name string) error
	// exists looks for a name without opening it.
	exists(dir int, name string) (bool, error)
	setMTime(dir int, to unix.Timespec) error
	names(dir int) ([]string, error)
	flock(fd int, how int) error
	// openPlain opens a path that leads through no symbolic link: else ELOOP.
	openPlain(path string, flags int) (int, error)
	// readlink reads the symbolic link that is open.
	readlink(fd int) (string, error)
}

// disk is the real thing.
type disk struct{}

func (disk) open(dir int, name string, flags int, perm uint32) (int, error) {
	var fd int
	err := retry(func() (err error) {
		fd, err = unix.Openat(dir, name, flags|unix.O_CLOEXEC, perm)
		return err
	})
	return fd, err
}

func (disk) read(fd int, p []byte) (int, error) {
	var n int
	err := retry(func() (err error) {
		n, err = unix.Read(fd, p)
		return err
	})
	return n, err
}

func (disk) write(fd int, p []byte) (int, error) {
	var n int
	err := retry(func() (err error) {
		n, err = unix.Write(fd, p)
		return err
	})
	return n, err
}

func (disk) truncate(fd int, size int) error {
	return retry(func() error { return unix.Ftruncate(fd, int64(size)) })
}

func (disk) close(fd int) error { return unix.Close(fd) }

func (disk) stat(fd int) (st unix.Stat_t, err error) {
	err = unix.Fstat(fd, &st)
	return st, err
}

func (disk) mkdir(dir int, name string, perm uint32) error { return unix.Mkdirat(dir, name, perm) }

func (disk) link(fromDir int, from string, toDir int, to string) error {
	return unix.Linkat(fromDir, from, toDir, to, 0)
}

func (disk) unlink(dir int, name string) error { return unix.Unlinkat(dir, name, 0) }

func (disk) exists(dir int, name string) (bool, error) {
	var st unix.Stat_t
	err := unix.Fstatat(dir, name, &st, unix.AT_SYMLINK_NOFOLLOW)
	if absent(err) {
		return false, nil
	}
	return err == nil, err
}

func (disk) setMTime(dir int, to unix.Timespec) error {
	times := []unix.Timespec{{Nsec: unix.UTIME_OMIT}, to}
	return unix.UtimesNanoAt(dir, ".", times, 0)
}

func (disk) names(dir int) ([]string, error) {
	// A descriptor of its own: reading moves the offset.
	fd, err := unix.Openat(dir, ".", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), ".")
	defer f.Close()
	return f.Readdirnames(-1)
}

func (disk) flock(fd int, how int) error {
	return retry(func() error { return unix.Flock(fd, how) })
}

func (disk) openPlain(path string, flags int) (int, error) {
	var fd int
	err := retry(func() (err error) {
		how := unix.OpenHow{Flags: uint64(flags | unix.O_CLOEXEC), Resolve: unix.RESOLVE_NO_SYMLINKS} //nolint:gosec // flags are none below 0
		fd, err = unix.Openat2(unix.AT_FDCWD, path, &how)
		return err
	})
	return fd, err
}

func (disk) readlink(fd int) (string, error) {
	buf := make([]byte, unix.PathMax)
	n, err := unix.Readlinkat(fd, "", buf)
	return string(buf[:max(n, 0)]), err
}

func retry(call func() error) error {
	for {
		if err := call(); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

// failed says which call on which file went wrong; the errno can be got with
// errors.As.
func failed(op, path string, err error) error {
	if errors.Is(err, unix.ELOOP) {
		err = errSymlink{err}
	}
	return &fs.PathError{Op: op, Path: path, Err: err}
}

// errSymlink says what ELOOP means where symlinks are refused.
type errSymlink struct{ error }

func (errSymlink) Error() string   { return "is a symbolic link, which is refused here" }
func (e errSymlink) Unwrap() error { return e.error }

// readAll reads a small file of a directory: more than limit bytes of it only
// if it is longer, and then not all.
func readAll(sys files, dir int, name string, limit int) ([]byte, unix.Stat_t, error) {
	fd, err := sys.open(dir, name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, unix.Stat_t{}, err
	}
	defer sys.close(fd)
	return readOpen(sys, fd, limit)
}

func readOpen(sys files, fd, limit int) ([]byte, unix.Stat_t, error) {
	st, err := sys.stat(fd)
	if err != nil {
		return nil, st, err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG {
		return nil, st, errNotRegular
	}
	// Files of /proc say that they are empty; the store's do not grow.
	buf := make([]byte, max(64, min(int(st.Size), limit))+1)
	for n := 0; ; {
		more, err := sys.read(fd, buf[n:])
		if err != nil {
			return nil, st, err
		}
		if n += more; more == 0 || n == len(buf) {
			return buf[:n], st, nil
		}
	}
}

var errNotRegular = errors.New("is not a regular file")

// writeAll makes or overwrites a small file. It does not truncate first: ext4
// answers that by writing to the disk at once when the file is closed.
func writeAll(sys files, dir int, name string, flags int, data []byte) (unix.Stat_t, error) {
	fd, err := sys.open(dir, name, unix.O_WRONLY|unix.O_CREAT|unix.O_NOFOLLOW|unix.O_NONBLOCK|flags, 0o600)
	if err != nil {
		return unix.Stat_t{}, err
	}
	st, err := fill(sys, fd, data)
	// Close tells of a failed write on some file systems.
	return st, errors.Join(err, sys.close(fd))
}

func fill(sys files, fd int, data []byte) (unix.Stat_t, error) {
	for rest := data; len(rest) > 0; {
		n, err := sys.write(fd, rest)
		if err != nil {
			return unix.Stat_t{}, err
		}
		rest = rest[n:]
	}
	st, err := sys.stat(fd)
	if err == nil && st.Size > int64(len(data)) {
		err = sys.truncate(fd, len(data))
	}
	return st, err
}

// stampOf is a file's modification time in a form that compares exactly.
func stampOf(ts unix.Timespec) string {
	return time.Unix(ts.Unix()).UTC().Format(time.RFC3339Nano)
}
