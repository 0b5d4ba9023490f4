package resource

import (
	"bytes"
	"context"
	"fmt"
	"net"

	"github.com/fairlead-net/fairlead/attachment"
	"github.com/fairlead-net/fairlead/engine"
	"github.com/fairlead-net/fairlead/kernel"
)

// Bridge is a bridge on the host. It is ensured: DEL leaves it (rule 9). One
// that is there already is taken as it is, whoever made it: it is raised, and
// gets what was asked for (promiscuous mode, a pinned address), no more. VLAN
// filtering is switched on where we made the bridge: another's ports may rest on
// that it is off.
type Bridge struct {
	Name string `json:"name"`
	// MAC is the address of a bridge that we make. Without one of its own a
	// bridge has that of some port, and changes it as ports come and go.
	MAC           string `json:"mac,omitempty"`
	MTU           int    `json:"mtu,omitempty"` // of one that we make, in bytes; 0: the kernel's default
	VLANFiltering bool   `json:"vlanFiltering,omitempty"`
	Promisc       bool   `json:"promisc,omitempty"`
	// Pin keeps a bridge that we did not make at the address that it has:
	// asked for where it has the containers' gateway address.
	Pin bool `json:"pin,omitempty"`

	// FoundMAC is the address that it had after Create, for the result.
	FoundMAC string `json:"foundMAC,omitempty"`

	expectMAC string // what prevResult says (rule 14)
}

// NewBridge is a bridge whose address is derived from its name and the
// machine, so that it is the same each time that it is made.
func NewBridge(name, machineID string) *Bridge {
	return &Bridge{Name: name, MAC: attachment.DeriveMAC("bridge/" + name + "/" + machineID).String()}
}

const bridgeKind = "bridge.1"

func (b *Bridge) Kind() string       { return bridgeKind }
func (b *Bridge) Key() string        { return b.Name }
func (b *Bridge) Within() engine.Ref { return "" }
func (b *Bridge) Ensured()           {}

// Ref names the bridge: its addresses live in it.
func (b *Bridge) Ref() engine.Ref { return engine.MakeRef(bridgeKind, b.Name) }

// On is where things on the bridge itself are.
func (b *Bridge) On() On { return On{Side: Host, Link: b.Name, In: b.Ref()} }

// ExpectLink has Observe compare with what prevResult states of the bridge.
func (b *Bridge) ExpectLink(name, mac string, _ int) {
	if name == b.Name {
		b.expectMAC = mac
	}
}

// Ready tells whether the name is free, or that of a bridge that can do the work.
func (b *Bridge) Ready(_ context.Context, env Env) error {
	link, ok, err := b.look(env)
	if err == nil && !ok {
		err = kindReady(env, "bridge")
	}
	if err != nil || !ok {
		return err
	}
	return b.usable(link)
}

// usable refuses a bridge of another maker that would not keep VLANs apart.
func (b *Bridge) usable(link kernel.Link) error {
	if !b.VLANFiltering || filtersVLANs(link) || b.ours(link) {
		return nil
	}
	return engine.Conflict(fmt.Errorf(
		"bridge %s does not filter VLANs, so that its ports reach each other whatever their VLAN; "+
			"fairlead did not make it and leaves it as it is: ip link set %s type bridge vlan_filtering 1", b.Name, b.Name))
}

func filtersVLANs(link kernel.Link) bool {
	kind, ok := link.Info.(kernel.BridgeKind)
	return ok && kind.VLANFiltering
}

// Create looks first, other than most kinds: the bridge is there almost
// always.
func (b *Bridge) Create(_ context.Context, env Env) error {
	link, ok, err := b.look(env)
	if err == nil && !ok {
		link, err = b.make(env)
	}
	if err == nil {
		err = b.usable(link)
	}
	if err != nil {
		return err
	}
	if b.ours(link) && link.Alias == "" {
		// We, or another call, or a crashed one, have just made it.
		if err := acceptNoRA(env, env.Host, b.Name); err != nil {
			return err
		}
	}
	if change, needed := b.change(link); needed {
		if err := env.Host.SetLink(link.Index, change); err != nil {
			return err
		}
		if change.MAC != nil {
			link.MAC = change.MAC
		}
	}
	b.FoundMAC = link.MAC.String()
	return nil
}

// look finds the bridge. A link of another kind under its name is an error.
func (b *Bridge) look(env Env) (kernel.Link, bool, error) {
	link, ok, err := env.Host.Link(b.Name)
	if err == nil && ok && link.Kind != "bridge" {
		return link, ok, engine.Conflict(fmt.Errorf("%s exists and is no bridge%s", b.Name, ofKind(link)))
	}
	return link, ok, err
}

func ofKind(link kernel.Link) string {
	if link.Kind == "" {
		return ""
	}
	return " (" + link.Kind + ")"
}

func (b *Bridge) make(env Env) (kernel.Link, error) {
	mac, err := parseMAC(b.MAC)
	if err != nil {
		return kernel.Link{}, err
	}
	err = env.Host.AddLink(kernel.LinkSpec{
		Name: b.Name, MTU: b.MTU, MAC: mac, Kind: kernel.BridgeKind{VLANFiltering: b.VLANFiltering},
	})
	// Another call may have been quicker.
	if err != nil && !kernel.Exists(err) {
		return kernel.Link{}, err
	}
	link, ok, err := b.look(env)
	if err == nil && !ok {
		err = fmt.Errorf("%s: %w", b.Name, errNoLink)
	}
	return link, err
}

// ours tells whether we made the bridge: by its mark, or, where a crash came
// before that, by its derived address.
func (b *Bridge) ours(link kernel.Link) bool {
	if link.Alias != "" {
		return madeFor(b.Name, link)
	}
	mac, err := net.ParseMAC(b.MAC)
	return err == nil && bytes.Equal(mac, link.MAC)
}

// change is what is yet to be done to the bridge.
func (b *Bridge) change(link kernel.Link) (c kernel.LinkChange, needed bool) {
	yes := true
	if !link.Up {
		c.Up, needed = &yes, true
	}
	if b.Promisc && !link.Promisc {
		c.Promisc, needed = &yes, true
	}
	if b.VLANFiltering && !filtersVLANs(link) {
		c.Info, needed = kernel.BridgeKind{VLANFiltering: true}, true
	}
	switch ours := b.ours(link); {
	case ours && link.Alias == "":
		alias := bridgeMark{Bridge: b.Name}.String()
		c.Alias, needed = &alias, true
	case !ours && b.Pin:
		c.MAC, needed = link.MAC, true
		if bytes.Equal(link.MAC, make([]byte, len(link.MAC))) {
			// The last port has left, and took the address with it.
			c.MAC, _ = net.ParseMAC(b.MAC)
		}
	}
	return c, needed
}

func (b *Bridge) Observe(_ context.Context, env Env) (engine.State, error) {
	link, ok, err := env.Host.Link(b.Name)
	if err != nil {
		return engine.State{}, err
	}
	if !ok {
		return engine.Absent(), nil
	}
	var d drift
	if link.Kind != "bridge" {
		d.add("%s is no bridge%s", b.Name, ofKind(link))
	}
	if !link.Up {
		d.add("%s is down", b.Name)
	}
	if b.Promisc && !link.Promisc {
		d.add("%s is not promiscuous", b.Name)
	}
	if b.VLANFiltering && !filtersVLANs(link) {
		d.add("%s does not filter VLANs", b.Name)
	}
	if b.Pin && !b.VLANFiltering { // the gateway is on the bridge itself
		if err := d.noVLAN(env.Host, link, link); err != nil {
			return engine.State{}, err
		}
	}
	// One that has its address from its ports may have changed it since.
	if b.Pin || b.ours(link) {
		d.mac(link, first(b.expectMAC, b.FoundMAC))
	}
	return d.state(), nil
}
