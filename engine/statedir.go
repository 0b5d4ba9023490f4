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

// FindStateDir makes or accepts the first of dirs that can be written, and
// says of each why not where none can.
func FindStateDir(dirs []string) (string, error) {
	var errs []error
	for _, dir := range dirs {
		err := makePrivateDir(dir)
		if err == nil {
			return dir, nil
		}
		errs = append(errs, err)
	}
	return "", fmt.Errorf("no state directory can be written: %w", errors.Join(errs...))
}

// makePrivateDir makes dir with mode 0700, or accepts one that is ours alone.
// A symlink in its place is refused: we write there as root.
func makePrivateDir(dir string) error {
	err := os.Mkdir(dir, 0o700)
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
	if err := unix.Lstat(dir, &st); err != nil {
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
