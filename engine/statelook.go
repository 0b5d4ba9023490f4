package engine

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// LookForStateDir finds the first of dirs that is there and can be read: for
// those who only look, and may write nowhere. Nothing is made. Where none is
// there it is the last, in which nothing is recorded. It is an error where one
// is there that can't be read, and no other.
func LookForStateDir(dirs []string) (string, error) {
	var errs []error
	last := ""
	for _, dir := range dirs {
		err := checkReadableDir(dir)
		if err == nil {
			return dir, nil
		}
		if errors.Is(err, os.ErrNotExist) {
			last = dir
			continue
		}
		errs = append(errs, err)
	}
	if last == "" || len(dirs) == 1 && len(errs) > 0 {
		return "", fmt.Errorf("no state directory can be read: %w", errors.Join(errs...))
	}
	return last, nil
}

// checkReadableDir accepts what plugins may have written: a directory of ours, or
// of root's, that no other can write to.
func checkReadableDir(dir string) error {
	var st unix.Stat_t
	if err := retryEINTR(func() error { return unix.Lstat(dir, &st) }); err != nil {
		return fmt.Errorf("look at state directory %s: %w", dir, err)
	}
	switch {
	case st.Mode&unix.S_IFMT != unix.S_IFDIR:
		return fmt.Errorf("state directory %s is no directory (a symlink is refused too): %w", dir, unix.ENOTDIR)
	case int(st.Uid) != os.Geteuid() && st.Uid != 0:
		return fmt.Errorf("state directory %s belongs to user %d: %w", dir, st.Uid, unix.EPERM)
	case st.Mode&0o022 != 0:
		return fmt.Errorf("state directory %s can be written by others (mode %#o): %w", dir, st.Mode&0o777, unix.EPERM)
	}
	if err := unix.Access(dir, unix.R_OK|unix.X_OK); err != nil {
		return fmt.Errorf("read state directory %s (user %d): %w", dir, os.Geteuid(), err)
	}
	return nil
}
