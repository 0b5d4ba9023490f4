//go:build vmtest

package resource

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fairlead-net/fairlead/attachment"
	"github.com/fairlead-net/fairlead/engine"
	"github.com/fairlead-net/fairlead/kernel"
)

// These tests move the virtual machine's network card, which is hardware to
// its kernel. There is one, so they do not run beside each other. It is the
// initial namespace that hardware returns to, so that is the host.

const card = "eth0"

// world is the machine, and a container that can be let die.
type world struct {
	Env
	was  kernel.Link
	path string // of the hardware
	said *[]string
}

func newWorld(t *testing.T) world {
	t.Helper()
	host, err := kernel.Host()
	noError(t, err)
	t.Cleanup(func() { _ = host.Close() })
	container, err := kernel.Create("")
	noError(t, err)
	initial, err := host.IsInitial()
	noError(t, err)
	if !initial {
		t.Fatal("the tests' namespace is not the machine's first")
	}
	said := &[]string{}
	w := world{Env: Env{Host: host, Container: container, Warn: func(text string) { *said = append(*said, text) }}, said: said}
	index := link(t, host, card).Index
	noError(t, host.SetLink(index, kernel.LinkChange{Up: ptr(true), Alias: ptr("the only card")}))
	if err := host.AddAltName(index, "uplink-of-the-machine"); err != nil && !kernel.Exists(err) {
		t.Fatal(err)
	}
	w.was = link(t, host, card)
	w.path = sysfs("").device(w.was)
	if w.was.PermMAC == nil || w.was.ParentDev == "" || w.path == "" {
		t.Fatalf("no hardware: %+v at %q", w.was, w.path)
	}
	t.Cleanup(func() { w.atHome(t) })
	return w
}

// atHome fails the test unless the card is as it was.
func (w world) atHome(t *testing.T) {
	t.Helper()
	l, ok, err := w.Host.Link(card)
	if err != nil || !ok {
		t.Errorf("the card is not back: %v", err)
		return
	}
	if !l.Up || l.Alias != w.was.Alias || len(l.AltNames) != 1 || !bytes.Equal(l.MAC, w.was.MAC) || l.MTU != w.was.MTU {
		t.Errorf("the card came back as %+v, was %+v", l, w.was)
	}
}

// die lets the container's namespace die; the kernel takes it apart meanwhile.
func (w *world) die(t *testing.T) {
	t.Helper()
	noError(t, w.Container.Close())
	w.Container = nil
}

// move finds the card and moves it, as ADD does.
func (w world) move(t *testing.T, wanted DeviceSelector, ifName string) *MovedDevice {
	t.Helper()
	ctx := context.Background()
	found, err := FindDevice{Wanted: wanted}.Find(ctx, w.Env)
	noError(t, err)
	m := NewMovedDevice(idOf(ifName), wanted, found.(HostDevice))
	noError(t, m.Save(ctx, w.Env))
	noError(t, m.Create(ctx, w.Env))
	if _, ok, err := w.Host.Link(card); ok || err != nil {
		t.Fatalf("the card is still on the host: %v", err)
	}
	wantState(t, w.Env, m, engine.IsPresent)
	return m
}

func (w world) selectors() map[string]DeviceSelector {
	pci := filepath.Base(filepath.Dir(w.path))
	return map[string]DeviceSelector{
		"name":             {Name: card},
		"alternative name": {Name: "uplink-of-the-machine"},
		"MAC":              {MAC: w.was.MAC.String()},
		"kernel path":      {KernelPath: w.path},
		"PCI":              {PCI: pci},
		"ID":               {ID: pci, Name: "lo"},
	}
}

// TestHardware moves the card however it is named, and back.
func TestHardware(t *testing.T) {
	for name, wanted := range newWorld(t).selectors() {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			m := w.move(t, wanted, "net1")
			set(t, w.Container, "net1", kernel.LinkChange{Up: ptr(true), Alias: ptr("mine")})
			for range 2 {
				noError(t, journaled(t, m).Remove(context.Background(), w.Env))
				w.atHome(t)
			}
			w.die(t)
		})
	}
}

// TestHardwareRenamed: whoever is in the container renames it and takes its
// mark away; there is no index.
func TestHardwareRenamed(t *testing.T) {
	w := newWorld(t)
	m := w.move(t, DeviceSelector{Name: card}, "net1")
	set(t, w.Container, "net1", kernel.LinkChange{Name: ptr("other0"), Alias: ptr(""), MAC: m.Owner.MAC("x")})
	m.Index = 0
	if state := observe(t, w.Env, m); state.Is != engine.IsDrifted || !strings.Contains(state.Detail, "net1 is called other0") {
		t.Errorf("%+v", state)
	}
	set(t, w.Container, "other0", kernel.LinkChange{MAC: w.was.MAC})
	noError(t, journaled(t, m).Remove(context.Background(), w.Env))
	w.die(t)
}

// TestCase05HardwareReturned: the namespace died, the kernel returns the card
// under the container's name, or, where that is taken, under one of its own;
// DEL comes before that, or after.
func TestCase05HardwareReturned(t *testing.T) {
	for name, tc := range map[string]struct {
		late, taken, unmarked bool
	}{
		"at once": {}, "late": {late: true}, "name taken": {late: true, taken: true},
		"mark gone": {late: true, unmarked: true}, "name taken, mark gone": {late: true, taken: true, unmarked: true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			m := w.move(t, DeviceSelector{Name: card}, "net1")
			if tc.taken {
				occupy(t, w.Host, "net1")
				defer func() {
					if _, err := w.Host.DelLink(link(t, w.Host, "net1").Index); err != nil {
						t.Error(err)
					}
				}()
			}
			if tc.unmarked {
				set(t, w.Container, "net1", kernel.LinkChange{Alias: ptr("")})
			}
			w.die(t)
			if tc.late {
				w.awaitReturn(t)
			}
			for range 2 {
				noError(t, journaled(t, m).Remove(context.Background(), w.Env))
				w.atHome(t)
			}
		})
	}
}

// TestCase05HardwareReturnedAndFaults lets each call to the kernel fail in turn.
func TestCase05HardwareReturnedAndFaults(t *testing.T) {
	for _, mode := range faultModes {
		for n := 1; ; n++ {
			w := newWorld(t)
			m := journaled(t, w.move(t, DeviceSelector{Name: card}, "net1"))
			w.die(t)
			w.awaitReturn(t)
			faulty, fired := mode.failing(Env{Host: w.Host, Container: w.Host}, n)
			faulty.Container = nil
			err := m.Remove(context.Background(), faulty)
			if err == nil {
				w.atHome(t)
			}
			noError(t, m.Remove(context.Background(), w.Env))
			w.atHome(t)
			if !fired() {
				noError(t, err)
				break
			}
		}
	}
}

// awaitReturn waits until the kernel has returned the card.
func (w world) awaitReturn(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), returnTime)
	defer cancel()
	noError(t, w.Host.WatchLinks(ctx, func() (bool, error) {
		all, err := w.Host.Links()
		for _, l := range all {
			if bytes.Equal(l.PermMAC, w.was.PermMAC) {
				return true, err
			}
		}
		return false, err
	}))
}

// TestCase05HardwareReturnedWithoutJournal: what the reference suite moved.
func TestCase05HardwareReturnedWithoutJournal(t *testing.T) {
	for name, wanted := range newWorld(t).selectors() {
		t.Run(name, func(t *testing.T) {
			if name == "alternative name" {
				wanted.Name = card // the mark is the name proper
			}
			w := newWorld(t)
			w.move(t, DeviceSelector{Name: card}, "net1")
			w.die(t)
			w.awaitReturn(t)
			for range 2 {
				noError(t, NewMovedDevice(idOf("net1"), wanted, HostDevice{}).Remove(context.Background(), w.Env))
			}
			l := link(t, w.Host, card)
			if l.Up || l.Alias != "" {
				t.Errorf("%+v", l)
			}
			set(t, w.Host, card, kernel.LinkChange{Up: ptr(true), Alias: &w.was.Alias})
		})
	}
}

// idOf is the tests' attachment with another interface.
func idOf(ifName string) attachment.ID {
	id := testID
	id.IfName = ifName
	return id
}

// TestHardwareOfAnotherHost: our host is not the namespace that hardware
// returns to.
func TestHardwareOfAnotherHost(t *testing.T) {
	w := newWorld(t)
	m := w.move(t, DeviceSelector{Name: card}, "net1")
	w.die(t)
	w.awaitReturn(t)
	nested := newEnv(t)
	nested.Container, nested.Warn = nil, w.Warn
	noError(t, journaled(t, m).Remove(context.Background(), nested))
	if len(*w.said) != 1 {
		t.Errorf("said %q", *w.said)
	}
	noError(t, journaled(t, m).Remove(context.Background(), w.Env))
}

// TestHardwareInALivingNamespace: its path is gone, and it lives on. To say
// success would be to forget the card.
func TestHardwareInALivingNamespace(t *testing.T) {
	w := newWorld(t)
	m := w.move(t, DeviceSelector{Name: card}, "net1")
	blind := w.Env
	blind.Container = nil
	if err := journaled(t, m).Remove(context.Background(), blind); !kernel.Busy(err) {
		t.Errorf("%v", err)
	}
	noError(t, journaled(t, m).Remove(context.Background(), w.Env))
	w.die(t)
}

// TestHardwareOfUserspace: what vfio or uio has is recognised, and there is
// nothing to move.
func TestHardwareOfUserspace(t *testing.T) {
	w := newWorld(t)
	pci := filepath.Base(filepath.Dir(w.path))
	bind := func(driver string) {
		t.Helper()
		device := "/sys/bus/pci/devices/" + pci
		if err := os.WriteFile(device+"/driver_override", []byte(driver+"\n"), 0); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(device+"/driver/unbind", []byte(pci), 0); err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
		if err := os.WriteFile("/sys/bus/pci/drivers/"+driver+"/bind", []byte(pci), 0); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := exec.Command("modprobe", "uio_pci_generic").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	bind("uio_pci_generic")
	for name, wanted := range map[string]DeviceSelector{"PCI": {PCI: pci}, "ID": {ID: pci}} {
		found, err := FindDevice{Wanted: wanted}.Find(context.Background(), w.Env)
		if err != nil || found != (HostDevice{Driver: "uio_pci_generic"}) {
			t.Errorf("%s: %+v, %v", name, found, err)
		}
	}
	bind("virtio-pci")
	set(t, w.Host, card, kernel.LinkChange{Up: ptr(true), Alias: &w.was.Alias})
	noError(t, w.Host.AddAltName(link(t, w.Host, card).Index, "uplink-of-the-machine"))
	w.die(t)
}
