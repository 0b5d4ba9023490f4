package resource

import (
	"context"
	"fmt"

	"github.com/fairlead-net/fairlead/attachment"
	"github.com/fairlead-net/fairlead/engine"
	"github.com/fairlead-net/fairlead/kernel"
)

// Tap is a tap device in the container: a link whose frames a process there
// (a virtual machine's monitor) reads and writes. It is made down; a LinkUp
// raises it once it has its addresses.
//
// It is found as a ChildLink is: by the index that Create saw, else by its
// name, where the mark does not name another owner (rules 6 and 13).
//
// Or it is on the host, in a VRF (see tapvrf.go).
type Tap struct {
	Owner attachment.Owner `json:"owner"`
	Alias string           `json:"alias"` // its mark
	Name  string           `json:"name"`  // CNI_IFNAME

	User       *uint32 `json:"user,omitempty"`  // who may open it; nil: by privilege only
	Group      *uint32 `json:"group,omitempty"` // likewise
	MultiQueue bool    `json:"multiQueue,omitempty"`
	// SELinux is the context that it is labelled with; "": this process's.
	SELinux string `json:"selinux,omitempty"`
	MAC     string `json:"mac,omitempty"`    // "": the kernel's choice
	MTU     int    `json:"mtu,omitempty"`    // bytes; 0: the kernel's default
	Bridge  string `json:"bridge,omitempty"` // of the container, that it is a port of
	// VRF is that of a VPC, which the device is in; "": it is in the container.
	VRF string `json:"vrf,omitempty"`
	// Leases are kept until the device is proven gone (rule 4), where addresses
	// are for the machine behind it to configure.
	Leases []engine.Ref `json:"leases,omitempty"`

	// What Create saw: hints, for CHECK and for DEL.
	Index    int    `json:"index,omitempty"`
	FoundMAC string `json:"foundMAC,omitempty"`
	FoundMTU int    `json:"foundMTU,omitempty"`

	expect struct { // what prevResult, or a later plugin, says (rule 14)
		mac string
		mtu int
	}
}

// NewTap is the tap of an attachment, with an address derived from its owner.
func NewTap(id attachment.ID) *Tap {
	owner := id.Owner()
	return &Tap{Owner: owner, Alias: id.Alias(), Name: id.IfName, MAC: owner.MAC(id.IfName).String()}
}

const (
	tapKind = "tap.1"
	// typeTun is the kernel's name of the kind, of tun and tap devices alike.
	typeTun = "tun"
)

func (t *Tap) Kind() string { return tapKind }

func (t *Tap) Key() string {
	if t.VRF != "" {
		return string(Host) + " " + t.Name
	}
	return t.Name
}

func (t *Tap) Within() engine.Ref {
	if t.VRF != "" {
		return ""
	}
	return Sandbox
}

// Needs is what must outlive the device.
func (t *Tap) Needs() []engine.Ref { return t.Leases }

func (t *Tap) side() Side {
	if t.VRF != "" {
		return Host
	}
	return Container
}

// On is where things on the device are.
func (t *Tap) On() On {
	return On{Side: t.side(), Link: t.Name, In: engine.MakeRef(tapKind, t.Key())}
}

// ExpectLink has Observe compare with what another says of the link: a later
// plugin may have changed it. What mac "" or mtu 0 leave unsaid stays as it was.
func (t *Tap) ExpectLink(name, mac string, mtu int) {
	if name == t.Name {
		t.expect.mac, t.expect.mtu = first(mac, t.expect.mac), first(mtu, t.expect.mtu)
	}
}

// Create makes the device under its own name, in the container's namespace from
// the first, then says in one message all that the first call has no room for.
func (t *Tap) Create(ctx context.Context, env Env) error {
	change := kernel.LinkChange{Alias: &t.Alias}
	var err error
	if change.MAC, err = parseMAC(t.MAC); err != nil {
		return err
	}
	if t.MTU != 0 {
		change.MTU = &t.MTU
	}
	ns, err := env.At(t.side())
	if err != nil {
		return err
	}
	if above := first(t.Bridge, t.VRF); above != "" {
		_, master, err := On{Side: t.side(), Link: above}.need(env)
		if err != nil {
			return err
		}
		change.Master = &master.Index
		if t.VRF != "" && zoneOf(master.Group) != 0 {
			change.Group = &master.Group
		}
	}
	err = ns.AddTap(ctx, kernel.TapSpec{
		Name: t.Name, Owner: t.User, Group: t.Group, MultiQueue: t.MultiQueue, SELinux: t.SELinux,
		VNetHdr: t.VRF != "",
	})
	if kernel.Exists(err) && t.VRF != "" {
		return t.reattach(env, ns, change, err)
	}
	if kernel.Exists(err) {
		return engine.Conflict(fmt.Errorf("interface %s exists in the container already: %w", t.Name, err))
	}
	if err != nil {
		return unsure(err)
	}
	link, ok, err := ns.Link(t.Name)
	if err == nil && !ok {
		err = fmt.Errorf("%s is gone already: %w", t.Name, errNoLink)
	}
	if err != nil {
		return engine.Partial(err)
	}
	t.Index, t.FoundMAC, t.FoundMTU = link.Index, link.MAC.String(), link.MTU
	if err := ns.SetLink(link.Index, change); err != nil {
		return engine.Partial(err)
	}
	if t.VRF == "" {
		return nil
	}
	return engine.Partial(acceptNoRA(env, ns, t.Name))
}

func (t *Tap) Observe(_ context.Context, env Env) (engine.State, error) {
	ns, err := env.At(t.side())
	if err != nil {
		return engine.State{}, err
	}
	link, err := t.find(ns)
	if err != nil || link == nil {
		return absentUnless(err)
	}
	var d drift
	if link.Name != t.Name {
		d.add("%s is called %s", t.Name, link.Name)
	}
	d.mtu(*link, first(t.expect.mtu, first(t.MTU, t.FoundMTU)))
	d.mac(*link, first(t.expect.mac, first(t.MAC, t.FoundMAC)))
	err = d.member(ns, *link, t.Bridge, t.VRF)
	return d.state(), err
}

func (t *Tap) Remove(_ context.Context, env Env) error {
	ns, err := env.At(t.side())
	if err != nil {
		return err
	}
	link, err := t.find(ns)
	switch {
	case err != nil:
		return err
	case link != nil:
		_, err = ns.DelLink(link.Index)
	case t.Index != 0 && t.VRF == "":
		err = removeStray(ns, t.left)
	}
	return err
}

// left tells whether a device of another namespace is ours.
func (t *Tap) left(link kernel.Link) bool {
	if _, marked := attachment.OwnerOfAlias(link.Alias); marked || link.Kind != typeTun {
		return t.marked(link) && link.Kind == typeTun
	}
	return t.MAC != "" && link.MAC.String() == t.MAC
}

// find gives the device that is ours, or nil: the one on record first, whatever
// it is called by now.
func (t *Tap) find(ns *kernel.Namespace) (*kernel.Link, error) {
	if t.Index != 0 {
		link, ok, err := ns.LinkByIndex(t.Index)
		if err != nil {
			return nil, err
		}
		if ok && link.Kind == typeTun {
			return t.recorded(link)
		}
	}
	link, ok, err := ns.Link(t.Name)
	if err != nil {
		return nil, err
	}
	// By an alternative name it is some other link.
	if !ok || link.Name != t.Name || link.Kind != typeTun {
		return nil, nil
	}
	if owner, marked := attachment.OwnerOfAlias(link.Alias); marked && owner != t.Owner {
		return nil, nil
	}
	if t.VRF != "" && link.Alias != "" && !t.marked(link) {
		return nil, nil // a stranger's, on the host
	}
	if t.Index != 0 && !t.marked(link) {
		return nil, nil // not the one on record
	}
	return &link, nil
}

// recorded judges the device that has the index on record. On the host nobody
// but root writes marks, and the device passes on with its mark.
func (t *Tap) recorded(link kernel.Link) (*kernel.Link, error) {
	// With our derived name and no mark it is of a call that failed in between.
	if t.VRF == "" || t.marked(link) || link.Alias == "" && link.Name == t.Name {
		return &link, nil
	}
	if _, marked := attachment.OwnerOfAlias(link.Alias); marked {
		return nil, nil // the next container's
	}
	if link.MAC.String() != first(t.MAC, t.FoundMAC) {
		return nil, unproven(link, t.Name)
	}
	return &link, nil
}

// marked tells whether the mark names the owner.
func (t *Tap) marked(link kernel.Link) bool {
	owner, marked := attachment.OwnerOfAlias(link.Alias)
	return marked && owner == t.Owner
}
