package resource

import (
	"context"
	"encoding/hex"
	"fmt"
	"net"
	"strconv"

	"github.com/fairlead-net/fairlead/attachment"
	"github.com/fairlead-net/fairlead/engine"
	"github.com/fairlead-net/fairlead/kernel"
)

// VLANGateway is the host's own interface in a VLAN of a bridge: a veth pair,
// one end of which is a port of the bridge in that VLAN, the other, BRIDGE.VLAN,
// has the gateway addresses. It is ensured and stays as the bridge does. One
// that is there already is taken as it is.
type VLANGateway struct {
	Bridge              string `json:"bridge"`
	VLAN                uint16 `json:"vlan"`
	PreserveDefaultVLAN bool   `json:"preserveDefaultVLAN,omitempty"`
	MAC                 string `json:"mac"` // of one that we make

	// FoundMAC is the address that it had after Create, for the result.
	FoundMAC string `json:"foundMAC,omitempty"`

	expectMAC string // what prevResult says (rule 14)
}

// NewVLANGateway derives the address, as NewBridge does.
func NewVLANGateway(bridge string, vlan uint16, machineID string) *VLANGateway {
	g := &VLANGateway{Bridge: bridge, VLAN: vlan}
	g.MAC = attachment.DeriveMAC("gateway/" + g.Name() + "/" + machineID).String()
	return g
}

const vlanGatewayKind = "vlan-gateway.1"

// Name is the interface that has the addresses. The kernel takes 15 bytes.
func (g *VLANGateway) Name() string { return g.Bridge + "." + strconv.Itoa(int(g.VLAN)) }

// port is the end that is in the bridge: its name and its address, which is
// high, as that of a Veth's host's end is.
func (g *VLANGateway) port() (string, net.HardwareAddr) {
	mac := attachment.DeriveMAC("gateway port/" + g.Name())
	mac[0] = 0xfe
	return "veth" + hex.EncodeToString(mac[1:]), mac
}

func (g *VLANGateway) Kind() string       { return vlanGatewayKind }
func (g *VLANGateway) Key() string        { return g.Name() }
func (g *VLANGateway) Within() engine.Ref { return "" }
func (g *VLANGateway) Ensured()           {}

// On is where things on the gateway are.
func (g *VLANGateway) On() On {
	return On{Side: Host, Link: g.Name(), In: engine.MakeRef(vlanGatewayKind, g.Key())}
}

// ExpectLink has Observe compare with what prevResult states of it.
func (g *VLANGateway) ExpectLink(name, mac string, _ int) {
	if name == g.Name() {
		g.expectMAC = mac
	}
}

func (g *VLANGateway) Create(_ context.Context, env Env) error {
	link, ok, err := env.Host.Link(g.Name())
	if err == nil && !ok {
		link, err = g.make(env)
	}
	if err != nil {
		return err
	}
	if err := g.finish(env, link); err != nil {
		return err
	}
	g.FoundMAC = link.MAC.String()
	return nil
}

func (g *VLANGateway) make(env Env) (kernel.Link, error) {
	_, bridge, err := On{Side: Host, Link: g.Bridge}.need(env)
	if err != nil {
		return kernel.Link{}, err
	}
	mac, err := parseMAC(g.MAC)
	if err != nil {
		return kernel.Link{}, err
	}
	name, portMAC := g.port()
	err = env.Host.AddLink(kernel.LinkSpec{
		Name: name, MAC: portMAC, MTU: bridge.MTU, Master: bridge.Index,
		Kind: kernel.VethKind{Peer: kernel.LinkSpec{Name: g.Name(), MTU: bridge.MTU, MAC: mac}},
	})
	// Another call may have been quicker.
	if err != nil && !kernel.Exists(err) {
		return kernel.Link{}, err
	}
	_, link, needErr := On{Side: Host, Link: g.Name()}.need(env)
	if needErr != nil && err != nil {
		needErr = fmt.Errorf("%w: %w", needErr, err)
	}
	return link, needErr
}

// finish does what is not done yet; also after a crash, and beside another call
// that is doing the same. The mark comes last.
func (g *VLANGateway) finish(env Env, link kernel.Link) error {
	up := true
	change := kernel.LinkChange{Up: &up}
	port, ours, err := g.look(env, link)
	if err != nil {
		return err
	}
	if ours && !madeFor(g.Bridge, link) {
		policy := BridgePort{VLAN: g.VLAN, PreserveDefaultVLAN: g.PreserveDefaultVLAN}
		if err := policy.set(env.Host, port.Index); err != nil {
			return err
		}
		alias := bridgeMark{Bridge: g.Bridge}.String()
		change.Alias = &alias
		if err := env.Host.SetLink(port.Index, change); err != nil {
			return err
		}
	}
	if link.Up && change.Alias == nil {
		return nil
	}
	return env.Host.SetLink(link.Index, change)
}

// look finds the other end, and tells whether we made the pair.
func (g *VLANGateway) look(env Env, link kernel.Link) (port kernel.Link, ours bool, err error) {
	if link.Kind != "veth" || link.ParentNetnsID != nil {
		return port, false, nil
	}
	name, _ := g.port()
	port, ok, err := env.Host.LinkByIndex(link.Parent)
	return port, ok && port.Name == name && port.Kind == "veth", err
}

func (g *VLANGateway) Observe(_ context.Context, env Env) (engine.State, error) {
	link, ok, err := env.Host.Link(g.Name())
	if err != nil || !ok {
		return absentUnless(err)
	}
	var d drift
	if !link.Up {
		d.add("%s is down", g.Name())
	}
	d.mac(link, first(g.expectMAC, g.FoundMAC))
	port, ours, err := g.look(env, link)
	if err != nil {
		return engine.State{}, err
	}
	if ours && !port.Up {
		d.add("%s is down", port.Name)
	}
	return d.state(), nil
}

// Remove is never DEL's (Ensured): the bridge's takes it away too.
func (g *VLANGateway) Remove(_ context.Context, env Env) error {
	link, ok, err := env.Host.Link(g.Name())
	if err != nil || !ok || link.Kind != "veth" {
		return err
	}
	_, ours, err := g.look(env, link)
	if err != nil || !ours && !madeFor(g.Bridge, link) {
		return err
	}
	_, err = env.Host.DelLink(link.Index)
	return err
}
