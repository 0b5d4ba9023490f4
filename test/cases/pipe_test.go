package cases

import (
	"os"
	"testing"

	"github.com/fairlead-net/fairlead/test/host"
)

// deaf calls the plugin with pipes that nobody reads, and gives the exit
// status: -1 if a signal ended it.
func deaf(t *testing.T, c *host.Cmd, stdout bool) int {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	c.Stderr = w
	if stdout {
		c.Stdout = w
	}
	_ = c.Run() // the status tells
	return c.ProcessState.ExitCode()
}

// TestRule02ADDThatNobodyHears: the runtime has died, or given up. What it has
// not heard of it will not remove.
func TestRule02ADDThatNobodyHears(t *testing.T) {
	each(t, interfaces()[:2], func(s *scene) {
		before := s.h.Snapshot()
		a := s.attach()
		within := s.h.SnapshotIn(a.Netns)
		if status := deaf(s.T, a.Prepare("ADD"), true); status != 1 {
			s.Errorf("status %d, want 1", status)
		}
		s.untouched(a, within)
		s.h.DeleteNetns(a.Netns)
		s.clean(before)
	})
}

// TestDELThatNobodyHears: that what it has to say (here, of a record that it
// can't read) is read by nobody keeps it from nothing.
func TestDELThatNobodyHears(t *testing.T) {
	each(t, interfaces()[:1], func(s *scene) {
		before := s.h.Snapshot()
		a := s.attach()
		a.MustAdd(s)
		s.h.RemoveAll("/run/fairlead")
		s.h.WriteFile("/run/fairlead", "no directory")
		if status := deaf(s.T, a.Prepare("DEL"), false); status != 0 {
			s.Errorf("status %d, want 0", status)
		}
		s.h.RemoveAll("/run/fairlead")
		s.h.DeleteNetns(a.Netns)
		s.clean(before)
	})
}
