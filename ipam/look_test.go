package ipam

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestLookingChangesNothing(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	b := newBench(t)
	looks := func() {
		for _, set := range [][]RangeSet{{small(t)}, dual(t)} {
			if err := b.Ready(ctx, set); err != nil {
				t.Error(err)
			}
			if _, err := b.Preview(ctx, owner(50), set, nil); err != nil {
				t.Error(err)
			}
		}
		if _, err := b.Find(ctx, owner(1)); err != nil {
			t.Error(err)
		}
		if _, err := b.Missing(ctx, owner(1), []netip.Addr{netip.MustParseAddr("10.0.0.2")}); err != nil {
			t.Error(err)
		}
		if _, err := b.Leases(ctx); err != nil {
			t.Error(err)
		}
	}
	looks()
	if _, err := os.Stat(filepath.Dir(b.Dir())); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("looking made the folder: %v", err)
	}
	b.foreign("10.0.0.2", owner(1))
	b.put("10.0.0.3", "")
	snapshot := func() string {
		var out strings.Builder
		err := filepath.WalkDir(b.dataDir, func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			fi, err := d.Info()
			fmt.Fprintln(&out, path, fi.Size(), fi.Mode(), fi.ModTime())
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	before := snapshot()
	looks()
	b.tap.total()
	if after := snapshot(); after != before {
		t.Errorf("before:\n%safter:\n%s", before, after)
	}
	b.add(owner(2), small(t))
	b.reboot("boot-two")
	before = snapshot()
	looks()
	if after := snapshot(); after != before {
		t.Errorf("before:\n%safter:\n%s", before, after)
	}
}

func TestPreviewIsWhatAllocateGives(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for i := range 5 {
		p, err := b.Preview(context.Background(), owner(i), dual(t), nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := b.add(owner(i), dual(t)...); !slices.Equal(got, texts(p)) {
			t.Errorf("preview %v, got %v", texts(p), got)
		}
	}
	for _, request := range [][]netip.Addr{nil, {netip.MustParseAddr("10.0.0.3")}} {
		if _, err := b.Preview(context.Background(), owner(9), dual(t), request); !errors.Is(err, ErrExhausted) && !errors.Is(err, ErrTaken) {
			t.Errorf("a full range: %v", err)
		}
	}
	if _, err := b.Preview(context.Background(), owner(1), dual(t), nil); !errors.Is(err, ErrHeld) {
		t.Errorf("an owner who has one: %v", err)
	}
}

func TestDataDirectoryBelowAFile(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	b := newBench(t)
	if err := os.WriteFile(b.dataDir, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Allocate(ctx, owner(1), dual(t), nil); !errors.Is(err, unix.ENOTDIR) {
		t.Errorf("allocate: %v", err)
	}
	if err := b.Ready(ctx, dual(t)); !errors.Is(err, unix.ENOTDIR) {
		t.Errorf("ready: %v", err)
	}
	b.del(owner(1)) // nothing can be there
}
