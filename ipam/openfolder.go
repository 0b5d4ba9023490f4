package ipam

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// maxLinks bounds how many symbolic links a path leads through.
const maxLinks = 40

var (
	// errNotFolder stands for ENOTDIR, which opening gives for a symbolic link
	// too. It does not unwrap to it: that would read as "there is none".
	errNotFolder = errors.New("is not a directory")
	// errDangling is a link that leads nowhere. It does not unwrap to ENOENT:
	// something is there, and no folder can be made in its place.
	errDangling = errors.New("is a symbolic link that leads nowhere")
	errLoop     = errors.New("leads through too many symbolic links")
)

// openFolder opens a folder by its path. Symbolic links on the way are followed
// if they are root's, or the caller's own, in folders that nobody else can write
// to, and lead to such a folder: else whoever can write there would choose where
// leases are, and which files are written.
func openFolder(sys files, path string) (int, error) {
	fd, err := sys.openPlain(path, unix.O_RDONLY|unix.O_DIRECTORY)
	if err == nil || !errors.Is(err, unix.ELOOP) && !errors.Is(err, unix.ENOSYS) && !errors.Is(err, unix.EPERM) {
		return fd, err
	}
	w := walk{sys: sys, rest: strings.Split(path, "/")}
	w.tail = len(w.rest)
	if err := w.start(filepath.IsAbs(path)); err != nil {
		return -1, err
	}
	err = w.run()
	defer sys.close(w.at)
	if err != nil {
		return -1, err
	}
	return sys.open(w.at, ".", unix.O_RDONLY|unix.O_DIRECTORY, 0)
}

// A walk goes a path one name at a time.
type walk struct {
	sys   files
	at    int    // the folder that it has come to, or -1
	here  string // its name, for messages
	rest  []string
	tail  int   // how many names at the end of rest are the path's own, no link's
	links int   // that were followed
	open  error // a folder on the way that others can write to
}

func (w *walk) start(absolute bool) error {
	name := "."
	if absolute {
		name = "/"
	}
	fd, err := w.sys.open(unix.AT_FDCWD, name, unix.O_PATH|unix.O_DIRECTORY, 0)
	if err != nil {
		w.at = -1
		return err
	}
	w.at, w.here = fd, name
	return w.look(fd, true)
}

func (w *walk) run() error {
	for len(w.rest) > 0 {
		name := w.rest[0]
		w.rest = w.rest[1:]
		if name == "" || name == "." {
			continue
		}
		next, err := w.sys.open(w.at, name, unix.O_PATH|unix.O_NOFOLLOW, 0)
		if err != nil && absent(err) && len(w.rest) >= w.tail {
			return errDangling
		}
		if err != nil {
			return err
		}
		if err := w.step(next, name); err != nil {
			return err
		}
	}
	if w.links > 0 {
		return w.look(w.at, false)
	}
	return nil
}

// step goes on to next, or to where it leads. It owns next.
func (w *walk) step(next int, name string) error {
	st, err := w.sys.stat(next)
	if err != nil || st.Mode&unix.S_IFMT != unix.S_IFLNK {
		_ = w.sys.close(w.at)
		w.at, w.here = next, filepath.Join(w.here, name)
		if err == nil {
			err = w.look(next, true)
		}
		return err
	}
	defer w.sys.close(next)
	if w.links++; w.links > maxLinks {
		return errLoop
	}
	path := filepath.Join(w.here, name)
	if w.open == nil && !trusted(st.Uid) {
		w.open = fmt.Errorf("the symbolic link %s belongs to user %d", path, st.Uid)
	}
	if w.open != nil {
		return fmt.Errorf("symbolic link not followed: %w", w.open)
	}
	target, err := w.sys.readlink(next)
	if err != nil {
		return err
	}
	w.tail = min(w.tail, len(w.rest))
	w.rest = append(strings.Split(target, "/"), w.rest...)
	if filepath.IsAbs(target) {
		_ = w.sys.close(w.at)
		return w.start(true)
	}
	return nil
}

// look notes whether others can change what is in the folder; in a sticky one
// they can't change what is not theirs. After a link that is an error.
func (w *walk) look(fd int, sticky bool) error {
	st, err := w.sys.stat(fd)
	if err != nil {
		return err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFDIR {
		return unix.ENOTDIR
	}
	writable := st.Mode&0o022 != 0 && !(sticky && st.Mode&unix.S_ISVTX != 0)
	if w.open == nil && (writable || !trusted(st.Uid)) {
		w.open = fmt.Errorf("%s belongs to user %d and has mode %04o: others can change what is in it", w.here, st.Uid, st.Mode&0o7777)
	}
	if w.links > 0 && w.open != nil {
		return fmt.Errorf("symbolic link not followed: %w", w.open)
	}
	return nil
}

func trusted(uid uint32) bool { return uid == 0 || int64(uid) == int64(os.Geteuid()) }

// openWithin opens a folder in a folder, and follows no link.
func openWithin(sys files, at int, name string) (int, error) {
	fd, err := sys.open(at, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
	if errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ELOOP) {
		return -1, errNotFolder
	}
	return fd, err
}

func makeFolder(sys files, at int, name string, perm uint32) error {
	if err := sys.mkdir(at, name, perm); err != nil && !errors.Is(err, unix.EEXIST) {
		return err
	}
	return nil
}

// makeAll opens a folder, and makes it and its parents where they are missing.
func makeAll(sys files, path string) (int, error) {
	fd, err := openFolder(sys, path)
	if !absent(err) || filepath.Dir(path) == path {
		return fd, err
	}
	parent, err := makeAll(sys, filepath.Dir(path))
	if err != nil {
		return -1, err
	}
	defer sys.close(parent)
	if err := makeFolder(sys, parent, filepath.Base(path), 0o755); err != nil {
		return -1, err
	}
	return openFolder(sys, path)
}
