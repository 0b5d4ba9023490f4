package ipam

import (
	"context"
	"fmt"
	"net/netip"
	"testing"
)

// filled is a store with n leases, known to the index.
func filled(tb testing.TB, n int) (*bench, RangeSet) {
	tb.Helper()
	dir := memory(tb)
	if _, ok := tb.(*testing.B); ok {
		dir = tb.TempDir() // what is measured is a real disk's file system
	}
	b := benchIn(tb, dir)
	set := mustSet(tb, WireRange{Subnet: "10.0.0.0/16"})
	addr := set[0].Start.Next()
	for i := range n {
		b.foreign(addr.String(), owner(1_000_000+i))
		addr = addr.Next()
	}
	b.put(lastPrefix+"0", addr.Prev().String())
	b.del(owner(0)) // adopts them
	b.add(owner(0), set)
	b.del(owner(0))
	return b, set
}

// What a call costs is counted in system calls; none may read a directory.
func TestCase25FlatCost(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	type costs map[string]int
	measure := func(b *bench, set RangeSet) costs {
		got := costs{}
		count := func(what string, call func() error) {
			b.tap.total()
			if err := call(); err != nil {
				t.Errorf("%s: %v", what, err)
			}
			all, ops := b.tap.total()
			got[what] = all
			if ops["names"] > 0 {
				t.Errorf("%s lists a directory", what)
			}
		}
		sets := []RangeSet{set}
		count("ready", func() error { return b.Ready(ctx, sets) })
		count("preview", func() error { _, err := b.Preview(ctx, owner(1), sets, nil); return err })
		count("allocate", func() error { _, err := b.Allocate(ctx, owner(1), sets, nil); return err })
		count("find", func() error { _, err := b.Find(ctx, owner(1)); return err })
		count("missing", func() error { _, err := b.Missing(ctx, owner(1), []netip.Addr{set[0].Start.Next()}); return err })
		count("release", func() error { return b.Release(ctx, owner(1), nil) })
		count("release again", func() error { return b.Release(ctx, owner(1), nil) })
		return got
	}
	var want costs
	for _, n := range []int{1, 1000, 10000} {
		b, set := filled(t, n)
		got := measure(b, set)
		t.Logf("%d leases: %v", n, got)
		if want == nil {
			want = got
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%d leases: %v system calls, want %v", n, got, want)
		}
		if !b.checkIndex() {
			t.Errorf("%d leases: the index is not marked", n)
		}
	}
}

func BenchmarkAllocateRelease(b *testing.B) {
	for _, n := range []int{0, 1000, 10000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			store, set := filled(b, n)
			ctx, sets := context.Background(), []RangeSet{set}
			b.ResetTimer()
			for b.Loop() {
				if _, err := store.Allocate(ctx, owner(1), sets, nil); err != nil {
					b.Fatal(err)
				}
				if err := store.Release(ctx, owner(1), nil); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// A used-up /16: the answer is one failed link an address.
func BenchmarkExhausted(b *testing.B) {
	store, set := filled(b, 65532)
	store.add(owner(2), set) // the last one
	ctx, sets := context.Background(), []RangeSet{set}
	b.ResetTimer()
	for b.Loop() {
		if _, err := store.Allocate(ctx, owner(1), sets, nil); err == nil {
			b.Fatal("allocated")
		}
	}
}

// The walk, for comparison: what an adoption costs.
func BenchmarkWalk(b *testing.B) {
	store, _ := filled(b, 10000)
	b.ResetTimer()
	for b.Loop() {
		if _, err := store.Leases(context.Background()); err != nil {
			b.Fatal(err)
		}
	}
}
