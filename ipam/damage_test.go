package ipam

import (
	"context"
	"errors"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/fairlead-net/fairlead/attachment"
	"github.com/fairlead-net/fairlead/engine"
)

func TestFolderMadeAnew(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.add(owner(1), small(t))
	if err := os.RemoveAll(b.Dir()); err != nil {
		t.Fatal(err)
	}
	b.del(owner(1))
	b.add(owner(2), small(t))
	b.expect(map[string]string{"10.0.0.2": "container-2\r\neth0"})
	b.checkIndex()
}

func TestSymlinksAreRefused(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	outside := func(b *bench) string {
		path := filepath.Join(b.TempDir(), "outside")
		if err := os.WriteFile(path, []byte("container-1\r\neth0"), 0o600); err != nil {
			b.Fatal(err)
		}
		return path
	}
	link := func(b *bench, to, at string) {
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			b.Fatal(err)
		}
		if err := os.Symlink(to, at); err != nil {
			b.Fatal(err)
		}
	}
	t.Run("the lock", func(t *testing.T) {
		t.Parallel()
		b := newBench(t)
		link(b, outside(b), filepath.Join(b.Dir(), lockName))
		if _, err := b.Allocate(ctx, owner(1), dual(t), nil); !errors.Is(err, unix.ELOOP) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("a lease", func(t *testing.T) {
		t.Parallel()
		b := newBench(t)
		out := outside(b)
		link(b, out, filepath.Join(b.Dir(), "10.0.0.2"))
		if got := b.add(owner(1), small(t)); got[0] != "10.0.0.3" {
			t.Errorf("got %v", got)
		}
		b.del(owner(1))
		if _, err := os.Lstat(filepath.Join(b.Dir(), "10.0.0.2")); err != nil {
			t.Error(err)
		}
		swept, err := b.Sweep(ctx, takeAll)
		if err != nil || !slices.Equal(swept.Odd, []string{"10.0.0.2"}) {
			t.Errorf("got %+v, %v", swept, err)
		}
	})
	t.Run("the round robin", func(t *testing.T) {
		t.Parallel()
		b := newBench(t)
		out := outside(b)
		link(b, out, filepath.Join(b.Dir(), lastPrefix+"0"))
		if _, err := b.Allocate(ctx, owner(1), dual(t), nil); !errors.Is(err, unix.ELOOP) {
			t.Errorf("got %v", err)
		}
		if data, _ := os.ReadFile(out); string(data) != "container-1\r\neth0" {
			t.Errorf("written through the link: %q", data)
		}
	})
	t.Run("the index", func(t *testing.T) {
		t.Parallel()
		b := newBench(t)
		elsewhere := b.TempDir()
		link(b, elsewhere, filepath.Join(b.dataDir, ours))
		b.add(owner(1), small(t))
		b.del(owner(1))
		b.expect(nil)
		if left, _ := os.ReadDir(elsewhere); len(left) > 0 {
			t.Errorf("written through the link: %v", left)
		}
	})
}

// A lease that can't be read or removed is an error, never success, and stops
// nothing else.
func TestErrorsAreNotSuccess(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	failOn := func(op, name string) func(int, string, string) error {
		return func(_ int, o, n string) error {
			if o == op && n == name {
				return unix.EIO
			}
			return nil
		}
	}
	t.Run("unlink", func(t *testing.T) {
		t.Parallel()
		b := newBench(t)
		b.add(owner(1), dual(t)...)
		b.tap.before = failOn("unlink", "10.0.0.2")
		if err := b.Release(ctx, owner(1), nil); !errors.Is(err, unix.EIO) {
			t.Errorf("got %v", err)
		}
		if _, err := b.Sweep(ctx, takeAll); !errors.Is(err, unix.EIO) {
			t.Errorf("got %v", err)
		}
		b.expect(map[string]string{"10.0.0.2": "container-1\r\neth0"})
		b.tap.before = nil
		b.del(owner(1))
		b.expect(nil)
	})
	t.Run("unlink of the index", func(t *testing.T) {
		t.Parallel()
		b := newBench(t)
		b.add(owner(1), dual(t)...)
		name := string(owner(1).Owner())
		b.tap.before = failOn("unlink", name)
		if err := b.Release(ctx, owner(1), nil); !errors.Is(err, unix.EIO) {
			t.Errorf("got %v", err)
		}
		b.expect(nil)
		b.tap.before = nil
		b.del(owner(1))
		if _, err := os.Lstat(filepath.Join(b.indexDir(), name)); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the entry: %v", err)
		}
	})
	t.Run("read, by the index", func(t *testing.T) {
		t.Parallel()
		b := newBench(t)
		b.add(owner(1), dual(t)...)
		b.tap.before = failOn("open", "10.0.0.2")
		if err := b.Release(ctx, owner(1), nil); !errors.Is(err, unix.EIO) {
			t.Errorf("got %v", err)
		}
		b.tap.before = nil
		b.del(owner(1))
		b.expect(nil)
	})
	t.Run("read, by the walk", func(t *testing.T) {
		t.Parallel()
		b := newBench(t)
		b.foreign("10.0.0.2", owner(1))
		b.foreign("10.0.0.3", owner(2))
		b.tap.before = failOn("open", "10.0.0.2")
		// It may be owner 2's, or owner 3's.
		for _, id := range []attachment.ID{owner(2), owner(3)} {
			if err := b.Release(ctx, id, nil); !errors.Is(err, unix.EIO) {
				t.Errorf("got %v", err)
			}
		}
		b.expect(map[string]string{"10.0.0.2": "container-1\r\neth0"})
		if b.checkIndex() {
			t.Error("marked after a walk that could not read all")
		}
		// Who knows what it leased needs no walk.
		if err := b.Release(ctx, owner(4), []netip.Addr{netip.MustParseAddr("10.0.0.6")}); err != nil {
			t.Error(err)
		}
		if _, err := b.Find(ctx, owner(3)); !errors.Is(err, unix.EIO) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("an earlier boot's", func(t *testing.T) {
		t.Parallel()
		b := newBench(t)
		b.add(owner(1), small(t))
		b.add(owner(2), small(t))
		b.reboot("boot-two")
		b.tap.before = failOn("unlink", "10.0.0.2")
		b.add(owner(1), small(t)) // the old one does not count
		b.expect(map[string]string{"10.0.0.2": "container-1\r\neth0", "10.0.0.4": "container-1\r\neth0"})
		b.tap.before = nil
		b.del(owner(1))
		b.expect(nil)
	})
}

func TestCreateFailsButWhatItTookStays(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	full := mustSet(t, WireRange{"fd00::/125", "fd00::1", "fd00::1", ""})
	b.tap.before = func(_ int, op, name string) error {
		if op == "unlink" && name == "10.0.0.2" {
			return unix.EIO
		}
		return nil
	}
	_, err := b.Allocate(context.Background(), owner(1), []RangeSet{small(t), full}, nil)
	if !errors.Is(err, ErrExhausted) || !errors.Is(err, ErrLeftBehind) {
		t.Errorf("got %v", err)
	}
	b.tap.before = nil
	b.del(owner(1))
	b.expect(nil)
}

func TestNetworkOnAMountOfItsOwn(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	crossing := true
	b.tap.before = func(_ int, op, _ string) error {
		if op == "link" && crossing {
			crossing = false
			return unix.EXDEV
		}
		return nil
	}
	b.add(owner(1), small(t))
	b.expect(map[string]string{"10.0.0.2": "container-1\r\neth0"})
	b.checkIndex()
}

func TestNewerIndexIsLeftAlone(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.add(owner(1), small(t))
	path := filepath.Join(b.indexDir(), stateName)
	const newer = `{"version":2,"boot":{"of":"tomorrow"}}`
	if err := os.WriteFile(path, []byte(newer), 0o600); err != nil {
		t.Fatal(err)
	}
	before, _ := os.ReadDir(b.indexDir())
	b.reboot("boot-two") // its records can't be read: nothing is known to be old
	b.add(owner(2), small(t))
	b.del(owner(1))
	b.expect(map[string]string{"10.0.0.3": "container-2\r\neth0"})
	after, _ := os.ReadDir(b.indexDir())
	if data, _ := os.ReadFile(path); string(data) != newer || len(before) != len(after) {
		t.Errorf("state %s, %d entries were %d", data, len(after), len(before))
	}
}

func TestDamagedIndexIsMadeAnew(t *testing.T) {
	t.Parallel()
	for _, what := range []string{"state", "entry", "folder"} {
		for _, junk := range []string{"", "{", `{"version":1}`, strings.Repeat("x", maxEntry+2)} {
			t.Run(what+" "+junk[:min(len(junk), 9)], func(t *testing.T) {
				t.Parallel()
				b := newBench(t)
				b.add(owner(1), small(t))
				path := filepath.Join(b.indexDir(), stateName)
				switch what {
				case "entry":
					path = filepath.Join(b.indexDir(), string(owner(1).Owner()))
				case "folder":
					if err := os.RemoveAll(b.indexDir()); err != nil {
						t.Fatal(err)
					}
					path = b.indexDir()
				}
				if err := os.WriteFile(path, []byte(junk), 0o600); err != nil {
					t.Fatal(err)
				}
				b.add(owner(2), small(t))
				b.del(owner(1))
				b.expect(map[string]string{"10.0.0.3": "container-2\r\neth0"})
			})
		}
	}
}

func TestBusyLock(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.add(owner(1), small(t))
	se, _, err := b.begin(context.Background(), change)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	if err := b.Release(ctx, owner(1), nil); !errors.Is(err, engine.ErrBusy) {
		t.Errorf("got %v", err)
	}
	// The one that gave up holds nothing once it gets the lock.
	got := make(chan error)
	go func() { got <- b.Release(context.Background(), owner(1), nil) }()
	se.end()
	if err := <-got; err != nil {
		t.Error(err)
	}
	b.expect(nil)
}

func TestFolderVanishesWhileWaiting(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.add(owner(1), small(t))
	se, _, err := b.begin(context.Background(), change)
	if err != nil {
		t.Fatal(err)
	}
	waits := make(chan struct{})
	once := false
	b.tap.before = func(_ int, op, _ string) error {
		if op == "flock" && !once {
			once = true
			close(waits)
		}
		return nil
	}
	got := make(chan error)
	go func() {
		_, err := b.Allocate(context.Background(), owner(2), []RangeSet{small(t)}, nil)
		got <- err
	}()
	<-waits
	if err := os.RemoveAll(b.Dir()); err != nil {
		t.Fatal(err)
	}
	se.changed = false
	se.end()
	if err := <-got; err != nil {
		t.Fatal(err)
	}
	b.expect(map[string]string{"10.0.0.2": "container-2\r\neth0"})
}

func TestCanceled(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	ctx, cancel := context.WithCancel(context.Background())
	set := mustSet(t, WireRange{Subnet: "10.0.0.0/16"})
	tries := 0
	b.tap.before = func(_ int, op, _ string) error {
		if op != "link" {
			return nil
		}
		if tries++; tries == 5000 {
			cancel()
		}
		return unix.EEXIST
	}
	if _, err := b.Allocate(ctx, owner(1), []RangeSet{set}, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	b.expect(nil)
}
