package ipam

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"pgregory.net/rapid"

	"github.com/fairlead-net/fairlead/attachment"
)

// The model: who holds what, and in which boot that became known to us.
type modelLease struct {
	id   attachment.ID
	boot string // "" while only the other suite knows of it
}

type model struct {
	*bench
	leases map[string]modelLease
	boot   string
	boots  int
}

func TestStoreAgainstModel(t *testing.T) {
	t.Parallel()
	root := memory(t)
	n := 0
	rapid.Check(t, func(rt *rapid.T) {
		n++
		dir := filepath.Join(root, strconv.Itoa(n))
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		m := &model{bench: benchIn(t, dir), leases: map[string]modelLease{}, boot: "boot-one"}
		rt.Repeat(map[string]func(*rapid.T){
			"allocate":        m.allocate,
			"release":         m.releaseOne,
			"foreign reserve": m.foreignReserve,
			"foreign release": m.foreignRelease,
			"reboot":          m.nextBoot,
			"sweep":           m.sweep,
			"die":             m.die,
			"":                m.check,
		})
	})
}

func drawOwner(t *rapid.T) attachment.ID { return owner(rapid.IntRange(1, 4).Draw(t, "owner")) }

// turn is what every change of ours does first.
func (m *model) turn() {
	for name, l := range m.leases {
		switch l.boot {
		case "":
			m.leases[name] = modelLease{l.id, m.boot}
		case m.boot:
		default:
			delete(m.leases, name)
		}
	}
}

func (m *model) holds(id attachment.ID) bool {
	for _, l := range m.leases {
		if l.id == id {
			return true
		}
	}
	return false
}

// free is the next free address of a set.
func (m *model) free(n int, set RangeSet) string {
	text, _ := os.ReadFile(filepath.Join(m.Dir(), fmt.Sprint(lastPrefix, n)))
	last, _ := netip.ParseAddr(string(text))
	for _, a := range set.after(last) {
		if _, taken := m.leases[a.String()]; !taken {
			return a.String()
		}
	}
	return ""
}

func (m *model) allocate(t *rapid.T) {
	id := drawOwner(t)
	m.turn()
	want4, want6 := m.free(0, dual(m)[0]), m.free(1, dual(m)[1])
	got, err := m.Allocate(context.Background(), id, dual(m), nil)
	switch {
	case m.holds(id):
		if !errors.Is(err, ErrHeld) {
			t.Fatalf("held already, got %v, %v", got, err)
		}
	case want4 == "" || want6 == "":
		if !errors.Is(err, ErrExhausted) {
			t.Fatalf("used up, got %v, %v", got, err)
		}
	case err != nil:
		t.Fatal(err)
	default:
		if s := fmt.Sprint(texts(got)); s != fmt.Sprint([]string{want4, want6}) {
			t.Fatalf("got %s, want %s and %s", s, want4, want6)
		}
		m.leases[want4] = modelLease{id, m.boot}
		m.leases[want6] = modelLease{id, m.boot}
	}
}

func (m *model) releaseOne(t *rapid.T) {
	id := drawOwner(t)
	m.turn()
	if err := m.Release(context.Background(), id, nil); err != nil {
		t.Fatal(err)
	}
	m.drop(id)
}

func (m *model) drop(id attachment.ID) {
	for name, l := range m.leases {
		if l.id == id {
			delete(m.leases, name)
		}
	}
}

func (m *model) foreignReserve(t *rapid.T) {
	id := drawOwner(t)
	set := dual(m)[rapid.IntRange(0, 1).Draw(t, "set")]
	for _, a := range set.after(netip.Addr{}) {
		if _, err := os.Stat(filepath.Join(m.Dir(), a.String())); err == nil {
			continue
		}
		m.foreign(a.String(), id)
		m.leases[a.String()] = modelLease{id: id}
		return
	}
}

func (m *model) foreignRelease(t *rapid.T) {
	id := drawOwner(t)
	for name, text := range m.files() {
		if text != string(leaseText(id)) {
			continue
		}
		if err := os.Remove(filepath.Join(m.Dir(), name)); err != nil {
			t.Fatal(err)
		}
	}
	m.drop(id)
}

func (m *model) nextBoot(*rapid.T) {
	m.boots++
	m.boot = fmt.Sprintf("boot-%d", m.boots)
	m.reboot(m.boot)
}

func (m *model) sweep(t *rapid.T) {
	valid, gone := drawOwner(t), drawOwner(t)
	m.turn()
	swept, err := m.Sweep(context.Background(), func(id attachment.ID) Verdict {
		switch id {
		case valid:
			return Keep
		case gone:
			return Take
		}
		return Report
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range swept.Kept {
		if h.ID == valid || h.ID == gone || !m.holds(h.ID) {
			t.Fatalf("kept %v with %v valid and %v gone", h, valid, gone)
		}
	}
	if gone != valid {
		m.drop(gone)
	}
}

// die is killed in the midst of a call; the DEL that follows makes it good.
func (m *model) die(t *rapid.T) {
	id := drawOwner(t)
	m.tap.total()
	m.tap.before = diesAt(rapid.IntRange(1, 60).Draw(t, "call"))
	if rapid.Bool().Draw(t, "while releasing") {
		_ = m.Release(context.Background(), id, nil)
	} else {
		_, _ = m.Allocate(context.Background(), id, dual(m), nil)
	}
	m.tap.before = nil
	m.checkIndex()
	m.turn()
	if err := m.Release(context.Background(), id, nil); err != nil {
		t.Fatal(err)
	}
	m.drop(id)
}

func (m *model) check(t *rapid.T) {
	got := m.files()
	for name, l := range m.leases {
		if got[name] != string(leaseText(l.id)) {
			// An earlier boot's may be gone before the model knows.
			t.Fatalf("%s should be %v's, is %q", name, l, got[name])
		}
	}
	for name, text := range got {
		if _, ok := m.leases[name]; !ok {
			t.Fatalf("%s is left: %q", name, text)
		}
	}
	m.checkIndex()
	if m.Failed() {
		t.FailNow()
	}
}
