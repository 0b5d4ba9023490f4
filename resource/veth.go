package resource

import (
	"context"
	"fmt"
	"net"

	"github.com/fairlead-net/fairlead/attachment"
	"github.com/fairlead-net/fairlead/engine"
	"github.com/fairlead-net/fairlead/kernel"
)

// Veth is a pair of virtual Ethernet interfaces: one end on the host, named
// after its owner, the other in the container. It goes by its host's end
// (rule 6), which alone carries the owner's mark: marks in a container can be
// written by whoever is in there.
//
// The guest's end is made down; a LinkUp raises it once it has its addresses.
type Veth struct {
	Owner attachment.Owner `json:"owner"`
	Alias string           `json:"alias"` // the mark of the host's end
	Host  string           `json:"host"`  // name of the host's end
	Name  string           `json:"name"`  // name of the guest's end: CNI_IFNAME
	// HostMAC and MAC are of the host's and the guest's end; "" leaves the
	// choice to the kernel.
	HostMAC string `json:"hostMAC,omitempty"`
	MAC     string `json:"mac,omitempty"`
	MTU     int    `json:"mtu,omitempty"` // of both ends, in bytes; 0: the kernel's default
	// Master is the bridge that the host's end is a port of, or "".
	Master string `json:"master,omitempty"`
	// VRF is the VRF that the host's end is in, or "".
	VRF string `json:"vrf,omitempty"`
	// Passing is the name under which the guest's end is made on the host, for
	// another to move it into the container; "": it is made there.
	Passing string `json:"passing,omitempty"`
	// HostDown leaves the host's end down, for a LinkUp that comes after the
	// port's policy (rule 10).
	HostDown bool `json:"hostDown,omitempty"`

	// What Create saw of the host's end: hints, for CHECK and for DEL. Both ends
	// are made with one MTU.
	HostIndex int `json:"hostIndex,omitempty"`
	FoundMTU  int `json:"foundMTU,omitempty"`
	// The guest's end, as the host's named it: its index, and the number of the
	// namespace that it was in; nil: the host's own.
	PeerIndex   int  `json:"peerIndex,omitempty"`
	PeerNetnsID *int `json:"peerNetnsID,omitempty"`

	expect struct { // what prevResult says (rule 14)
		hostMAC, mac string
		hostMTU, mtu int
	}
}

// NewVeth is the pair of an attachment, with addresses derived from its owner.
// That of the host's end is high, since a bridge without an address of its own
// takes the lowest of its ports'.
func NewVeth(id attachment.ID) *Veth {
	owner := id.Owner()
	hostMAC := owner.MAC("host")
	hostMAC[0] = 0xfe
	return &Veth{
		Owner: owner, Alias: id.Alias(), Host: owner.HostVeth(), Name: id.IfName,
		HostMAC: hostMAC.String(), MAC: owner.MAC(id.IfName).String(),
	}
}

const vethKind = "veth.1"

func (v *Veth) Kind() string       { return vethKind }
func (v *Veth) Key() string        { return v.Host }
func (v *Veth) Within() engine.Ref { return "" }

// Ref names the pair: what is on either end lives in it.
func (v *Veth) Ref() engine.Ref { return engine.MakeRef(vethKind, v.Host) }

// Guest is where things on the guest's end are, HostEnd where those on the
// host's are.
func (v *Veth) Guest() On { return On{Side: Container, Link: v.Name, In: v.Ref()} }

// HostEnd is Guest for the host's end.
func (v *Veth) HostEnd() On { return On{Side: Host, Link: v.Host, In: v.Ref()} }

// ExpectLink has Observe compare with what another says of the interface of
// that name, if it is one of the pair: a later plugin may have changed it. What
// mac "" or mtu 0 leave unsaid stays as it was.
func (v *Veth) ExpectLink(name, mac string, mtu int) {
	switch name {
	case v.Name:
		v.expect.mac, v.expect.mtu = first(mac, v.expect.mac), first(mtu, v.expect.mtu)
	case v.Host:
		v.expect.hostMAC, v.expect.hostMTU = first(mac, v.expect.hostMAC), first(mtu, v.expect.hostMTU)
	}
}

func (v *Veth) Create(_ context.Context, env Env) error {
	spec, err := v.spec(env)
	if err != nil {
		return err
	}
	if err := env.Host.AddLink(spec); err != nil {
		if kernel.Exists(err) {
			return engine.Conflict(v.occupied(env, err))
		}
		return unsure(err)
	}
	host, ok, err := env.Host.Link(v.Host)
	if err == nil && !ok {
		err = fmt.Errorf("%s is gone already: %w", v.Host, errNoLink)
	}
	if err != nil {
		return engine.Partial(err)
	}
	v.HostIndex, v.FoundMTU = host.Index, host.MTU
	v.PeerIndex, v.PeerNetnsID = host.Parent, host.ParentNetnsID
	if err := env.Host.SetLink(host.Index, kernel.LinkChange{Alias: &v.Alias}); err != nil {
		return engine.Partial(err)
	}
	if v.Master != "" {
		return nil // what comes in by a port is the bridge's
	}
	// Else whoever is in the container could give the host a default route. Its
	// end is down as yet.
	return engine.Partial(acceptNoRA(env, env.Host, v.Host))
}

// spec puts all that the kernel takes in one message into it.
func (v *Veth) spec(env Env) (kernel.LinkSpec, error) {
	container, err := env.At(Container)
	if err != nil {
		return kernel.LinkSpec{}, err
	}
	peer := kernel.LinkSpec{Name: v.Name, MTU: v.MTU, Netns: container}
	if v.Passing != "" {
		peer.Name, peer.Netns = v.Passing, nil
	}
	spec := kernel.LinkSpec{Name: v.Host, MTU: v.MTU, Up: !v.HostDown}
	if peer.MAC, err = parseMAC(v.MAC); err != nil {
		return spec, err
	}
	if spec.MAC, err = parseMAC(v.HostMAC); err != nil {
		return spec, err
	}
	if above := first(v.Master, v.VRF); above != "" {
		_, master, err := On{Side: Host, Link: above}.need(env)
		if err != nil {
			return spec, err
		}
		spec.Master = master.Index
		if v.VRF != "" && zoneOf(master.Group) != 0 {
			spec.Group = master.Group
		}
	}
	spec.Kind = kernel.VethKind{Peer: peer}
	return spec, nil
}

// occupied says which of the two names is taken, and by whom if that is known.
func (v *Veth) occupied(env Env, cause error) error {
	host, ok, err := env.Host.Link(v.Host)
	switch {
	case err != nil:
		return cause
	case !ok && v.Passing != "":
		return fmt.Errorf("interface %s exists on the host already: %w", v.Passing, cause)
	case !ok:
		return fmt.Errorf("interface %s exists in the container already: %w", v.Name, cause)
	case host.Alias != "":
		return fmt.Errorf("interface %s exists on the host already (%s): %w", v.Host, host.Alias, cause)
	}
	return fmt.Errorf("interface %s exists on the host already: %w", v.Host, cause)
}

// parseMAC takes "" for none.
func parseMAC(mac string) (net.HardwareAddr, error) {
	if mac == "" {
		return nil, nil
	}
	return net.ParseMAC(mac)
}
