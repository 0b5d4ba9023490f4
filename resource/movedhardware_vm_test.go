//go:build vmtest

package resource

import (
	"context"
	"errors"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/fairlead-net/fairlead/engine"
	"github.com/fairlead-net/fairlead/kernel"
)

// reset is what the journal has of a card whose driver gave it another burnt-in
// address since.
func reset(t *testing.T, m *MovedDevice) *MovedDevice {
	t.Helper()
	again := journaled(t, m).(*MovedDevice)
	again.Was.PermMAC = "02:00:00:00:00:77"
	return again
}

// TestCase29HardwareWithAnotherAddress: its index and its place say that it is
// the card.
func TestCase29HardwareWithAnotherAddress(t *testing.T) {
	for _, container := range []string{"alive", "renamed in it", "dead"} {
		t.Run(container, func(t *testing.T) {
			w := newWorld(t)
			m := w.move(t, DeviceSelector{Name: card}, "net1")
			switch container {
			case "renamed in it":
				set(t, w.Container, "net1", kernel.LinkChange{Name: ptr("mine0"), Alias: ptr("mine")})
			case "dead":
				w.die(t)
			}
			for range 2 {
				noError(t, reset(t, m).Remove(context.Background(), w.Env))
				w.atHome(t)
			}
		})
	}
}

// TestCase29HardwareInDoubt: neither its index nor its burnt-in address is the
// one on record.
func TestCase29HardwareInDoubt(t *testing.T) {
	w := newWorld(t)
	m := w.move(t, DeviceSelector{Name: card}, "net1")
	doubted := reset(t, m)
	doubted.Index, doubted.Was.Index = 4711, 4711
	if err := doubted.Remove(context.Background(), w.Env); !errors.Is(err, errUnproven) {
		t.Errorf("Remove: %v", err)
	}
	if _, err := doubted.Observe(context.Background(), w.Env); !errors.Is(err, errUnproven) {
		t.Errorf("Observe: %v", err)
	}
	wantState(t, w.Env, m, engine.IsPresent)
	noError(t, m.Remove(context.Background(), w.Env))
}

// TestCase29HardwareElsewhere: someone moved it on, into a third namespace.
func TestCase29HardwareElsewhere(t *testing.T) {
	w := newWorld(t)
	third, err := kernel.Create("")
	noError(t, err)
	t.Cleanup(func() { _ = third.Close() })
	m := w.move(t, DeviceSelector{Name: card}, "net1")
	set(t, w.Container, "net1", kernel.LinkChange{Netns: third})
	if err := journaled(t, m).Remove(context.Background(), w.Env); !errors.Is(err, unix.EBUSY) {
		t.Errorf("Remove: %v", err)
	}
	set(t, third, "net1", kernel.LinkChange{Netns: w.Container})
	noError(t, journaled(t, m).Remove(context.Background(), w.Env))
	w.atHome(t)
}
