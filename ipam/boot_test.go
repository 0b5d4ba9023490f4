package ipam

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

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
