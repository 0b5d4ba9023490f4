package ipam

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// An administrator's link is followed, another user's never is: by all verbs.
func TestFolderOfLeasesMayBeALink(t *testing.T) {
	t.Parallel()
	do := func(t *testing.T, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	const someone = 65534
	for name, c := range map[string]struct {
		// make puts the link at path, to target, which is in the folder dir.
		make   func(t *testing.T, path, target, dir string)
		unsafe bool
	}{
		"root's": {func(t *testing.T, path, target, _ string) { do(t, os.Symlink(target, path)) }, false},
		"relative": {func(t *testing.T, path, target, _ string) {
			rel, err := filepath.Rel(filepath.Dir(path), target)
			do(t, err)
			do(t, os.Symlink(rel, path))
		}, false},
		"over another link": {func(t *testing.T, path, target, dir string) {
			do(t, os.Symlink(target, filepath.Join(dir, "between")))
			do(t, os.Symlink(filepath.Join(dir, "between"), path))
		}, false},
		"someone's": {func(t *testing.T, path, target, _ string) {
			do(t, os.Symlink(target, path))
			do(t, os.Lchown(path, someone, someone))
		}, true},
		"over someone's": {func(t *testing.T, path, target, dir string) {
			do(t, os.Symlink(target, filepath.Join(dir, "between")))
			do(t, os.Lchown(filepath.Join(dir, "between"), someone, someone))
			do(t, os.Symlink(filepath.Join(dir, "between"), path))
		}, true},
		"to someone's folder": {func(t *testing.T, path, target, _ string) {
			do(t, os.Symlink(target, path))
			do(t, os.Chown(target, someone, someone))
		}, true},
		"to a folder that all can write to": {func(t *testing.T, path, target, _ string) {
			do(t, os.Symlink(target, path))
			do(t, os.Chmod(target, 0o777|os.ModeSticky))
		}, true},
		"to a folder that a group can write to": {func(t *testing.T, path, target, _ string) {
			do(t, os.Symlink(target, path))
			do(t, os.Chmod(target, 0o775))
		}, true},
		"into a folder that all can write to": {func(t *testing.T, path, target, dir string) {
			do(t, os.Symlink(target, path))
			do(t, os.Chmod(dir, 0o777))
		}, true},
		"in a folder that all can write to": {func(t *testing.T, path, target, _ string) {
			do(t, os.Symlink(target, path))
			do(t, os.Chmod(filepath.Dir(path), 0o777))
		}, true},
		"to itself": {func(t *testing.T, path, _, _ string) { do(t, os.Symlink(path, path)) }, true},
		"to a file": {func(t *testing.T, path, target, _ string) {
			do(t, os.Symlink(target+"/file", path))
			do(t, os.WriteFile(target+"/file", nil, 0o600))
		}, true},
	} {
		for _, which := range []string{"network", "dataDir", "parent"} {
			if which == "parent" && name == "to a folder that all can write to" || which != "network" && name == "to a file" {
				continue // what is below a file is not there; in a sticky folder it is safe
			}
			t.Run(name+"/"+which, func(t *testing.T) {
				t.Parallel()
				b := newBench(t)
				path := map[string]string{"network": b.Dir(), "dataDir": b.dataDir, "parent": filepath.Join(b.dataDir, "parent")}[which]
				if which == "parent" {
					b.dataDir = filepath.Join(path, "leases")
				}
				do(t, os.MkdirAll(filepath.Dir(path), 0o755))
				dir := t.TempDir()
				target := filepath.Join(dir, "target")
				do(t, os.Mkdir(target, 0o755))
				c.make(t, path, target, dir)
				if c.unsafe {
					b.mustRefuse(t, target)
					return
				}
				for range 2 {
					b.add(owner(1), small(t))
					do(t, b.Ready(context.Background(), []RangeSet{small(t)}))
					if held, err := b.Find(context.Background(), owner(1)); err != nil || len(held) != 1 {
						t.Errorf("found %v, %v", held, err)
					}
					b.checkIndex()
					b.del(owner(1))
					b.expect(nil)
				}
				if which == "network" {
					if _, err := os.Stat(filepath.Join(target, lockName)); err != nil {
						t.Error(err)
					}
				}
			})
		}
	}
}

func (b *bench) mustRefuse(t *testing.T, target string) {
	t.Helper()
	ctx := context.Background()
	before, _ := os.ReadDir(target)
	if got, err := b.Allocate(ctx, owner(1), dual(t), nil); err == nil {
		t.Errorf("allocated %v", got)
	}
	if err := b.Ready(ctx, dual(t)); err == nil {
		t.Error("ready")
	}
	if after, _ := os.ReadDir(target); len(after) != len(before) {
		t.Errorf("behind the link: %v, was %v", after, before)
	}
	if data, err := os.Stat(target); err == nil && !data.IsDir() {
		return
	}
	// Where it leads there may be leases: not known is no success.
	if err := b.Release(ctx, owner(1), nil); err == nil {
		t.Error("released")
	}
	if _, err := b.Find(ctx, owner(1)); err == nil {
		t.Error("looked")
	}
}

// A link that leads nowhere has no leases behind it, and none can be made.
func TestFolderOfLeasesLeadsNowhere(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	if err := os.MkdirAll(b.dataDir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(b.dataDir, "nowhere"), b.Dir()); err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	if _, err := b.Allocate(ctx, owner(1), dual(t), nil); err == nil || !strings.Contains(err.Error(), "leads nowhere") {
		t.Errorf("allocate: %v", err)
	}
	if err := b.Ready(ctx, dual(t)); err == nil || !strings.Contains(err.Error(), "leads nowhere") {
		t.Errorf("ready: %v", err)
	}
	b.del(owner(1))
	if err := os.Mkdir(filepath.Join(b.dataDir, "nowhere"), 0o755); err != nil {
		t.Fatal(err)
	}
	b.add(owner(1), small(t))
}

// A kernel, or a filter of system calls, may not let us ask for a path without
// links.
func TestFolderOfLeasesWithoutOpenat2(t *testing.T) {
	t.Parallel()
	for _, errno := range []unix.Errno{unix.ENOSYS, unix.EPERM} {
		b := newBench(t)
		b.tap.before = func(_ int, op, _ string) error {
			if op == "openPlain" {
				return errno
			}
			return nil
		}
		b.add(owner(1), small(t))
		b.del(owner(1))
		b.expect(nil)
	}
}
