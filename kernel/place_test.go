package kernel

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// apart runs f on a thread of its own, in a mount namespace of its own.
func apart(t *testing.T, f func()) {
	t.Helper()
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		err := unix.Unshare(unix.CLONE_NEWNS | unix.CLONE_FS)
		if err == nil {
			err = unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, "")
		}
		if err == nil {
			f()
		}
		done <- err
	}()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

// TestCase28Place: no two mount namespaces are one place, nor is a place the
// same below another root, be the namespace the same.
func TestCase28Place(t *testing.T) {
	t.Parallel()
	seen := map[string]string{}
	note := func(what string) {
		here, err := Place()
		again, againErr := Place()
		if err != nil || againErr != nil || here != again {
			t.Errorf("%s: %q, %v, then %q, %v", what, here, err, again, againErr)
		}
		if other, ok := seen[here]; ok {
			t.Errorf("%s and %s are one place: %s", what, other, here)
		}
		seen[here] = what
	}
	note("the test's own")
	dir := t.TempDir()
	apart(t, func() {
		note("another")
		for _, err := range []error{
			unix.Mount("tmpfs", dir, "tmpfs", 0, ""),
			os.Mkdir(filepath.Join(dir, "proc"), 0o700),
			unix.Mount("/proc", filepath.Join(dir, "proc"), "", unix.MS_BIND, ""),
			unix.Chroot(dir),
		} {
			if err != nil {
				t.Error(err)
			}
		}
		note("the same below another root")
	})
}

// TestCase28Lasting: what a process has is not there for the next one.
func TestCase28Lasting(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file, link, toFD := filepath.Join(dir, "file"), filepath.Join(dir, "link"), filepath.Join(dir, "fd")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	fd := fmt.Sprint(f.Fd())
	for name, to := range map[string]string{link: file, toFD: "/proc/self/fd/" + fd} {
		if err := os.Symlink(to, name); err != nil {
			t.Fatal(err)
		}
	}
	for path, want := range map[string]bool{
		file: true, link: true, dir: true,
		toFD: false, "/proc/self/fd/" + fd: false, "/dev/fd/" + fd: false,
		fmt.Sprintf("/proc/%d/fd/%s", os.Getpid(), fd): false,
		"/proc/thread-self/fd/" + fd:                   false,
		"/proc/self/ns/net":                            false,
		"/proc/self/root" + file:                       false,
		fmt.Sprintf("/proc/%d/ns/net", os.Getpid()):    false,
		".": false,
	} {
		if got, err := Lasting(path); got != want || err != nil {
			t.Errorf("%s: %t, %v", path, got, err)
		}
	}
	if got, err := Lasting(file + "-gone"); got || !Absent(ObjectFile, err) {
		t.Errorf("a path that is missing: %t, %v", got, err)
	}
}
