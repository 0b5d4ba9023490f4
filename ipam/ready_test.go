package ipam

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// small file systems, in memory. A mount is this process's own only in a mount
// namespace; here it is below the test's own folder, and goes with it.
func mountAt(t *testing.T, path, options string) {
	t.Helper()
	if err := os.MkdirAll(path, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("tmpfs", path, "tmpfs", 0, "mode=0755,"+options); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(path, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
}

// STATUS tells of a disk on which no lease can be written, by writing.
func TestCase33ReadyOnAFullDisk(t *testing.T) {
	t.Parallel()
	for name, fill := range map[string]func(t *testing.T, at string) error{
		"no space": func(t *testing.T, at string) error {
			t.Helper()
			_ = os.WriteFile(filepath.Join(at, "big"), make([]byte, 1<<20), 0o600)
			return unix.ENOSPC
		},
		"no inodes": func(t *testing.T, at string) error {
			t.Helper()
			for i := range 100 {
				_ = os.WriteFile(filepath.Join(at, fmt.Sprint("file", i)), nil, 0o600)
			}
			return unix.ENOSPC
		},
		"read-only": func(t *testing.T, at string) error {
			t.Helper()
			if err := unix.Mount("", at, "", unix.MS_REMOUNT|unix.MS_RDONLY, ""); err != nil {
				t.Fatal(err)
			}
			return unix.EROFS
		},
	} {
		for _, where := range []string{"never used", "dataDir", "network", "index"} {
			t.Run(name+"/"+where, func(t *testing.T) {
				t.Parallel()
				b := newBench(t)
				at := map[string]string{"never used": b.dataDir, "dataDir": b.dataDir, "network": b.Dir(), "index": filepath.Join(b.dataDir, ours)}[where]
				mountAt(t, at, "size=64k,nr_inodes=40")
				if where != "never used" {
					b.add(owner(1), small(t))
				}
				if err := b.Ready(context.Background(), []RangeSet{small(t)}); err != nil {
					t.Fatalf("before: %v", err)
				}
				want := fill(t, at)
				if err := b.Ready(context.Background(), []RangeSet{small(t)}); !errors.Is(err, want) {
					t.Errorf("got %v, want %v", err, want)
				}
			})
		}
	}
}

// The try leaves nothing, and the index is believed as before, whether or not
// the file system can make files without a name.
func TestReadyLeavesNothing(t *testing.T) {
	t.Parallel()
	for _, nameless := range []bool{true, false} {
		t.Run(fmt.Sprint("nameless files: ", nameless), func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.tap.before = func(_ int, op, name string) error {
				if op == "open" && name == "." && !nameless {
					return unix.EOPNOTSUPP
				}
				return nil
			}
			ready := func() {
				t.Helper()
				if err := b.Ready(context.Background(), []RangeSet{small(t)}); err != nil {
					t.Error(err)
				}
			}
			ready()
			b.tap.before = nil
			if _, err := os.Stat(b.dataDir); !os.IsNotExist(err) {
				t.Errorf("made: %v", err)
			}
			b.add(owner(1), small(t))
			b.put(tryName, "left by a crash")
			b.del(owner(9)) // walks, and marks
			b.tap.before = func(_ int, op, name string) error {
				if op == "open" && name == "." && !nameless {
					return unix.EOPNOTSUPP
				}
				return nil
			}
			ready()
			b.tap.before = nil
			if !b.checkIndex() {
				t.Error("the mark is gone")
			}
			if left, _ := filepath.Glob(filepath.Join(b.Dir(), tryName)); !nameless && len(left) > 0 {
				t.Errorf("left: %v", left)
			}
		})
	}
}
