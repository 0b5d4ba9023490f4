package ipam

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fairlead-net/fairlead/attachment"
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
	return benchIn(tb, memory(tb))
}

// memory is a directory in memory, where there is one: some tests make very many
// files. Those with processes use the file system that TMPDIR is on.
func memory(tb testing.TB) string {
	tb.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "ipam-")
	if err != nil {
		return tb.TempDir()
	}
	tb.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			tb.Error(err)
		}
	})
	return dir
}

func benchIn(tb testing.TB, dir string) *bench {
	tb.Helper()
	s, err := Open(filepath.Join(dir, "leases"), testNet)
	if err != nil {
		tb.Fatal(err)
	}
	b := &bench{TB: tb, tap: &tap{}, boot: filepath.Join(dir, "boot_id")}
	s.bootFile = b.boot
	s.machineFile, s.productFile = filepath.Join(dir, "machine-id"), filepath.Join(dir, "product_uuid")
	b.Store = s
	b.sys = b.tap
	b.reboot("boot-one")
	b.identify(machineA, "")
	return b
}

func (b *bench) reboot(id string) {
	b.Helper()
	if err := os.WriteFile(b.boot, []byte(id+"\n"), 0o600); err != nil {
		b.Fatal(err)
	}
}

// identify says which machine this is: an empty text is no file.
func (b *bench) identify(machine, product string) {
	b.Helper()
	for path, text := range map[string]string{b.machineFile: machine, b.productFile: product} {
		err := os.WriteFile(path, []byte(text+"\n"), 0o600)
		if text == "" {
			err = os.RemoveAll(path)
		}
		if err != nil {
			b.Fatal(err)
		}
	}
}

// elsewhere is the same data directory as another machine sees it.
func (b *bench) elsewhere(boot, machine, product string) *bench {
	b.Helper()
	dir := b.TempDir()
	s := *b.Store
	s.bootFile = filepath.Join(dir, "boot_id")
	s.machineFile, s.productFile = filepath.Join(dir, "machine-id"), filepath.Join(dir, "product_uuid")
	o := &bench{TB: b.TB, tap: &tap{}, boot: s.bootFile, Store: &s}
	o.sys = o.tap
	o.reboot(boot)
	o.identify(machine, product)
	return o
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
