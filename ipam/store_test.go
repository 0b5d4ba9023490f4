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
	"time"

	"golang.org/x/sys/unix"

	"github.com/fairlead-net/fairlead/attachment"
	"github.com/fairlead-net/fairlead/engine"
)

const testNet = "net"

// A bench is a store in a directory of its own, with a boot of its own.
type bench struct {
	testing.TB
	*Store
	tap  *tap
	boot string
}

func newBench(tb testing.TB) *bench {
	tb.Helper()
	return benchIn(tb, tb.TempDir())
}

func benchIn(tb testing.TB, dir string) *bench {
	tb.Helper()
	s, err := Open(filepath.Join(dir, "leases"), testNet)
	if err != nil {
		tb.Fatal(err)
	}
	b := &bench{TB: tb, tap: &tap{}, boot: filepath.Join(dir, "boot_id")}
	b.Store = s.WithBootIDFile(b.boot)
	b.Store.sys = b.tap
	b.reboot("boot-one")
	return b
}

func (b *bench) reboot(id string) {
	b.Helper()
	if err := os.WriteFile(b.boot, []byte(id+"\n"), 0o600); err != nil {
		b.Fatal(err)
	}
}

func owner(n int) attachment.ID {
	return attachment.ID{Network: testNet, Container: fmt.Sprintf("container-%d", n), IfName: "eth0"}
}

func (b *bench) add(id attachment.ID, sets ...RangeSet) []string {
	b.Helper()
	got, err := b.Allocate(context.Background(), id, sets, nil)
	if err != nil {
		b.Fatal(err)
	}
	return texts(got)
}

func texts(all []Allocation) []string {
	var out []string
	for _, a := range all {
		out = append(out, a.Address.Addr().String())
	}
	return out
}

func (b *bench) del(id attachment.ID) {
	b.Helper()
	if err := b.Release(context.Background(), id, nil); err != nil {
		b.Fatal(err)
	}
}

// files are the names in the network's folder less the lock and the round
// robin's, with their content.
func (b *bench) files() map[string]string {
	b.Helper()
	out := map[string]string{}
	entries, err := os.ReadDir(b.Dir())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		b.Fatal(err)
	}
	for _, e := range entries {
		if e.Name() == lockName || strings.HasPrefix(e.Name(), lastPrefix) {
			continue
		}
		data, err := os.ReadFile(filepath.Join(b.Dir(), e.Name()))
		if err != nil {
			b.Fatal(err)
		}
		out[e.Name()] = string(data)
	}
	return out
}

func (b *bench) expect(want map[string]string) {
	b.Helper()
	if got := b.files(); fmt.Sprint(got) != fmt.Sprint(want) {
		b.Errorf("got  %q\nwant %q", got, want)
	}
}

// foreign does what the reference does to reserve: no index, no mark.
func (b *bench) foreign(addr string, id attachment.ID) {
	b.Helper()
	b.put(addr, id.Container+"\r\n"+id.IfName)
}

func (b *bench) put(name, content string) {
	b.Helper()
	if err := os.MkdirAll(b.Dir(), 0o755); err != nil {
		b.Fatal(err)
	}
	f, err := os.OpenFile(filepath.Join(b.Dir(), name), os.O_RDWR|os.O_EXCL|os.O_CREATE, 0o600)
	if err != nil {
		b.Fatal(err)
	}
	if _, err := f.WriteString(content); err != nil {
		b.Fatal(err)
	}
	if err := f.Close(); err != nil {
		b.Fatal(err)
	}
}

func small(tb testing.TB) RangeSet {
	return mustSet(tb, WireRange{Subnet: "10.0.0.0/29"}) // .2 to .6
}

func dual(tb testing.TB) []RangeSet {
	return []RangeSet{small(tb), mustSet(tb, WireRange{Subnet: "fd00::/125"})}
}

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

// The other suite's change within the same tick of the clock as ours: times
// are as coarse as 10 ms, and must not decide.
func TestRule17ForeignChangeInTheSameTick(t *testing.T) {
	t.Parallel()
	b := newBench(t)
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

// checkIndex: where the mark says that the index is true, it is.
func (b *bench) checkIndex() (marked bool) {
	b.Helper()
	return b.compareIndex(true)
}

// checkCovers: where the mark says so, no lease is unknown to the index. It may
// have leases that are gone, after an error.
func (b *bench) checkCovers() {
	b.Helper()
	b.compareIndex(false)
}

func (b *bench) compareIndex(exact bool) (marked bool) {
	b.Helper()
	s := *b.Store
	s.sys = disk{}
	se, ok, err := s.begin(context.Background(), look)
	if err != nil {
		b.Fatal(err)
	}
	if !ok {
		return false
	}
	defer se.end()
	if !se.known {
		return false
	}
	indexed := se.oldEntries()
	if err := se.walk(); err != nil {
		b.Fatal(err)
	}
	for o, e := range se.seen.owners {
		for _, r := range e.Leases {
			if !slices.Contains(indexed[o].Leases, r) {
				b.Errorf("owner %s has %v, the index %v", e.Container, e.Leases, indexed[o].Leases)
			}
		}
		if exact && len(e.Leases) != len(indexed[o].Leases) {
			b.Errorf("owner %s has %v, the index %v", e.Container, e.Leases, indexed[o].Leases)
		}
	}
	if !exact {
		return true
	}
	for o, e := range indexed {
		if se.seen.owners[o] == nil {
			b.Errorf("the index still has %v", e)
		}
	}
	if len(se.seen.blank) > 0 {
		b.Errorf("marked with empty leases %v", se.seen.blank)
	}
	return true
}

func TestRule16LeasesOfAnEarlierBoot(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	set := small(t)
	for i := range 5 {
		b.add(owner(i), set)
	}
	if err := b.Ready(context.Background(), []RangeSet{set}); !errors.Is(err, ErrExhausted) {
		t.Errorf("ready with a full range: %v", err)
	}
	b.reboot("boot-two")
	// Looking takes nothing, but knows.
	if err := b.Ready(context.Background(), []RangeSet{set}); err != nil {
		t.Errorf("not ready after the reboot: %v", err)
	}
	if p, err := b.Preview(context.Background(), owner(3), []RangeSet{set}, nil); err != nil || p[0].Address.Addr().String() != "10.0.0.2" {
		t.Errorf("preview: %v, %v", p, err)
	}
	if n := len(b.files()); n != 5 {
		t.Errorf("looking left %d leases of 5", n)
	}
	b.add(owner(3), set)
	b.expect(map[string]string{"10.0.0.2": "container-3\r\neth0"})
	b.checkIndex()
}

func TestRule16UnrecordedLeasesAreAdopted(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	set := small(t)
	b.add(owner(1), set) // 10.0.0.2, recorded
	b.reboot("boot-two")
	b.foreign("10.0.0.4", owner(2)) // the other suite's, after the reboot
	b.add(owner(3), set)
	want := map[string]string{"10.0.0.3": "container-3\r\neth0", "10.0.0.4": "container-2\r\neth0"}
	b.expect(want)
	// Recorded now, it is of this boot: the next one makes it stale.
	b.add(owner(4), set)
	b.reboot("boot-three")
	b.del(owner(99))
	b.expect(nil)
}

// The same container gets the same address again from the other suite, after a
// reboot that we did not see: that lease is alive.
func TestRule16SameLeaseWrittenAnew(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.add(owner(1), small(t))
	b.reboot("boot-two")
	if err := os.Remove(filepath.Join(b.Dir(), "10.0.0.2")); err != nil {
		t.Fatal(err)
	}
	b.foreign("10.0.0.2", owner(1))
	b.del(owner(99))
	b.expect(map[string]string{"10.0.0.2": "container-1\r\neth0"})
}

func TestRule16NoBootIDMeansNoEarlierBoot(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.add(owner(1), small(t))
	if err := os.Remove(b.boot); err != nil {
		t.Fatal(err)
	}
	b.add(owner(2), small(t))
	b.expect(map[string]string{"10.0.0.2": "container-1\r\neth0", "10.0.0.3": "container-2\r\neth0"})
}

func TestRule16EmptyLeaseIsGarbage(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	set := mustSet(t, WireRange{Subnet: "10.0.0.0/30"})
	b.put("10.0.0.2", "")
	if err := b.Ready(context.Background(), []RangeSet{set}); err != nil {
		t.Error(err)
	}
	b.add(owner(1), set)
	b.expect(map[string]string{"10.0.0.2": "container-1\r\neth0"})
	b.del(owner(1))
	b.put("10.0.0.2", "\x00\x00\x00\x00")
	b.del(owner(1))
	b.expect(nil)
}

func TestCase20RebootsDoNotUseUpTheRange(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for boot := range 10 {
		b.reboot(fmt.Sprintf("boot-%d", boot))
		for i := range 5 {
			b.add(owner(boot*10+i), small(t))
		}
	}
}

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
	t.Run("the network's folder", func(t *testing.T) {
		t.Parallel()
		b := newBench(t)
		link(b, b.TempDir(), b.Dir())
		if _, err := b.Allocate(ctx, owner(1), dual(t), nil); err == nil {
			t.Error("allocated")
		}
		// Where it leads there may be leases: not known is no success.
		if err := b.Release(ctx, owner(1), nil); err == nil {
			t.Error("released")
		}
	})
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

func TestReadyWhereNothingCanBeWritten(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.tap.before = func(_ int, op, _ string) error {
		if op == "writable" {
			return unix.EROFS
		}
		return nil
	}
	if err := b.Ready(context.Background(), dual(t)); !errors.Is(err, unix.EROFS) {
		t.Errorf("got %v", err)
	}
	b.tap.before = nil
	if err := b.Ready(context.Background(), dual(t)); err != nil {
		t.Error(err)
	}
}
