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

// A scene is a store in some condition, and a call on it.
type scene struct {
	name    string
	prepare func(b *bench)
	// call acts for owner 1; owner 2 holds 10.0.0.6 throughout.
	call func(b *bench) error
}

func scenes(tb testing.TB) []scene {
	allocate := func(b *bench) error {
		_, err := b.Allocate(context.Background(), owner(1), dual(tb), nil)
		return err
	}
	release := func(b *bench) error { return b.Release(context.Background(), owner(1), nil) }
	fresh := func(b *bench) {}
	known := func(b *bench) { b.add(owner(3), dual(tb)...); b.del(owner(3)) }
	foreign := func(b *bench) { known(b); b.foreign("10.0.0.4", owner(4)); b.put("10.0.0.5", "") }
	rebooted := func(b *bench) { b.add(owner(3), dual(tb)...); b.reboot("boot-two") }
	held := func(b *bench) { b.add(owner(1), dual(tb)...) }
	theirs := func(b *bench) { known(b); b.foreign("10.0.0.4", owner(1)); b.foreign("fd00::4", owner(1)) }
	return []scene{
		{"allocate in a new folder", fresh, allocate},
		{"allocate", known, allocate},
		{"allocate after the other suite", foreign, allocate},
		{"allocate after a reboot", rebooted, allocate},
		{"release", held, release},
		{"release the other suite's", theirs, release},
		{"release after a reboot", func(b *bench) { held(b); b.reboot("boot-two") }, release},
	}
}

func (s scene) stage(tb testing.TB) *bench {
	b := newBench(tb)
	s.prepare(b)
	b.foreign("10.0.0.6", owner(2))
	b.tap.total()
	return b
}

// wholeLeases: no file that is half written, whatever happened. A lease that
// the scene left empty may still be there.
func (b *bench) wholeLeases() {
	b.Helper()
	for name, text := range b.files() {
		if h, ok := parseLease([]byte(text)); (!ok || h.blank) && name != "10.0.0.5" {
			b.Errorf("%s holds %q", name, text)
		}
	}
}

// cleanUp releases owner 1 as the next DEL does; nothing of it may be left, and
// nothing of owner 2 be gone.
func (b *bench) cleanUp(when string) {
	b.Helper()
	b.tap.before = nil
	b.wholeLeases()
	b.checkCovers()
	b.del(owner(1))
	if held, err := b.Find(context.Background(), owner(1)); err != nil || len(held) > 0 {
		b.Errorf("%s: still held: %v, %v", when, held, err)
	}
	files := b.files()
	for name, text := range files {
		if text == "container-1\r\neth0" {
			b.Errorf("%s: %s is left", when, name)
		}
	}
	if files["10.0.0.6"] != "container-2\r\neth0" {
		b.Errorf("%s: another's lease is %q", when, files["10.0.0.6"])
	}
	b.checkCovers()
	b.add(owner(1), dual(b)...)
	b.checkCovers()
}

// The process dies at each system call in turn.
func TestCrashAtEverySystemCall(t *testing.T) {
	t.Parallel()
	for _, s := range scenes(t) {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			for n := 1; ; n++ {
				b := s.stage(t)
				b.tap.before = diesAt(n)
				err := s.call(b)
				all, _ := b.tap.total()
				b.cleanUp(fmt.Sprintf("died at call %d", n))
				if err == nil && all < n {
					return // it was over before
				}
			}
		})
	}
}

// One system call fails, each in turn: the answer is the truth.
func TestEverySystemCallFails(t *testing.T) {
	t.Parallel()
	for _, s := range scenes(t) {
		for _, errno := range []unix.Errno{unix.EIO, unix.ENOSPC} {
			t.Run(s.name+", "+errno.Error(), func(t *testing.T) {
				t.Parallel()
				for n := 1; ; n++ {
					b := s.stage(t)
					b.tap.before = func(i int, _, _ string) error {
						if i == n {
							return errno
						}
						return nil
					}
					err := s.call(b)
					all, _ := b.tap.total()
					b.tap.before = nil
					when := fmt.Sprintf("call %d failed, answer %v", n, err)
					s.judge(b, when, err)
					b.cleanUp(when)
					if all < n {
						return
					}
				}
			})
		}
	}
}

// judge holds the answer against what is there.
func (s scene) judge(b *bench, when string, err error) {
	b.Helper()
	left := 0
	for _, text := range b.files() {
		if text == "container-1\r\neth0" {
			left++
		}
	}
	allocates := s.name[:2] == "al"
	switch {
	case allocates && err == nil && left != 2:
		b.Errorf("%s: success with %d leases", when, left)
	case allocates && err != nil && left != 0 && !errors.Is(err, ErrLeftBehind):
		b.Errorf("%s: failure with %d leases", when, left)
	case !allocates && err == nil && left != 0:
		b.Errorf("%s: success with %d leases left", when, left)
	}
}

// What a killed process leaves of a lease without an address is another name
// of a lease that may be in force: it must not be written into.
func TestKilledBetweenLinkAndUnlink(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.add(owner(1), small(t))
	temp := filepath.Join(b.indexDir(), tempName)
	if err := os.Link(filepath.Join(b.Dir(), "10.0.0.2"), temp); err != nil {
		t.Fatal(err)
	}
	b.add(owner(2), small(t))
	b.expect(map[string]string{"10.0.0.2": "container-1\r\neth0", "10.0.0.3": "container-2\r\neth0"})
	if _, err := os.Lstat(temp); err == nil {
		t.Error("the other name is still there")
	}
}
