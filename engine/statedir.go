package engine

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// StateDirs are the places where the state directory may be, best first
// (rule 19).
func StateDirs(getenv func(string) string) []string {
	var dirs []string
	if dir := getenv("FAIRLEAD_STATE_DIR"); dir != "" {
		return append(dirs, dir)
	}
	dirs = append(dirs, "/run/fairlead")
	if dir := getenv("XDG_RUNTIME_DIR"); dir != "" {
		dirs = append(dirs, filepath.Join(dir, "fairlead"))
	}
	return dirs
}

// ErrStateUnknown says that it could not be found out whether there is state:
// there may be a journal that nobody could read.
var ErrStateUnknown = errors.New("it is not known what is recorded")

// FindStateDir makes or accepts the first of dirs that can be written, and
// says of each why not where none can. One that is only in trouble for the
// moment is not passed over: what is recorded there would not be found in
// another.
func FindStateDir(dirs []string) (string, error) {
	var errs []error
	for _, dir := range dirs {
		err := makePrivateDir(dir)
		if err == nil {
			return dir, nil
		}
		errs = append(errs, err)
		if errors.Is(err, ErrStateUnknown) || !refused(err) {
			break
		}
	}
	return "", fmt.Errorf("no state directory can be written: %w", errors.Join(errs...))
}

// refused tells whether a directory can't be used, as opposed to could not.
func refused(err error) bool {
	for _, e := range []unix.Errno{unix.EROFS, unix.EACCES, unix.EPERM, unix.ENOTDIR, unix.ELOOP, unix.ENAMETOOLONG} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// unusable tells that there can be no directory of that name, as opposed to: it
// could not be looked at.
func unusable(err error) bool {
	return errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ELOOP) || errors.Is(err, unix.ENAMETOOLONG)
}

// makePrivateDir accepts a dir that is ours alone, or makes one with mode 0700.
// A symlink in its place is refused: we write there as root.
func makePrivateDir(dir string) error {
	err := checkPrivateDir(dir)
	if !errors.Is(err, os.ErrNotExist) {
		return err
	}
	err = os.Mkdir(dir, 0o700)
	if errors.Is(err, os.ErrNotExist) {
		if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
			return fmt.Errorf("make state directory: %w", err)
		}
		err = os.Mkdir(dir, 0o700)
	}
	if err == nil {
		return nil
	}
	if !errors.Is(err, os.ErrExist) {
		return fmt.Errorf("make state directory: %w", err)
	}
	return checkPrivateDir(dir)
}

func checkPrivateDir(dir string) error {
	var st unix.Stat_t
	err := retryEINTR(func() error { return unix.Lstat(dir, &st) })
	if err != nil && !errors.Is(err, os.ErrNotExist) && !unusable(err) {
		err = fmt.Errorf("%w: %w", ErrStateUnknown, err)
	}
	if err != nil {
		return fmt.Errorf("look at state directory %s: %w", dir, err)
	}
	switch {
	case st.Mode&unix.S_IFMT != unix.S_IFDIR:
		return fmt.Errorf("state directory %s is no directory (a symlink is refused too): %w", dir, unix.ENOTDIR)
	case int(st.Uid) != os.Geteuid():
		return fmt.Errorf("state directory %s belongs to user %d: %w", dir, st.Uid, unix.EPERM)
	case st.Mode&0o022 != 0:
		return fmt.Errorf("state directory %s can be written by others (mode %#o): %w", dir, st.Mode&0o777, unix.EPERM)
	}
	if err := unix.Access(dir, unix.W_OK|unix.X_OK); err != nil {
		return fmt.Errorf("write to state directory %s: %w", dir, err)
	}
	return nil
}
