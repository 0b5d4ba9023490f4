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

func (t *Tap) Kind() string       { return tapKind }
func (t *Tap) Key() string        { return t.Name }
func (t *Tap) Within() engine.Ref { return Sandbox }

// On is where things on the device are.
func (t *Tap) On() On {
	return On{Side: Container, Link: t.Name, In: engine.MakeRef(tapKind, t.Name)}
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
func (t *Tap) Create(_ context.Context, env Env) error {
	change := kernel.LinkChange{Alias: &t.Alias}
	var err error
	if change.MAC, err = parseMAC(t.MAC); err != nil {
		return err
	}
	if t.MTU != 0 {
		change.MTU = &t.MTU
	}
	ns, err := env.At(Container)
	if err != nil {
		return err
	}
	if t.Bridge != "" {
		_, bridge, err := On{Side: Container, Link: t.Bridge}.need(env)
		if err != nil {
			return err
		}
		change.Master = &bridge.Index
	}
	err = ns.AddTap(kernel.TapSpec{
		Name: t.Name, Owner: t.User, Group: t.Group, MultiQueue: t.MultiQueue, SELinux: t.SELinux,
	})
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
	return engine.Partial(ns.SetLink(link.Index, change))
}

func (t *Tap) Observe(_ context.Context, env Env) (engine.State, error) {
	ns, err := env.At(Container)
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
	if t.Bridge != "" {
		bridge, ok, err := ns.Link(t.Bridge)
		if err != nil {
			return engine.State{}, err
		}
		if !ok || link.Master != bridge.Index {
			d.add("%s is no port of %s", t.Name, t.Bridge)
		}
	}
	return d.state(), nil
}

func (t *Tap) Remove(_ context.Context, env Env) error {
	ns, err := env.At(Container)
	if err != nil {
		return err
	}
	link, err := t.find(ns)
	if err != nil || link == nil {
		return err
	}
	_, err = ns.DelLink(link.Index)
	return err
}

// find gives the device that is ours, or nil.
func (t *Tap) find(ns *kernel.Namespace) (*kernel.Link, error) {
	if t.Index != 0 {
		link, ok, err := ns.LinkByIndex(t.Index)
		if err != nil {
			return nil, err
		}
		if ok && link.Kind == typeTun {
			return &link, nil
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
	return &link, nil
}
