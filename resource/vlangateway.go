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
// that is there already is taken as it is if it leads into the VLAN. If not, and
// we made it, it is put right; another's is refused.
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

// Ready tells whether the name is free, or that of a gateway that could be used.
func (g *VLANGateway) Ready(_ context.Context, env Env) error {
	link, ok, err := env.Host.Link(g.Name())
	if err != nil || !ok {
		return err
	}
	way, err := g.look(env, link)
	if err != nil || way.fault == "" || way.ours {
		return err
	}
	return g.refuse(way)
}

// refuse is for a link of another maker under the gateway's name.
func (g *VLANGateway) refuse(way gatewayWay) error {
	return engine.Conflict(fmt.Errorf("%s is there, and is no gateway of VLAN %d of %s: %s", g.Name(), g.VLAN, g.Bridge, way.fault))
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

// finish does what is not done yet, or not any more: the bridge may have been
// deleted and made anew. Also after a crash, and beside another call that is
// doing the same. The mark comes last.
func (g *VLANGateway) finish(env Env, link kernel.Link) error {
	way, err := g.look(env, link)
	if err != nil {
		return err
	}
	if way.fault != "" && (!way.ours || way.bridge.Index == 0) {
		return g.refuse(way)
	}
	up := true
	change := kernel.LinkChange{Up: &up}
	if way.ours && (way.fault != "" || !madeFor(g.Bridge, link)) {
		alias := bridgeMark{Bridge: g.Bridge}.String()
		if err := g.plug(env, way, alias); err != nil {
			return err
		}
		if !madeFor(g.Bridge, link) {
			change.Alias = &alias
		}
	}
	if link.Up && change.Alias == nil {
		return nil
	}
	return env.Host.SetLink(link.Index, change)
}

// plug makes the other end a port of the bridge, and raises it once it is in the
// VLAN (rule 10).
func (g *VLANGateway) plug(env Env, way gatewayWay, alias string) error {
	up, down := true, false
	if way.port.Master != way.bridge.Index {
		if err := env.Host.SetLink(way.port.Index, kernel.LinkChange{Up: &down}); err != nil {
			return err
		}
		if err := env.Host.SetLink(way.port.Index, kernel.LinkChange{Master: &way.bridge.Index}); err != nil {
			return err
		}
	}
	policy := BridgePort{VLAN: g.VLAN, PreserveDefaultVLAN: g.PreserveDefaultVLAN}
	if err := policy.set(env.Host, way.port.Index); err != nil {
		return err
	}
	return env.Host.SetLink(way.port.Index, kernel.LinkChange{Up: &up, Alias: &alias})
}

// gatewayWay is how the gateway's interface leads into its VLAN.
type gatewayWay struct {
	bridge, port kernel.Link // the other end, of a pair in this namespace
	ours         bool        // we made the pair
	fault        string      // why it does not lead there; "": it does, or it can't be seen
}

// look follows the way. What leads out of this namespace can't be followed.
func (g *VLANGateway) look(env Env, link kernel.Link) (way gatewayWay, err error) {
	bridge, ok, err := env.Host.Link(g.Bridge)
	if err != nil {
		return way, err
	}
	if ok && bridge.Kind == "bridge" {
		way.bridge = bridge
	} else {
		way.fault = "there is no bridge " + g.Bridge
	}
	if link.Kind != "veth" || link.ParentNetnsID != nil {
		if way.fault == "" {
			way.fault, err = g.astray(env, way, link)
		}
		return way, err
	}
	port, ok, err := env.Host.LinkByIndex(link.Parent)
	if err != nil {
		return way, err
	}
	name, _ := g.port()
	way.port, way.ours = port, ok && port.Name == name && port.Kind == "veth"
	if way.fault == "" {
		way.fault, err = g.unplugged(env, way)
	}
	return way, err
}

// astray says why a link that is no pair of this namespace does not lead into the
// VLAN, or is "" also where that can't be seen: an operator's pair to another
// namespace may lead back, but ours began as a port.
func (g *VLANGateway) astray(env Env, way gatewayWay, link kernel.Link) (string, error) {
	if link.Kind == "veth" && madeFor(g.Bridge, link) {
		return "its other end is in another namespace", nil
	}
	switch kind := link.Info.(type) {
	case kernel.DummyKind, kernel.IFBKind:
		return "a link of kind " + link.Kind + " leads nowhere", nil
	case kernel.VLANKind:
		if link.ParentNetnsID != nil {
			return "", nil
		}
		if link.Parent != way.bridge.Index || kind.ID != g.VLAN {
			return fmt.Sprintf("it is VLAN %d of another link", kind.ID), nil
		}
		vlans, err := env.Host.BridgeVLANs(way.bridge.Index)
		if v, in := flatten(vlans)[g.VLAN]; err == nil && (!in || v.Untagged) {
			return fmt.Sprintf("the bridge gives it no frames of VLAN %d with a tag", g.VLAN), nil
		}
		return "", err
	}
	return "", nil
}

// unplugged says why the other end of a pair is not in the VLAN, or is "".
func (g *VLANGateway) unplugged(env Env, way gatewayWay) (string, error) {
	if way.port.Master != way.bridge.Index {
		return fmt.Sprintf("its other end %s is no port of %s", way.port.Name, g.Bridge), nil
	}
	vlans, err := env.Host.BridgeVLANs(way.port.Index)
	if err != nil {
		return "", err
	}
	if v := flatten(vlans)[g.VLAN]; !v.PVID || !v.Untagged {
		return fmt.Sprintf("its other end %s is not in VLAN %d", way.port.Name, g.VLAN), nil
	}
	if !way.port.Up {
		return fmt.Sprintf("its other end %s is down", way.port.Name), nil
	}
	return "", nil
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
	way, err := g.look(env, link)
	if err != nil {
		return engine.State{}, err
	}
	if way.fault != "" {
		d.add("%s leads into no VLAN %d of %s: %s", g.Name(), g.VLAN, g.Bridge, way.fault)
	}
	return d.state(), nil
}

// Remove is never DEL's (Ensured): the bridge's takes it away too.
func (g *VLANGateway) Remove(_ context.Context, env Env) error {
	link, ok, err := env.Host.Link(g.Name())
	if err != nil || !ok || link.Kind != "veth" {
		return err
	}
	way, err := g.look(env, link)
	if err != nil || !way.ours && !madeFor(g.Bridge, link) {
		return err
	}
	_, err = env.Host.DelLink(link.Index)
	return err
}
