package cases

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// TestCase25FlatCost: DEL and ADD of host-local read every lease. Here a call
// among 10,000 leases opens the very files that it opens in an empty range.
func TestCase25FlatCost(t *testing.T) {
	s := newScene(t, network{"host-local", base("host-local", "ipam", hostLocal("10.64.0.0/16")), "eth0"})
	dir := filepath.Dir(lease("x"))
	var err error
	// The first call makes the folder, and its index.
	s.attachAndDetach()
	empty := s.opened(dir)
	s.h.Do(func() { err = fill(dir, 10000) })
	if err != nil {
		t.Fatal(err)
	}
	// The first call after another suite has written there reads them all.
	s.attachAndDetach()
	full := s.opened(dir)
	if len(empty) == 0 || full["."] > empty["."] || sum(full) > sum(empty) {
		t.Errorf("ADD, DEL and a DEL that misses open among 10,000 leases\n%v, and in an empty range\n%v", full, empty)
	}
}

func (s *scene) attachAndDetach() {
	s.Helper()
	a := s.attach()
	a.MustAdd(s)
	a.MustDel(s)
	a.MustDel(s)
}

// opened counts what ADD, DEL and a second DEL open in a folder of leases and
// the index in it, by name; "." is a folder itself, to be listed.
func (s *scene) opened(dir string) map[string]int {
	s.Helper()
	fd, err := unix.InotifyInit1(unix.IN_NONBLOCK | unix.IN_CLOEXEC)
	if err != nil {
		s.Fatal(err)
	}
	defer unix.Close(fd)
	s.h.Do(func() {
		for _, d := range []string{dir, filepath.Join(filepath.Dir(dir), ".fairlead", filepath.Base(dir))} {
			if _, watchErr := unix.InotifyAddWatch(fd, d, unix.IN_OPEN); watchErr != nil {
				err = fmt.Errorf("watch %s: %w", d, watchErr)
			}
		}
	})
	if err != nil {
		s.Fatal(err)
	}
	s.attachAndDetach()
	seen := map[string]int{}
	buf := make([]byte, 1<<20)
	for {
		n, err := unix.Read(fd, buf)
		if errors.Is(err, unix.EAGAIN) {
			return seen
		}
		if err != nil {
			s.Fatal(err)
		}
		for rest := buf[:n]; len(rest) > 0; {
			mask, size := binary.NativeEndian.Uint32(rest[4:]), int(binary.NativeEndian.Uint32(rest[12:]))
			if mask&unix.IN_Q_OVERFLOW != 0 {
				s.Fatal("more was opened than inotify tells")
			}
			name := string(bytes.TrimRight(rest[unix.SizeofInotifyEvent:unix.SizeofInotifyEvent+size], "\x00"))
			seen[cmp.Or(name, ".")]++
			rest = rest[unix.SizeofInotifyEvent+size:]
		}
	}
}

func sum(counts map[string]int) (all int) {
	for _, n := range counts {
		all += n
	}
	return all
}

// fill writes leases as the reference suite does.
func fill(dir string, n int) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for i := range n {
		name := fmt.Sprintf("10.64.%d.%d", 10+i/250, 1+i%250)
		if err := os.WriteFile(filepath.Join(dir, name), []byte(fmt.Sprintf("pod%d\r\neth0", i)), 0o600); err != nil {
			return err
		}
	}
	return nil
}
