package engine

import (
	"os"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// untilWaitedFor returns when someone waits for the lock of a file (proc(5),
// /proc/locks).
func untilWaitedFor(t *testing.T, path string) {
	t.Helper()
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil {
		t.Fatal(err)
	}
	inode := ":" + strconv.FormatUint(st.Ino, 10) + " "
	for t.Context().Err() == nil {
		locks, err := os.ReadFile("/proc/locks")
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(locks)) {
			if strings.Contains(line, "-> FLOCK") && strings.Contains(line, inode) {
				return
			}
		}
	}
}

// TestRule02DELThatWaitedTakesTheNewEntry: who waits for an entry that goes, and
// is made anew under its name, gets the new one, not the file that is gone.
func TestRule02DELThatWaitedTakesTheNewEntry(t *testing.T) {
	t.Parallel()
	n := testNode(t)
	n.w.setScope("1", "alive")
	h := attach("c", "1")
	n.mustAdd(t, h, toy("old", ""))
	first, err := n.Journal.Take(t.Context(), h.ID, h.Plugin, h.Hash)
	if err != nil {
		t.Fatal(err)
	}
	taken := make(chan *Entry)
	go func() {
		second, err := n.Journal.Take(t.Context(), h.ID, h.Plugin, h.Hash)
		if err != nil {
			t.Error(err)
		}
		taken <- second
	}()
	untilWaitedFor(t, onlyFile(t, n.Journal, h.ID))
	if err := os.Remove(onlyFile(t, n.Journal, h.ID)); err != nil {
		t.Fatal(err)
	}
	n.mustAdd(t, h, toy("new", ""))
	first.Close()
	second := <-taken
	if second == nil || len(second.records) != 1 || !strings.Contains(string(second.records[0].body), "new") {
		t.Fatalf("got %+v", second)
	}
	second.Close()
}
