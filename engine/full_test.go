package engine

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// attempt is an ADD where the state directory takes no more at some point: it
// is whole, or it leaves nothing. A second owner has an attachment meanwhile.
func attempt(t tester, n *node, above bool) (whole bool) {
	t.Helper()
	if above {
		_, list := wholePlan("other")
		if err, rolled := n.add(attach("other", "1"), nil, list); err != nil || rolled != nil {
			return false
		}
	}
	first, files := n.w.things("ensured"), len(stateFiles(t, n.Journal.Root()))
	h := attach("me", "1")
	_, list := wholePlan("me")
	err := n.addWithFacts(h, list)
	if err == nil {
		err = n.del(h, list)
		whole = true
	}
	var left *RemainingError
	if errors.As(err, &left) {
		t.Errorf("with a full disk: %v", err)
	}
	wantThings(t, n.w.things("ensured"), first)
	if now := stateFiles(t, n.Journal.Root()); len(now) != files {
		t.Errorf("%v: left in the state directory: %q", err, now)
	}
	return whole
}

// No inode, or no page, is left at any point of an ADD: it fails, and leaves no
// damage.
func TestRule02ADDOnAFullTmpfs(t *testing.T) {
	t.Parallel()
	for _, above := range []bool{false, true} {
		t.Run(fmt.Sprint("above another: ", above), func(t *testing.T) {
			t.Parallel()
			for inodes, whole := 1, false; !whole; inodes++ {
				if inodes > 100 {
					t.Fatal("no ADD got through")
				}
				dir := tmpRoot(t)
				privately(t, dir, fmt.Sprintf("nr_inodes=%d,mode=700", inodes), func() {
					n := newNode(dir, newWorld())
					furnish(n.w, "me", "other")
					whole = attempt(t, n, above)
				})
			}
		})
	}
}

// reporter is a tester for the processes that are none.
type reporter struct{ errs []error }

func (*reporter) Helper()                        {}
func (r *reporter) Errorf(f string, args ...any) { r.errs = append(r.errs, fmt.Errorf(f, args...)) }
func (r *reporter) Fatalf(f string, args ...any) { panic(fmt.Sprintf(f, args...)) }

// childLimits tries an ADD with every limit to the size of a file: the entry is
// cut off at every byte. DIR.
func childLimits(args []string) error {
	r := new(reporter)
	for limit, whole := uint64(1), false; !whole; limit++ {
		n := newNode(filepath.Join(args[0], fmt.Sprint(limit)), newWorld())
		furnish(n.w, "me")
		if err := os.Mkdir(n.Journal.Root(), 0o700); err != nil {
			return err
		}
		if err := limitFiles(limit); err != nil {
			return err
		}
		whole = attempt(r, n, false)
		if err := limitFiles(unix.RLIM_INFINITY); err != nil {
			return err
		}
		if len(r.errs) > 0 {
			return fmt.Errorf("limit %d: %w", limit, errors.Join(r.errs...))
		}
	}
	return nil
}

func limitFiles(size uint64) error {
	return unix.Prlimit(0, unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: size, Max: unix.RLIM_INFINITY}, nil)
}

func TestRule02ADDWithAnEntryCutOffAtEveryByte(t *testing.T) {
	t.Parallel()
	if err := child(t.Context(), "limits", tmpRoot(t)).Run(); err != nil {
		t.Error(err)
	}
}

// What can't be written is no reason not to remove.
func TestRule19DELOnAFullDisk(t *testing.T) {
	t.Parallel()
	for _, options := range []string{"nr_inodes=40,mode=700", "size=256k,mode=700"} {
		dir := tmpRoot(t)
		privately(t, dir, options, func() {
			n := newNode(dir, newWorld())
			first := furnish(n.w, "me")
			_, list := wholePlan("me")
			n.mustAdd(t, attach("me", "1"), list...)
			fill := filepath.Join(dir, "fill")
			if err := os.Mkdir(fill, 0o700); err != nil {
				t.Error(err)
			}
			var err error
			for i := 0; err == nil; i++ {
				err = os.WriteFile(filepath.Join(fill, fmt.Sprint(i)), make([]byte, 4096), 0o600)
			}
			if !errors.Is(err, unix.ENOSPC) {
				t.Error(err)
			}
			n.mustDel(t, attach("me", "1"))
			wantThings(t, n.w.things("ensured"), first)
			if err := os.RemoveAll(fill); err != nil {
				t.Error(err)
			}
			n.wantClean(t)
		})
	}
}
