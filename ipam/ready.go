package ipam

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Ready tells whether Allocate could work now: every set has a free address,
// and leases can be written, which is tried. The error is ErrExhausted in the
// first case.
func (s *Store) Ready(ctx context.Context, sets []RangeSet) error {
	se, ok, err := s.begin(ctx, look)
	if err != nil {
		return err
	}
	if !ok {
		return s.tryAbove(s.Dir()) // every address is free
	}
	defer se.end()
	if err := se.tryWrite(); err != nil {
		return err
	}
	for n, set := range sets {
		if _, err := se.next(ctx, n, set, netip.Addr{}); err != nil {
			return fmt.Errorf("range set %d (%s): %w", n, set, err)
		}
	}
	return nil
}

// tryWrite writes where an allocation would. Under the lock nobody of either
// suite changes the folder, so its mark can be put back.
func (se *session) tryWrite() error {
	before, err := se.sys.stat(se.dir)
	if err != nil {
		return failed("stat", se.Dir(), err)
	}
	named, err := tryIn(se.sys, se.dir)
	if named {
		err = errors.Join(err, se.sys.setMTime(se.dir, before.Mtim))
	}
	if err != nil || se.index < 0 {
		return wrapFailed("write to", se.Dir(), err)
	}
	if st, err := se.sys.stat(se.index); err == nil && st.Dev == before.Dev {
		return nil // as good as tried
	}
	_, err = tryIn(se.sys, se.index)
	return wrapFailed("write to", se.indexDir(), err)
}

// tryAbove writes to the deepest folder above the path that is there: what is
// missing would be made in it.
func (s *Store) tryAbove(path string) error {
	above := filepath.Dir(path)
	fd, err := openFolder(s.sys, above)
	if absent(err) && !errors.Is(err, unix.ENOTDIR) && filepath.Dir(above) != above {
		return s.tryAbove(above)
	}
	if err != nil {
		return failed("open", above, err)
	}
	defer s.sys.close(fd)
	_, err = tryIn(s.sys, fd)
	return wrapFailed("write to", above, err)
}

func wrapFailed(op, path string, err error) error {
	if err == nil {
		return nil
	}
	return failed(op, path, err)
}

// tryName is of a file that is written only to see whether that works. One that
// a crash left is removed by the next try.
const tryName = ".fairlead.try"

// tryIn writes a byte to a new file in the folder: to look at free space or
// permissions would not tell of quotas, of inodes, or of a disk that fails. The
// file has no name where the file system can do without.
func tryIn(sys files, dir int) (named bool, err error) {
	fd, err := sys.open(dir, ".", unix.O_TMPFILE|unix.O_WRONLY, 0o600)
	if errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.EISDIR) || errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOENT) {
		return true, tryNamed(sys, dir)
	}
	if err != nil {
		return false, err
	}
	_, err = fill(sys, fd, []byte{'\n'})
	return false, errors.Join(err, sys.close(fd))
}

func tryNamed(sys files, dir int) error {
	if err := sys.unlink(dir, tryName); err != nil && !absent(err) {
		return err
	}
	_, err := writeAll(sys, dir, tryName, unix.O_EXCL, []byte{'\n'})
	if errors.Is(err, unix.EEXIST) {
		return nil // another tries at the same time, and could make it
	}
	if gone := sys.unlink(dir, tryName); gone != nil && !absent(gone) {
		err = errors.Join(err, gone)
	}
	return err
}
