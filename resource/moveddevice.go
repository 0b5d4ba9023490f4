package resource

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/fairlead-net/fairlead/attachment"
	"github.com/fairlead-net/fairlead/engine"
	"github.com/fairlead-net/fairlead/kernel"
)

// MovedDevice is that one of the host's devices is in the container, under the
// name CNI_IFNAME. The device was there before, so it is restored: its name,
// whether it is up, its alias and its alternative names come back with it.
//
// While it is away its alias is the bare name that it had, as the reference
// suite leaves it (rule 13). It is the mark of one whose way back is not
// finished, too: what it was before is put back last.
//
// It does not live within the container's namespace: hardware outlives that,
// and returns by itself, to the machine's initial namespace, under the
// container's name (case 5). What lives on it there is a DeviceNetwork's.
type MovedDevice struct {
	Owner  attachment.Owner `json:"owner"`
	Name   string           `json:"name"` // in the container
	Wanted DeviceSelector   `json:"wanted"`
	// HostDevice is what was found; empty where there is no journal.
	HostDevice HostDevice `json:"hostDevice,omitzero"`
	// Was is how it was on the host.
	Was *Device `json:"was,omitempty"`

	// What Create saw in the container: hints, and for the result and CHECK.
	Index int    `json:"index,omitempty"`
	MAC   string `json:"mac,omitempty"`
	MTU   int    `json:"mtu,omitempty"` // bytes

	expect struct { // what prevResult, or a later plugin, says (rule 14)
		mac string
		mtu int
	}
}

// Device is what is known of a device that will be looked for in other
// namespaces, and what is to come back.
type Device struct {
	Name     string   `json:"name"`
	Index    int      `json:"index,omitempty"`
	Type     string   `json:"type,omitempty"`    // the kernel's name of its kind; "" for hardware
	Path     string   `json:"path,omitempty"`    // of the hardware, below /sys/devices
	PermMAC  string   `json:"permMAC,omitempty"` // burnt in
	MAC      string   `json:"mac,omitempty"`
	Up       bool     `json:"up,omitempty"`
	Alias    string   `json:"alias,omitempty"`
	AltNames []string `json:"altNames,omitempty"`
}

func newDevice(l kernel.Link, f sysfs) *Device {
	return &Device{
		Name: l.Name, Index: l.Index, Type: l.Kind, Path: f.device(l), PermMAC: l.PermMAC.String(), MAC: l.MAC.String(),
		Up: l.Up, Alias: l.Alias, AltNames: l.AltNames,
	}
}

// NewMovedDevice is the attachment's; found is empty where it is unknown.
func NewMovedDevice(id attachment.ID, wanted DeviceSelector, found HostDevice) *MovedDevice {
	return &MovedDevice{Owner: id.Owner(), Name: id.IfName, Wanted: wanted, HostDevice: found}
}

func (m *MovedDevice) Kind() string { return "moved-device.1" }

// Key tells apart what different containers have under one name. It is not the
// device's: that is unknown at a DEL without a journal (rule 3).
func (m *MovedDevice) Key() string { return m.Name + " " + string(m.Owner) }

// Within is nothing: see MovedDevice.
func (m *MovedDevice) Within() engine.Ref { return "" }

// idle tells that there is nothing to move: a userspace driver has the device.
func (m *MovedDevice) idle() bool { return m.HostDevice.Driver != "" }

// Save reads how the device is.
func (m *MovedDevice) Save(_ context.Context, env Env) error {
	if m.idle() {
		return nil
	}
	if m.HostDevice.Name == "" {
		return fmt.Errorf("%s: not looked for yet", m.Wanted)
	}
	link, ok, err := env.Host.LinkByIndex(m.HostDevice.Index)
	if err != nil {
		return err
	}
	if !ok || link.Name != m.HostDevice.Name {
		return fmt.Errorf("%s was moved or renamed meanwhile: %w", m.HostDevice.Name, errNoLink)
	}
	m.Was = newDevice(link, "")
	return nil
}

// Inherit is never to be: two that move a device to one name of one container
// would be in each other's way before.
func (m *MovedDevice) Inherit(Resource) error {
	return fmt.Errorf("two devices can't both be %s", m.Name)
}

// Create moves the device under its own name, renames it there and marks it, in
// one message: no rename on the host, where udev would see it, and no third
// namespace in which a crash could leave it (rule 11). Where its own name is
// taken in the container the kernel gives it the new one as it moves.
func (m *MovedDevice) Create(_ context.Context, env Env) error {
	if m.idle() {
		return nil
	}
	if m.Was == nil {
		return errors.New("it was not looked at before")
	}
	container, err := env.At(Container)
	if err != nil {
		return err
	}
	if other, taken, err := container.Link(m.Name); err != nil || taken {
		if err == nil {
			err = engine.Conflict(fmt.Errorf("interface %s exists in the container already %s", m.Name, aliasOf(other)))
		}
		return err
	}
	if slices.Contains(m.Was.AltNames, m.Name) {
		if err := m.dropAltName(env.Host, m.Was.Index, m.Name); err != nil {
			return engine.Partial(err)
		}
	}
	err = env.Host.SetLink(m.Was.Index, kernel.LinkChange{Netns: container, Name: &m.Name, Alias: &m.Was.Name})
	if kernel.Absent(kernel.ObjectLink, err) {
		return fmt.Errorf("%s is gone meanwhile: %w", m.Was.Name, err)
	}
	if err != nil {
		// It may be there, and not be called so.
		return engine.Partial(fmt.Errorf("move %s into the container as %s: %w", m.Was.Name, m.Name, err))
	}
	link, ok, err := container.Link(m.Name)
	if err == nil && !ok {
		err = fmt.Errorf("%s is gone from the container already: %w", m.Name, errNoLink)
	}
	if err != nil {
		return engine.Partial(err)
	}
	m.Index, m.MAC, m.MTU = link.Index, link.MAC.String(), link.MTU
	return nil
}

// dropAltName takes an alternative name away that is in the way, after the mark
// was set by which Remove knows that it has to come back.
func (m *MovedDevice) dropAltName(ns *kernel.Namespace, index int, name string) error {
	if err := ns.SetLink(index, kernel.LinkChange{Alias: &m.Was.Name}); err != nil {
		return err
	}
	_, err := ns.DelAltName(index, name)
	return err
}

// aliasOf is for messages about a link that is in the way.
func aliasOf(l kernel.Link) string {
	if l.Alias == "" {
		return "(it has no alias)"
	}
	return "(" + l.Alias + ")"
}

func (m *MovedDevice) Observe(_ context.Context, env Env) (engine.State, error) {
	if m.idle() {
		return engine.Present(), nil
	}
	if _, err := env.At(Container); err != nil {
		return engine.State{}, err
	}
	link, _, err := m.inContainer(env)
	if err != nil || link == nil {
		return absentUnless(err)
	}
	var d drift
	if link.Name != m.Name {
		d.add("%s is called %s", m.Name, link.Name)
	}
	d.mtu(*link, first(m.expect.mtu, m.MTU))
	d.mac(*link, first(m.expect.mac, m.MAC))
	return d.state(), nil
}

// ExpectLink has Observe compare with what another says of the device: a later
// plugin may have changed it. What mac "" or mtu 0 leave unsaid stays as it was.
func (m *MovedDevice) ExpectLink(name, mac string, mtu int) {
	if name == m.Name {
		m.expect.mac, m.expect.mtu = first(mac, m.expect.mac), first(mtu, m.expect.mtu)
	}
}

// Ready tells whether the device is there to be moved. Which one a runtime will
// give is not known before.
func (m *MovedDevice) Ready(ctx context.Context, env Env) error {
	if m.Wanted == (DeviceSelector{}) {
		return nil
	}
	_, err := FindDevice{Wanted: m.Wanted}.Find(ctx, env)
	return err
}

var _ engine.Restored[Env] = (*MovedDevice)(nil)
