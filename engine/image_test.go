package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/fairlead-net/fairlead/attachment"
)

// images runs a call in a process of its own, and copies what is on disk before
// every system call that could change it: what a SIGKILL there would leave.
func images(t *testing.T, dir, verb string) []string {
	t.Helper()
	changes := []int{
		unix.SYS_OPENAT, unix.SYS_MKDIRAT, unix.SYS_UNLINKAT, unix.SYS_RENAMEAT,
		unix.SYS_WRITE, unix.SYS_FTRUNCATE, unix.SYS_FLOCK,
	}
	base := tmpRoot(t)
	var list []string
	trace(t, func(nr int) {
		if !slices.Contains(changes, nr) {
			return
		}
		image := filepath.Join(base, fmt.Sprint(len(list)))
		if err := os.CopyFS(image, os.DirFS(dir)); err != nil {
			t.Errorf("copy: %v", err)
		}
		list = append(list, image)
	}, "call", dir, verb, "me")
	return list
}

// Killed before any of its system calls, an ADD or a DEL leaves what the next
// DEL, or an ADD and its DEL, removes: nothing stays in the world or in the
// state directory.
func TestRules01And02KilledAtEverySystemCall(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, verb string
		others     []string // in the order of their ADD
	}{
		{name: "ADD, alone", verb: "add", others: []string{"me"}},
		{name: "DEL, alone", verb: "del", others: []string{"me"}},
		{name: "ADD, above another", verb: "add", others: []string{"other", "me"}},
		{name: "DEL, above another", verb: "del", others: []string{"other", "me"}},
		{name: "DEL, below another", verb: "del", others: []string{"me", "other"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			dir := tmpRoot(t)
			n, err := nodeAt(dir)
			if err != nil {
				t.Fatal(err)
			}
			first := furnish(n.w, "me")
			for _, owner := range test.others {
				if owner != "me" || test.verb == "del" {
					_, list := wholePlan(owner)
					n.mustAdd(t, attach(owner, "1"), list...)
				}
			}
			list := images(t, dir, test.verb)
			t.Logf("%d images", len(list))
			if len(list) < 50 {
				t.Errorf("%d system calls: too few to be true", len(list))
			}
			for i, image := range list {
				recoverImage(t, image, i%2 == 0, len(test.others) > 1, first)
			}
		})
	}
}

func recoverImage(t *testing.T, image string, addFirst, other bool, first map[string]thingAt) {
	t.Helper()
	name := filepath.Base(image)
	n, err := nodeAt(image)
	if err != nil {
		t.Fatal(err)
	}
	_, list := wholePlan("me")
	h := attach("me", "1")
	if addFirst {
		if err := n.addWithFacts(h, list); err != nil && !errors.Is(err, ErrDone) {
			t.Fatalf("%s: ADD: %v", name, err)
		}
	}
	if err := n.del(h, list); err != nil {
		t.Fatalf("%s: DEL: %v", name, err)
	}
	if other {
		things := n.w.things()
		_, vrf := things["common vrf"]
		_, table := things["common table@1"]
		if mtu := things["setting mtu"].Value; !vrf || !table || mtu != "other" {
			t.Errorf("%s: the other's: vrf %v, table %v, mtu %s", name, vrf, table, mtu)
		}
		n.mustDel(t, attach("other", "1"))
	}
	wantThings(t, n.w.things("ensured"), first)
	left := stateFiles(t, n.Journal.Root())
	// The lock of a fact belongs to no attachment: the next ADD takes it.
	fact := "locks/" + attachment.Digest("tables")
	left = slices.DeleteFunc(left, func(name string) bool { return name == fact && !addFirst })
	if len(left) > 0 {
		t.Errorf("%s: left in the state directory: %q", name, left)
	}
	if t.Failed() {
		t.FailNow()
	}
}

// A DEL before any system call of an ADD, even between the making of its entry
// and the entry's lock, is too early or finds it busy. The ADD begins again as
// often as need be, and is whole.
func TestRule02DELAtEverySystemCallOfADD(t *testing.T) {
	t.Parallel()
	for _, when := range []string{"always", "the entry is there"} {
		t.Run(when, func(t *testing.T) {
			t.Parallel()
			dir := tmpRoot(t)
			n, err := nodeAt(dir)
			if err != nil {
				t.Fatal(err)
			}
			first := furnish(n.w, "me")
			h := attach("me", "1")
			stops := 0
			trace(t, func(int) {
				// Enough for it to begin again a dozen times.
				if stops++; stops > 300 {
					return
				}
				if names, _ := entryNames(n.Journal.dirOf(h.ID)); when == "always" || len(names) > 0 {
					n.delTooEarly(t, h)
				}
			}, "call", dir, "add", "me")
			if _, err := n.begin(h, nil); !errors.Is(err, ErrDone) {
				t.Errorf("afterwards: %v, want ErrDone", err)
			}
			n.mustDel(t, h)
			wantThings(t, n.w.things("ensured"), first)
			n.wantClean(t)
		})
	}
}

func (n *node) delTooEarly(t *testing.T, h Header) {
	t.Helper()
	now, cancel := context.WithCancel(t.Context())
	cancel()
	entry, err := n.Journal.Take(now, h.ID, h.Plugin, h.Hash)
	switch {
	case errors.Is(err, ErrBusy), err == nil && entry == nil:
	case err == nil && entry.Done:
		entry.Close() // it was let go of: this would be a DEL like another
	default:
		t.Errorf("took %v of an ADD at work: %v", entry, err)
	}
}
