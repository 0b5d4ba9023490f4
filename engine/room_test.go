package engine

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// fill takes every inode, or every page, that is left in a directory.
func fill(t *testing.T, dir, what string) {
	t.Helper()
	for i := 0; ; i++ {
		path := filepath.Join(dir, fmt.Sprint("fill-", i))
		if what == "pages" {
			path = filepath.Join(dir, "fill")
		}
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
		if err == nil {
			if what == "pages" {
				_, err = f.Write(make([]byte, 4096))
			}
			_ = f.Close()
		}
		if errors.Is(err, unix.ENOSPC) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestCase32RemovalNeedsNoRoom: DEL and a sweep take everything away though the
// state directory takes no more: no file of a lock, no new record. Those of
// other attachments that inherit an old value do so.
func TestCase32RemovalNeedsNoRoom(t *testing.T) {
	t.Parallel()
	for _, what := range []string{"inodes", "pages"} {
		for _, way := range []string{"DEL", "DEL without locks", "sweep", "others first", "plan"} {
			t.Run(what+" "+way, func(t *testing.T) {
				t.Parallel()
				dir := tmpRoot(t)
				privately(t, dir, "nr_inodes=200,size=1m,mode=700", func() {
					n := newNode(dir, newWorld())
					first := furnish(n.w, "me", "other")
					_, mine := wholePlan("me")
					_, others := wholePlan("other")
					n.mustAdd(t, attach("me", "1"), mine...)
					n.mustAdd(t, attach("other", "1"), others...)
					if way != "DEL" { // whose locks' files are there
						if err := os.RemoveAll(filepath.Join(dir, "locks")); err != nil {
							t.Error(err)
						}
					}
					fill(t, dir, what)
					n.removeBoth(t, way)
					wantThings(t, n.w.things("ensured"), first)
					for _, path := range fills(t, dir) {
						if err := os.Remove(path); err != nil {
							t.Error(err)
						}
					}
					n.wantClean(t)
				})
			})
		}
	}
}

func (n *node) removeBoth(t *testing.T, way string) {
	t.Helper()
	switch way {
	case "sweep":
		none := func(Header) bool { return false }
		all := func(Header) bool { return true }
		swept, err := n.Sweep(t.Context(), all, none, true)
		if err != nil || len(swept.Removed) != 2 {
			t.Errorf("%+v, %v", swept, err)
		}
	case "plan": // of an attachment that never got here
		_, list := wholePlan("third")
		env, scope, leave, err := n.enter(t.Context(), attach("third", "1"))
		if err == nil {
			err = n.RemovePlan(t.Context(), env, scope, list)
			leave()
		}
		if err != nil {
			t.Error(err)
		}
		fallthrough
	case "others first":
		n.wantDel(t, "other")
		n.wantDel(t, "me")
	default:
		n.wantDel(t, "me")
		n.wantDel(t, "other")
	}
}

// wantDel is mustDel where a test must not end: in privately.
func (n *node) wantDel(t *testing.T, owner string) {
	t.Helper()
	_, list := wholePlan(owner)
	if err := n.del(attach(owner, "1"), list); err != nil {
		t.Errorf("DEL of %s: %v", owner, err)
	}
}

func fills(t *testing.T, dir string) []string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "fill*"))
	if err != nil {
		t.Fatal(err)
	}
	return paths
}
