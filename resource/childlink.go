package resource

import (
	"context"
	"fmt"

	"github.com/fairlead-net/fairlead/attachment"
	"github.com/fairlead-net/fairlead/engine"
	"github.com/fairlead-net/fairlead/kernel"
)

// ChildLink is a link of the container's alone: a macvlan, ipvlan or vlan on a
// lower link, its master, or a dummy, which has none. It is made in the
// container's namespace by one message (rule 12), down; a LinkUp raises it once
// it has its addresses.
//
// It is found without its master, so that DEL needs none: by the index that
// Create saw, else by its name, which is CNI_IFNAME, where the mark does not
// name another owner (rules 6 and 13).
type ChildLink struct {
	Owner attachment.Owner `json:"owner"`
	Alias string           `json:"alias"` // its mark
	Name  string           `json:"name"`
	Type  string           `json:"type"` // the kernel's name of its kind

	// Master is the lower link, and MasterSide the namespace that it is in.
	Master     string `json:"master,omitempty"`
	MasterSide Side   `json:"masterSide,omitempty"`
	Mode       string `json:"mode,omitempty"`       // of a macvlan or ipvlan
	BCQueueLen uint32 `json:"bcQueueLen,omitempty"` // of a macvlan, in packets; 0: the kernel's default
	VLAN       uint16 `json:"vlan,omitempty"`       // number of a vlan
	MAC        string `json:"mac,omitempty"`        // "": the kernel's choice, or the master's
	MTU        int    `json:"mtu,omitempty"`        // bytes; 0: the kernel's choice, or the master's

	// What Create saw: hints, for the result, for CHECK and for DEL.
	Index         int    `json:"index,omitempty"`
	Parent        int    `json:"parent,omitempty"`        // index of the lowest link, in
	ParentNetnsID *int   `json:"parentNetnsID,omitempty"` // this namespace; nil: the container's
	FoundMAC      string `json:"foundMAC,omitempty"`
	FoundMTU      int    `json:"foundMTU,omitempty"`

	expect struct { // what prevResult, or a later plugin, says (rule 14)
		mac string
		mtu int
	}
}

// The kinds of links that a ChildLink may be.
const (
	typeMacvlan = "macvlan"
	typeIPVlan  = "ipvlan"
	typeVLAN    = "vlan"
	typeDummy   = "dummy"
)

// Passthru is the mode of a macvlan that has its master for itself, and its
// master's MAC address.
const Passthru = "passthru"

// MacvlanModes are the modes of a macvlan.
func MacvlanModes() []string { return []string{"bridge", "private", "vepa", Passthru} }

// IPVlanModes are the modes of an ipvlan.
func IPVlanModes() []string { return []string{"l2", "l3", "l3s"} }

func newChildLink(id attachment.ID, kind string) *ChildLink {
	return &ChildLink{Owner: id.Owner(), Alias: id.Alias(), Name: id.IfName, Type: kind, MasterSide: Host}
}

// NewMacvlan has an address derived from its owner, but in the mode that shares
// the master's.
func NewMacvlan(id attachment.ID, mode string) *ChildLink {
	l := newChildLink(id, typeMacvlan)
	l.Mode = mode
	if mode != Passthru {
		l.MAC = l.Owner.MAC(id.IfName).String()
	}
	return l
}

// NewIPVlan always has its master's address.
func NewIPVlan(id attachment.ID, mode string) *ChildLink {
	l := newChildLink(id, typeIPVlan)
	l.Mode = mode
	return l
}

// NewVLAN has its master's address.
func NewVLAN(id attachment.ID, vlan uint16) *ChildLink {
	l := newChildLink(id, typeVLAN)
	l.VLAN = vlan
	return l
}

// NewDummy has an address derived from its owner.
func NewDummy(id attachment.ID) *ChildLink {
	l := newChildLink(id, typeDummy)
	l.MasterSide = ""
	l.MAC = l.Owner.MAC(id.IfName).String()
	return l
}

const childLinkKind = "child-link.1"

func (l *ChildLink) Kind() string       { return childLinkKind }
func (l *ChildLink) Key() string        { return l.Name }
func (l *ChildLink) Within() engine.Ref { return Sandbox }

// On is where things on the link are.
func (l *ChildLink) On() On {
	return On{Side: Container, Link: l.Name, In: engine.MakeRef(childLinkKind, l.Name)}
}

// ExpectLink has Observe compare with what another says of the link: a later
// plugin may have changed it. What mac "" or mtu 0 leave unsaid stays as it was.
func (l *ChildLink) ExpectLink(name, mac string, mtu int) {
	if name == l.Name {
		l.expect.mac, l.expect.mtu = first(mac, l.expect.mac), first(mtu, l.expect.mtu)
	}
}

func (l *ChildLink) Create(_ context.Context, env Env) error {
	ns, err := env.At(Container)
	if err != nil {
		return err
	}
	spec, err := l.spec(env)
	if err != nil {
		return err
	}
	if err := ns.AddLink(spec); err != nil {
		if kernel.Exists(err) {
			return engine.Conflict(l.occupied(env, spec.Parent, err))
		}
		return discard(ns, spec.Via, err)
	}
	link, ok, err := ns.Link(l.Name)
	if err == nil && !ok {
		err = fmt.Errorf("%s is gone already: %w", l.Name, errNoLink)
	}
	if err != nil {
		return engine.Partial(err)
	}
	l.Index, l.Parent, l.ParentNetnsID = link.Index, link.Parent, link.ParentNetnsID
	l.FoundMAC, l.FoundMTU = link.MAC.String(), link.MTU
	return engine.Partial(ns.SetLink(link.Index, kernel.LinkChange{Alias: &l.Alias}))
}

// spec puts all that the kernel takes in one message into it.
func (l *ChildLink) spec(env Env) (kernel.LinkSpec, error) {
	spec := kernel.LinkSpec{Name: l.Name, MTU: l.MTU}
	var err error
	if spec.Kind, err = l.kernelKind(); err != nil {
		return spec, err
	}
	if spec.MAC, err = parseMAC(l.MAC); err != nil {
		return spec, err
	}
	if l.Type == typeDummy {
		return spec, nil
	}
	ns, master, err := On{Side: l.MasterSide, Link: l.Master}.need(env)
	if err != nil {
		return spec, fmt.Errorf("master of %s: %w", l.Name, err)
	}
	spec.Parent = master.Index
	if l.MasterSide == Host {
		spec.ParentNetns, spec.Via = ns, l.Owner.PassingLink()
	}
	return spec, nil
}

func (l *ChildLink) kernelKind() (kernel.LinkKind, error) {
	switch l.Type {
	case typeMacvlan:
		mode, ok := macvlanModes()[l.Mode]
		if ok {
			return kernel.MacvlanKind{Mode: mode, BCQueueLen: l.BCQueueLen}, nil
		}
	case typeIPVlan:
		mode, ok := ipvlanModes()[l.Mode]
		if ok {
			return kernel.IPVlanKind{Mode: mode}, nil
		}
	case typeVLAN:
		return kernel.VLANKind{ID: l.VLAN}, nil
	case typeDummy:
		return kernel.DummyKind{}, nil
	}
	return nil, fmt.Errorf("%s %s is no kind of link that can be made here", l.Type, l.Mode)
}

func macvlanModes() map[string]kernel.MacvlanMode {
	return map[string]kernel.MacvlanMode{
		"bridge": kernel.MacvlanBridge, "private": kernel.MacvlanPrivate,
		"vepa": kernel.MacvlanVEPA, Passthru: kernel.MacvlanPassthru,
	}
}

func ipvlanModes() map[string]kernel.IPVlanMode {
	return map[string]kernel.IPVlanMode{"l2": kernel.IPVlanL2, "l3": kernel.IPVlanL3, "l3s": kernel.IPVlanL3S}
}

// discard takes away what an AddLink that failed may have left under the
// passing name, and reports the failure.
func discard(ns *kernel.Namespace, via string, cause error) error {
	if kernel.Unanswered(cause) {
		return engine.Partial(cause)
	}
	if via == "" {
		return cause
	}
	link, ok, err := ns.Link(via)
	if err == nil && ok {
		_, err = ns.DelLink(link.Index)
	}
	if err != nil {
		return engine.Partial(fmt.Errorf("%w; then, looking for %s: %w", cause, via, err))
	}
	return cause
}

// occupied says what EEXIST is about: the name, or the VLAN.
func (l *ChildLink) occupied(env Env, parent int, cause error) error {
	there, taken, err := env.Container.Link(l.Name)
	switch {
	case err != nil:
		return cause
	case taken && there.Alias != "":
		return fmt.Errorf("interface %s exists in the container already (%s): %w", l.Name, there.Alias, cause)
	case taken:
		return fmt.Errorf("interface %s exists in the container already: %w", l.Name, cause)
	case l.Type != typeVLAN:
		return cause
	}
	return fmt.Errorf("vlan %d of %s is in use by %s: %w", l.VLAN, l.Master, l.vlanUser(env, parent), cause)
}

// vlanUser names the link that has the VLAN, where it can be seen.
func (l *ChildLink) vlanUser(env Env, parent int) string {
	ns, err := env.At(l.MasterSide)
	if err == nil {
		links, err := ns.LinksOfKind(typeVLAN)
		for _, other := range links {
			vlan, ok := other.Info.(kernel.VLANKind)
			if err == nil && ok && vlan.ID == l.VLAN && other.Parent == parent && other.ParentNetnsID == nil {
				return other.Name
			}
		}
	}
	return "a link of another namespace"
}
