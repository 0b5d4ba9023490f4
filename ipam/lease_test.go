package ipam

import (
	"context"
	"encoding/json"
	"errors"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/fairlead-net/fairlead/attachment"
	"github.com/fairlead-net/fairlead/engine"
	"github.com/fairlead-net/fairlead/resource"
)

func (b *bench) lease(n int, sets ...RangeSet) *Lease {
	return &Lease{
		DataDir: b.dataDir, ID: owner(n), Ranges: sets,
		open: func(string, string) (*Store, error) { return b.Store, nil },
	}
}

func (b *bench) observe(l *Lease) engine.State {
	b.Helper()
	st, err := l.Observe(context.Background(), resource.Env{})
	if err != nil {
		b.Fatal(err)
	}
	return st
}

func TestLeaseLife(t *testing.T) {
	t.Parallel()
	ctx, env := context.Background(), resource.Env{}
	b := newBench(t)
	l := b.lease(1, dual(t)...)
	if st := b.observe(l); st.Is != engine.IsAbsent {
		t.Errorf("before: %+v", st)
	}
	p, err := l.Preview(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Create(ctx, env); err != nil {
		t.Fatal(err)
	}
	if len(p) != 2 || p[0] != l.Got[0] || p[1] != l.Got[1] {
		t.Errorf("preview %v, got %v", p, l.Got)
	}
	want := Allocation{netip.MustParsePrefix("10.0.0.2/29"), netip.MustParseAddr("10.0.0.1")}
	if l.Got[0] != want {
		t.Errorf("got %v, want %v", l.Got[0], want)
	}
	// From the journal, and without one.
	text, err := json.Marshal(l)
	if err != nil {
		t.Fatal(err)
	}
	kept := b.lease(0)
	if err := json.Unmarshal(text, kept); err != nil {
		t.Fatal(err)
	}
	for name, l := range map[string]*Lease{"journal": kept, "plan": b.lease(1, dual(t)...)} {
		if st := b.observe(l); st.Is != engine.IsPresent {
			t.Errorf("%s: %+v", name, st)
		}
	}
	if err := b.lease(1, dual(t)...).Create(ctx, env); !engine.IsConflict(err) || !errors.Is(err, ErrHeld) {
		t.Errorf("a second Create: %v", err)
	}
	for range 2 {
		if err := kept.Remove(ctx, env); err != nil {
			t.Fatal(err)
		}
	}
	if st := b.observe(l); st.Is != engine.IsAbsent {
		t.Errorf("after: %+v", st)
	}
	b.expect(nil)
}

func TestSpec17ObserveTellsWhatIsMissing(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	l := b.lease(1, dual(t)...)
	if err := l.Create(context.Background(), resource.Env{}); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(b.Dir(), "fd00::2")); err != nil {
		t.Fatal(err)
	}
	b.foreign("fd00::2", owner(2))
	if st := b.observe(l); st.Is != engine.IsDrifted || !strings.Contains(st.Detail, "fd00::2") {
		t.Errorf("with a journal: %+v", st)
	}
	if st := b.observe(b.lease(1, dual(t)...)); st.Is != engine.IsDrifted || !strings.Contains(st.Detail, "set 1") {
		t.Errorf("without a journal: %+v", st)
	}
	b.tap.before = func(_ int, op, name string) error {
		if op == "open" && name == "10.0.0.2" {
			return unix.EIO
		}
		return nil
	}
	for _, l := range []*Lease{l, b.lease(1, dual(t)...)} {
		if st, err := l.Observe(context.Background(), resource.Env{}); !errors.Is(err, unix.EIO) {
			t.Errorf("unreadable: %+v, %v", st, err)
		}
	}
}

// The key is the same with and without a journal (rule 3), and says nothing
// of addresses.
func TestRule3LeaseKey(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	l := b.lease(1, dual(t)...)
	before := engine.RefOf[resource.Env](l)
	if err := l.Create(context.Background(), resource.Env{}); err != nil {
		t.Fatal(err)
	}
	if after := engine.RefOf[resource.Env](l); after != before || after != engine.RefOf[resource.Env](b.lease(1)) {
		t.Errorf("before %q, after %q", before, after)
	}
	if strings.Contains(string(before), "10.0.0.2") {
		t.Errorf("%q has an address", before)
	}
	other := b.lease(1)
	other.ID.IfName = "eth1"
	if other.Key() == l.Key() {
		t.Error("two interfaces have one key")
	}
}

// A late DEL meets the address in another's hands (case 15).
func TestCase15LateDELLeavesTheNewHolder(t *testing.T) {
	t.Parallel()
	ctx, env := context.Background(), resource.Env{}
	b := newBench(t)
	set := mustSet(t, WireRange{"10.0.0.0/29", "10.0.0.2", "10.0.0.2", ""})
	first, second := b.lease(1, set), b.lease(2, set)
	if err := first.Create(ctx, env); err != nil {
		t.Fatal(err)
	}
	if err := second.Create(ctx, env); !errors.Is(err, ErrExhausted) {
		t.Errorf("got %v", err)
	}
	b.del(owner(1))
	if err := second.Create(ctx, env); err != nil {
		t.Fatal(err)
	}
	if err := first.Remove(ctx, env); err != nil {
		t.Fatal(err)
	}
	b.expect(map[string]string{"10.0.0.2": "container-2\r\neth0"})
}

func TestCase22ReadyKnowsAUsedUpRange(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	b := newBench(t)
	l := b.lease(1, mustSet(t, WireRange{Subnet: "10.0.0.0/30"}))
	if err := l.Ready(ctx, resource.Env{}); err != nil {
		t.Error(err)
	}
	if err := l.Create(ctx, resource.Env{}); err != nil {
		t.Fatal(err)
	}
	if err := l.Ready(ctx, resource.Env{}); !errors.Is(err, ErrExhausted) {
		t.Errorf("got %v", err)
	}
}

func TestRule15LeaseSweep(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	set := mustSet(t, WireRange{Subnet: "10.0.0.0/24"})
	b.add(owner(1), set)
	b.add(owner(2), set)
	b.put("10.0.0.9", "container-3")
	b.put("10.0.0.10", "is no lease\n")
	sweep := resource.Sweep{
		Network: testNet, Force: true,
		Valid: map[attachment.ID]bool{{Network: testNet, Container: "container-1", IfName: "eth0"}: true},
	}
	// GC names no container.
	sweeper := resource.Sweeper(&Lease{DataDir: b.dataDir, open: b.lease(0).open})
	removed, kept, err := sweeper.Sweep(context.Background(), resource.Env{}, sweep)
	if err != nil {
		t.Fatal(err)
	}
	if len(removed) != 1 || removed[0] != "lease of 10.0.0.3 to container-2/eth0 on net" {
		t.Errorf("removed %q", removed)
	}
	if len(kept) != 2 || !strings.Contains(kept[0], "container-3") || !strings.Contains(kept[1], "10.0.0.10") {
		t.Errorf("kept %q", kept)
	}
	b.expect(map[string]string{
		"10.0.0.2": "container-1\r\neth0", "10.0.0.9": "container-3", "10.0.0.10": "is no lease\n"})
}

func TestCreateWithSomethingLeftIsPartial(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.tap.before = func(_ int, op, name string) error {
		if op == "unlink" && name == "10.0.0.2" || op == "link" && name == "fd00::2" {
			return unix.EIO
		}
		return nil
	}
	l := b.lease(1, dual(t)...)
	if err := l.Create(context.Background(), resource.Env{}); !engine.IsPartial(err) {
		t.Errorf("got %v", err)
	}
	b.tap.before = nil
	if err := l.Remove(context.Background(), resource.Env{}); err != nil {
		t.Fatal(err)
	}
	b.expect(nil)
}

func TestKindsDecode(t *testing.T) {
	t.Parallel()
	for kind, blank := range Kinds() {
		if r := blank(); r.Kind() != kind {
			t.Errorf("%s makes a %s", kind, r.Kind())
		}
	}
}
