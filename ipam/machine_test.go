package ipam

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/fairlead-net/fairlead/attachment"
)

const (
	machineA = "aaaabbbbccccddddeeeeffff00001111"
	machineB = "0123456789abcdef0123456789abcdef"
)

// one is a range of one address.
func one(t *testing.T) RangeSet {
	t.Helper()
	return mustSet(t, WireRange{Subnet: "10.0.0.0/30"})
}

func (b *bench) mustBeUsedUp(t *testing.T, set RangeSet) {
	t.Helper()
	ctx := context.Background()
	if err := b.Ready(ctx, []RangeSet{set}); !errors.Is(err, ErrExhausted) {
		t.Errorf("ready: %v", err)
	}
	if got, err := b.Preview(ctx, owner(2), []RangeSet{set}, nil); !errors.Is(err, ErrExhausted) {
		t.Errorf("preview: %v, %v", got, err)
	}
	if got, err := b.Allocate(ctx, owner(2), []RangeSet{set}, nil); !errors.Is(err, ErrExhausted) {
		t.Errorf("given out again: %v, %v", got, err)
	}
}

// Another boot's ID proves nothing unless it is the same machine that was
// started again.
func TestCase28AnotherMachinesLease(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ here, hereUUID, there, thereUUID string }{
		"machine IDs differ":            {machineA, "", machineB, ""},
		"the same image, two firmwares": {machineA, "11111111-2222", machineA, "33333333-4444"},
		"firmware of one can't be read": {machineA, "11111111-2222", machineA, ""},
		"no machine ID here":            {"", "", machineB, ""},
		"no machine ID there":           {machineA, "", "", ""},
		"none at all":                   {"", "", "", ""},
		"none, but one firmware":        {"", "11111111-2222", "", "11111111-2222"},
		"images never started":          {"uninitialized", "", "uninitialized", ""},
		"zeros":                         {strings.Repeat("0", 32), "", strings.Repeat("0", 32), ""},
		"not an ID":                     {"localhost", "", "localhost", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.identify(c.here, c.hereUUID)
			b.add(owner(1), one(t))
			o := b.elsewhere("boot-elsewhere", c.there, c.thereUUID)
			o.mustBeUsedUp(t, one(t))
			if swept, err := o.Sweep(context.Background(), func(attachment.ID) Verdict { return Report }); err != nil || len(swept.Removed) > 0 {
				t.Errorf("swept: %+v, %v", swept, err)
			}
			b.expect(map[string]string{"10.0.0.2": "container-1\r\neth0"})
			b.checkIndex()
			b.del(owner(1))
			o.add(owner(2), one(t))
		})
	}
}

// Each of two machines forgets its own earlier boots, and nothing of the other's.
func TestCase20OneOfTwoMachinesIsStartedAgain(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	o := b.elsewhere("boot-elsewhere", machineB, "")
	b.add(owner(1), small(t))
	o.add(owner(2), small(t))
	b.reboot("boot-two")
	b.del(owner(99))
	b.expect(map[string]string{"10.0.0.3": "container-2\r\neth0"})
	b.add(owner(3), small(t))
	o.reboot("boot-elsewhere-two")
	o.del(owner(99))
	b.expect(map[string]string{"10.0.0.4": "container-3\r\neth0"})
}

// What nobody recorded is not adopted where it may be another machine's.
func TestCase28UnrecordedLeaseInASharedDirectory(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	o := b.elsewhere("boot-elsewhere", machineB, "")
	o.add(owner(2), small(t))
	b.foreign("10.0.0.4", owner(1))
	b.del(owner(99))
	o.del(owner(2)) // the last trace of the other machine's leases
	b.foreign("10.0.0.5", owner(4))
	b.del(owner(99))
	b.reboot("boot-two")
	b.del(owner(99))
	b.expect(map[string]string{"10.0.0.4": "container-1\r\neth0", "10.0.0.5": "container-4\r\neth0"})
}

// The version before recorded no machine. What it recorded in the running boot
// is of this machine; of another boot, nobody can tell.
func TestRule16RecordsOfTheVersionBefore(t *testing.T) {
	t.Parallel()
	before := func(b *bench) {
		t.Helper()
		files, err := filepath.Glob(filepath.Join(b.indexDir(), "*"))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			data, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			var m map[string]any
			if err := json.Unmarshal(data, &m); err != nil {
				t.Fatal(err)
			}
			delete(m, "machine")
			if leases, ok := m["leases"].([]any); ok {
				for _, l := range leases {
					delete(l.(map[string]any), "machine")
				}
			}
			if data, err = json.Marshal(m); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(f, data, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	t.Run("upgraded while running", func(t *testing.T) {
		t.Parallel()
		b := newBench(t)
		b.add(owner(1), one(t))
		before(b)
		b.del(owner(99))
		b.reboot("boot-two")
		b.add(owner(2), one(t))
	})
	t.Run("another boot's", func(t *testing.T) {
		t.Parallel()
		b := newBench(t)
		b.add(owner(1), one(t))
		before(b)
		b.reboot("boot-two")
		b.mustBeUsedUp(t, one(t))
		b.reboot("boot-three")
		b.mustBeUsedUp(t, one(t))
	})
}

// An index that could not be read may say that a lease is another machine's.
func TestCase28UnreadIndexIsNotAdopted(t *testing.T) {
	t.Parallel()
	for _, op := range []string{"names", "read"} {
		t.Run(op, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			o := b.elsewhere("boot-elsewhere", machineB, "")
			o.add(owner(1), one(t))
			index := 0
			b.tap.before = func(_ int, did, name string) error {
				if did == "open" && name == string(owner(1).Owner()) && op == "read" {
					return unix.EIO
				}
				if did == "names" && op == "names" {
					if index++; index%2 == 0 {
						return unix.EIO // the folder of the leases comes first
					}
				}
				return nil
			}
			b.del(owner(99))
			b.tap.before = nil
			b.reboot("boot-two")
			b.mustBeUsedUp(t, one(t))
		})
	}
}
