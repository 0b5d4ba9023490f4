package engine

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestRule19StateDirs(t *testing.T) {
	t.Parallel()
	tests := []struct {
		env  map[string]string
		want []string
	}{
		{nil, []string{"/run/fairlead"}},
		{map[string]string{"XDG_RUNTIME_DIR": "/run/user/7"}, []string{"/run/fairlead", "/run/user/7/fairlead"}},
		{map[string]string{"XDG_RUNTIME_DIR": "/run/user/7", "FAIRLEAD_STATE_DIR": "/s"}, []string{"/s"}},
	}
	for _, test := range tests {
		if got := StateDirs(func(name string) string { return test.env[name] }); !slices.Equal(got, test.want) {
			t.Errorf("%v: %q, want %q", test.env, got, test.want)
		}
	}
}

func TestRule19FindStateDir(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		prepare func(dir string) error
		refused string // why; "" where it is taken
	}{
		{name: "none yet", prepare: func(string) error { return nil }},
		{name: "no parent yet", prepare: func(dir string) error { return os.Remove(filepath.Dir(dir)) }},
		{name: "ours", prepare: func(dir string) error { return os.Mkdir(dir, 0o700) }},
		{name: "readable", prepare: func(dir string) error { return mkdirMode(dir, 0o755) }},
		{name: "a group may write", prepare: func(dir string) error { return mkdirMode(dir, 0o770) }, refused: "written by others"},
		{name: "all may write", prepare: func(dir string) error { return mkdirMode(dir, 0o702) }, refused: "written by others"},
		{name: "another's", prepare: func(dir string) error {
			if err := os.Mkdir(dir, 0o700); err != nil {
				return err
			}
			return os.Chown(dir, 12345, -1)
		}, refused: "belongs to user 12345"},
		{name: "a symlink", prepare: func(dir string) error {
			if err := os.Mkdir(dir+".real", 0o700); err != nil {
				return err
			}
			return os.Symlink(dir+".real", dir)
		}, refused: "symlink"},
		{name: "a dangling symlink", prepare: func(dir string) error { return os.Symlink(dir+".none", dir) }, refused: "symlink"},
		{name: "a file", prepare: func(dir string) error { return os.WriteFile(dir, nil, 0o600) }, refused: "no directory"},
		{name: "a file above", prepare: func(dir string) error {
			if err := os.Remove(filepath.Dir(dir)); err != nil {
				return err
			}
			return os.WriteFile(filepath.Dir(dir), nil, 0o600)
		}, refused: "not a directory"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			base := tmpRoot(t)
			first, second := filepath.Join(base, "run", "fairlead"), filepath.Join(base, "second")
			if err := os.Mkdir(filepath.Dir(first), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := test.prepare(first); err != nil {
				t.Fatal(err)
			}
			_, err := FindStateDir([]string{first})
			if (err == nil) != (test.refused == "") || err != nil && !strings.Contains(err.Error(), test.refused) {
				t.Errorf("%v, want %q", err, test.refused)
			}
			want := first
			if test.refused != "" {
				want = second
			}
			got, err := FindStateDir([]string{first, second})
			if err != nil || got != want {
				t.Errorf("of two: %q, %v, want %q", got, err, want)
			}
			if info, err := os.Lstat(got); err != nil || !info.IsDir() || info.Mode().Perm()&0o022 != 0 {
				t.Errorf("%v, %v", info, err)
			}
			if info, err := os.Lstat(second); err == nil && info.Mode().Perm() != 0o700 {
				t.Errorf("made with mode %v", info.Mode())
			}
		})
	}
}

func mkdirMode(dir string, mode os.FileMode) error {
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	return os.Chmod(dir, mode) // whatever the umask
}

// A symlink within the state directory is not followed either.
func TestRule19SymlinksWithin(t *testing.T) {
	t.Parallel()
	n := testNode(t)
	n.w.setScope("1", "alive")
	h := attach("c", "1")
	elsewhere := tmpRoot(t)
	if err := os.Mkdir(n.Journal.attachmentsDir(), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(elsewhere, n.Journal.dirOf(h.ID)); err != nil {
		t.Fatal(err)
	}
	if _, err := n.begin(h, nil); err == nil {
		t.Error("ADD followed a symlink")
	}
	if err := os.Symlink(filepath.Join(elsewhere, "log"), n.Journal.logPath()); err != nil {
		t.Fatal(err)
	}
	if err := n.Journal.Log(OpRecord{}); err == nil {
		t.Error("the log followed a symlink")
	}
	if files, err := os.ReadDir(elsewhere); err != nil || len(files) > 0 {
		t.Errorf("%v, %v", files, err)
	}
}

// privately runs f on a thread with a mount namespace of its own, in which a
// tmpfs with the given options is mounted on dir.
func privately(t *testing.T, dir, options string, f func()) {
	t.Helper()
	done := make(chan error)
	go func() {
		// Never unlocked: the thread ends with the goroutine, and takes the
		// mount with it.
		runtime.LockOSThread()
		err := unix.Unshare(unix.CLONE_FS | unix.CLONE_NEWNS)
		if err == nil {
			err = unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, "")
		}
		if err == nil {
			err = unix.Mount("tmpfs", dir, "tmpfs", 0, options)
		}
		if err == nil {
			f()
		}
		done <- err
	}()
	if err := <-done; err != nil {
		t.Fatalf("private tmpfs: %v", err)
	}
}

func TestRule19ReadOnlyIsNoPlaceForState(t *testing.T) {
	t.Parallel()
	base := tmpRoot(t)
	privately(t, base, "mode=755", func() {
		kept, fallback := filepath.Join(base, "kept"), tmpRoot(t)
		if err := os.Mkdir(kept, 0o700); err != nil {
			t.Error(err)
			return
		}
		if err := unix.Mount("", base, "", unix.MS_REMOUNT|unix.MS_RDONLY, ""); err != nil {
			t.Error(err)
			return
		}
		for _, dir := range []string{kept, filepath.Join(base, "none")} {
			if _, err := FindStateDir([]string{dir}); err == nil {
				t.Errorf("%s was taken", dir)
			}
			if got, err := FindStateDir([]string{dir, fallback}); err != nil || got != fallback {
				t.Errorf("%s: %q, %v", dir, got, err)
			}
		}
	})
}
