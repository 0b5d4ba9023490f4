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

	"github.com/fairlead-net/fairlead/attachment"
)

func TestLayoutIsTheReferences(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	if got := b.add(owner(1), dual(t)...); !slices.Equal(got, []string{"10.0.0.2", "fd00::2"}) {
		t.Errorf("got %v", got)
	}
	b.expect(map[string]string{
		"10.0.0.2": "container-1\r\neth0",
		"fd00::2":  "container-1\r\neth0",
	})
	for name, want := range map[string]struct {
		text string
		mode fs.FileMode
	}{
		"10.0.0.2":           {"container-1\r\neth0", 0o600},
		"last_reserved_ip.0": {"10.0.0.2", 0o600},
		"last_reserved_ip.1": {"fd00::2", 0o600},
		"lock":               {"", 0o750},
	} {
		path := filepath.Join(b.Dir(), name)
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		fi, err := os.Lstat(path)
		if err != nil {
			t.Fatal(err)
		}
		if string(data) != want.text || fi.Mode() != want.mode {
			t.Errorf("%s: %q, mode %v", name, data, fi.Mode())
		}
	}
	if fi, err := os.Stat(b.Dir()); err != nil || fi.Mode().Perm() != 0o755 {
		t.Errorf("folder: %v, %v", fi, err)
	}
	b.del(owner(1))
	b.expect(nil)
}

func TestRoundRobin(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for i, want := range []string{"10.0.0.2", "10.0.0.3", "10.0.0.4", "10.0.0.5", "10.0.0.6", "10.0.0.2"} {
		if got := b.add(owner(i), small(t)); got[0] != want {
			t.Errorf("allocation %d: got %s, want %s", i, got[0], want)
		}
		b.del(owner(i))
	}
}

func TestAllocateErrors(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	b := newBench(t)
	sets := dual(t)
	request := func(s string) []netip.Addr { return []netip.Addr{netip.MustParseAddr(s)} }

	got, err := b.Allocate(ctx, owner(1), sets, request("10.0.0.5"))
	if err != nil || !slices.Equal(texts(got), []string{"10.0.0.5", "fd00::2"}) {
		t.Fatalf("got %v, %v", got, err)
	}
	before := b.files()
	if _, err := b.Allocate(ctx, owner(1), sets, nil); !errors.Is(err, ErrHeld) {
		t.Errorf("a second time: %v", err)
	}
	_, err = b.Allocate(ctx, owner(2), sets, request("fd00::2"))
	if !errors.Is(err, ErrTaken) || !strings.Contains(err.Error(), "container-1/eth0") {
		t.Errorf("a leased address: %v", err)
	}
	if _, err := b.Allocate(ctx, owner(2), sets, request("10.0.0.1")); err == nil {
		t.Error("the gateway was leased")
	}
	if _, err := b.Allocate(ctx, owner(2), sets, request("10.9.9.9")); err == nil {
		t.Error("a foreign address was leased")
	}
	if _, err := b.Allocate(ctx, attachment.ID{Network: testNet, Container: "../x", IfName: "eth0"}, sets, nil); err == nil {
		t.Error("a bad container ID was accepted")
	}
	// What an allocation had taken before it failed is free again.
	b.expect(before)
}

// With the second set used up, nothing stays of the first.
func TestCase7FailedAllocationKeepsNothing(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	sets := []RangeSet{mustSet(t, WireRange{Subnet: "10.0.0.0/24"}), mustSet(t, WireRange{Subnet: "fd00::/126"})}
	b.add(owner(1), sets...)
	b.add(owner(2), sets...)
	before := b.files()
	if _, err := b.Allocate(context.Background(), owner(3), sets, nil); !errors.Is(err, ErrExhausted) || !strings.Contains(err.Error(), "range set 1") {
		t.Errorf("got %v", err)
	}
	b.expect(before)
	b.checkIndex()
}

func TestCase27TwoInterfacesOfOneContainer(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	second := owner(1)
	second.IfName = "eth1"
	b.add(owner(1), small(t))
	b.add(second, small(t))
	b.del(owner(1))
	b.expect(map[string]string{"10.0.0.3": "container-1\r\neth1"})
	b.del(second)
	b.expect(nil)
}

func TestSpec1RepeatedDEL(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.del(owner(1)) // before anything was made
	if _, err := os.Stat(b.Dir()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a release made the folder: %v", err)
	}
	b.add(owner(1), small(t))
	b.add(owner(2), small(t))
	for range 3 {
		b.del(owner(1))
	}
	b.expect(map[string]string{"10.0.0.3": "container-2\r\neth0"})
}

func TestReleaseLeavesOthersAlone(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.add(owner(1), small(t))
	// The address goes to another behind our back; the index still says 1.
	if err := os.Remove(filepath.Join(b.Dir(), "10.0.0.2")); err != nil {
		t.Fatal(err)
	}
	b.foreign("10.0.0.2", owner(2))
	b.put("10.0.0.5", "no lease that we know\nof")
	if err := b.Release(context.Background(), owner(1), []netip.Addr{
		netip.MustParseAddr("10.0.0.2"), netip.MustParseAddr("10.0.0.5"), netip.MustParseAddr("10.0.0.6"),
	}); err != nil {
		t.Fatal(err)
	}
	b.expect(map[string]string{"10.0.0.2": "container-2\r\neth0", "10.0.0.5": "no lease that we know\nof"})
}

func TestReleaseFindsWhatTheReferenceWrote(t *testing.T) {
	t.Parallel()
	for _, known := range []bool{false, true} {
		t.Run(fmt.Sprintf("index before: %t", known), func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			if known {
				b.add(owner(9), small(t))
			}
			b.foreign("10.0.0.4", owner(1))
			b.foreign("fd00::4", owner(1))
			b.put("10.0.0.5", "container-2") // before 0.8
			b.del(owner(1))
			b.del(owner(2))
			want := map[string]string{}
			if known {
				want["10.0.0.2"] = "container-9\r\neth0"
			}
			b.expect(want)
			b.checkIndex()
		})
	}
}

// A lease that is written over in the old form, with the container alone, is
// still the attachment's: the folder does not tell of such a change.
func TestReleaseOfALeaseWrittenOver(t *testing.T) {
	t.Parallel()
	for _, hints := range [][]netip.Addr{nil, {netip.MustParseAddr("10.0.0.2")}} {
		b := newBench(t)
		b.add(owner(1), small(t))
		if err := os.WriteFile(filepath.Join(b.Dir(), "10.0.0.2"), []byte("container-1"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := b.Release(context.Background(), owner(1), hints); err != nil {
			t.Error(err)
		}
		b.expect(nil)
	}
}

// The other suite's change within the same tick of the clock as ours: times
// are as coarse as 10 ms, and must not decide.
func TestRule17ForeignChangeInTheSameTick(t *testing.T) {
	t.Parallel()
	b := benchIn(t, t.TempDir())
	for i := range 200 {
		b.add(owner(i), mustSet(t, WireRange{Subnet: "10.0.0.0/24"}))
		b.foreign("10.0.1.1", owner(1000))
		b.del(owner(1000))
		if _, err := os.Stat(filepath.Join(b.Dir(), "10.0.1.1")); err == nil {
			t.Fatalf("round %d: the foreign lease is still there", i)
		}
		b.del(owner(i))
	}
}

func takeAll(attachment.ID) Verdict { return Take }

func TestRule15Sweep(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	b := newBench(t)
	set := mustSet(t, WireRange{Subnet: "10.0.0.0/24"})
	b.add(owner(0), set)
	b.reboot("boot-two")
	for i := range 4 {
		b.add(owner(i+1), set)
	}
	b.put("10.0.0.99", "container-5")
	b.put("10.0.0.100", "container-6")
	gone := Report
	judge := func(id attachment.ID) Verdict {
		switch id {
		case owner(1), withoutIfName(owner(5)):
			return Keep
		case owner(2):
			return Take
		}
		return gone
	}
	swept, err := b.Sweep(ctx, judge)
	if err != nil {
		t.Fatal(err)
	}
	name := func(all []Held) (out []string) {
		for _, h := range all {
			out = append(out, h.ID.Container)
		}
		return out
	}
	// The earlier boot's went with the first allocation of this one.
	if got := name(swept.Removed); !slices.Equal(got, []string{"container-2"}) {
		t.Errorf("removed %v", got)
	}
	if got := name(swept.Kept); !slices.Equal(got, []string{"container-3", "container-4", "container-6"}) {
		t.Errorf("kept %v", got)
	}
	b.checkIndex()

	gone = Take
	if swept, err = b.Sweep(ctx, judge); err != nil || len(swept.Removed) != 3 || len(swept.Kept) != 0 {
		t.Errorf("forced: %+v, %v", swept, err)
	}
	b.expect(map[string]string{"10.0.0.3": "container-1\r\neth0", "10.0.0.99": "container-5"})

	// Of an earlier boot: whatever the valid set says.
	b.reboot("boot-three")
	swept, err = b.Sweep(ctx, judge)
	if err != nil || !slices.Equal(name(swept.Removed), []string{"container-1", "container-5"}) {
		t.Errorf("after a reboot: %+v, %v", swept, err)
	}
	b.expect(nil)
	b.checkIndex()
}
