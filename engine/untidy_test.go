package engine

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// TestRule02ChangeBeforeAFailureToTidyUp: what was changed under a thing's lock
// stands, though the folder of its users can't be read afterwards. The failure
// says so, or a rollback would leave it.
func TestRule02ChangeBeforeAFailureToTidyUp(t *testing.T) {
	t.Parallel()
	n := testNode(t)
	dir := n.Journal.usersDir("thing")
	if err := os.Mkdir(filepath.Dir(dir), 0o700); err != nil {
		t.Fatal(err)
	}
	err := n.alone(t.Context(), "thing", func(context.Context) error { return os.WriteFile(dir, nil, 0o600) })
	if !errors.Is(err, unix.ENOTDIR) || !IsPartial(err) {
		t.Errorf("got %v", err)
	}
}

// TestRule19StateDirThatMayNotBeLookedAt is not passed over: what is recorded in it
// would not be found in the next.
func TestRule19StateDirThatMayNotBeLookedAt(t *testing.T) {
	t.Parallel()
	closed, second := tmpRoot(t), filepath.Join(tmpRoot(t), "state")
	err := errors.Join(os.Chmod(closed, 0o700), os.Chown(filepath.Dir(second), 12345, -1))
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // and never unlocked: the thread ends with its rights
		if err = unix.Setfsuid(12345); err == nil {
			_, err = FindStateDir([]string{filepath.Join(closed, "state"), second})
		}
	}()
	<-done
	if !errors.Is(err, ErrStateUnknown) || !errors.Is(err, unix.EACCES) {
		t.Errorf("got %v", err)
	}
	if _, err := os.Lstat(second); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the next one was made: %v", err)
	}
}
