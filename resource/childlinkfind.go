package resource

import (
	"bytes"
	"context"
	"strconv"

	"github.com/fairlead-net/fairlead/attachment"
	"github.com/fairlead-net/fairlead/engine"
	"github.com/fairlead-net/fairlead/kernel"
)

func (l *ChildLink) Observe(_ context.Context, env Env) (engine.State, error) {
	ns, err := env.At(Container)
	if err != nil {
		return engine.State{}, err
	}
	link, err := l.find(ns, env.Recorded)
	var d drift
	if err == nil && link == nil {
		link, err = l.replaced(ns, &d)
	}
	if err != nil || link == nil {
		return absentUnless(err)
	}
	if link.Name != l.Name {
		d.add("%s is called %s", l.Name, link.Name)
	}
	l.compareKind(link.Info, &d)
	if err := l.compareMaster(env, *link, &d); err != nil {
		return engine.State{}, err
	}
	err = l.compareValues(env, *link, &d)
	return d.state(), err
}

// replaced gives the link of our kind that has the name of one that is gone, so
// that what differs can be told.
func (l *ChildLink) replaced(ns *kernel.Namespace, d *drift) (*kernel.Link, error) {
	if l.Index == 0 {
		return nil, nil
	}
	link, ok, err := ns.Link(l.Name)
	if err != nil || !ok || link.Name != l.Name || link.Kind != l.Type || l.another(link.Alias) {
		return nil, err
	}
	d.add("%s is another link, of index %d, not %d", l.Name, link.Index, l.Index)
	return &link, nil
}

// compareKind compares what was said at the link's creation.
func (l *ChildLink) compareKind(info kernel.LinkKind, d *drift) {
	switch info := info.(type) {
	case kernel.MacvlanKind:
		if want := macvlanModes()[l.Mode]; info.Mode != want {
			d.add("the mode of %s is %s, want %s", l.Name, nameOf(macvlanModes(), info.Mode), l.Mode)
		}
		if l.BCQueueLen != 0 && info.BCQueueLen != l.BCQueueLen {
			d.add("the bcqueuelen of %s is %d, want %d", l.Name, info.BCQueueLen, l.BCQueueLen)
		}
	case kernel.IPVlanKind:
		if want := ipvlanModes()[l.Mode]; info.Mode != want {
			d.add("the mode of %s is %s, want %s", l.Name, nameOf(ipvlanModes(), info.Mode), l.Mode)
		}
	case kernel.VLANKind:
		if info.ID != l.VLAN {
			d.add("the vlan of %s is %d, want %d", l.Name, info.ID, l.VLAN)
		}
	}
}

// nameOf is the word for a mode.
func nameOf[M ~uint16 | ~uint32](modes map[string]M, mode M) string {
	for name, m := range modes {
		if m == mode {
			return name
		}
	}
	return "number " + strconv.Itoa(int(mode))
}

// compareMaster goes by number: the master's name may be changed while all is
// well.
func (l *ChildLink) compareMaster(env Env, link kernel.Link, d *drift) error {
	if l.Parent == 0 || l.onParent(link) {
		return nil
	}
	name := "link number " + strconv.Itoa(link.Parent)
	parent, ok, err := l.lower(env, link)
	if err != nil {
		return err
	}
	if ok {
		name = parent.Name
	}
	d.add("the master of %s is %s, want %s", l.Name, name, l.Master)
	return nil
}

// onParent tells whether the link is on the lower link that Create saw.
func (l *ChildLink) onParent(link kernel.Link) bool {
	return link.Parent == l.Parent && sameNetnsID(link.ParentNetnsID, l.ParentNetnsID)
}

// compareValues compares the MTU and the MAC address. What was left to the
// master when the link was made may follow it since; an ipvlan's MTU does so in
// any case.
func (l *ChildLink) compareValues(env Env, link kernel.Link, d *drift) error {
	mtu := first(l.expect.mtu, first(l.MTU, l.FoundMTU))
	mac := first(l.expect.mac, first(l.MAC, l.FoundMAC))
	mtuFollows := l.expect.mtu == 0 && (l.MTU == 0 || l.Type == typeIPVlan)
	macFollows := l.expect.mac == "" && l.MAC == ""
	if mtuFollows && link.MTU != mtu || macFollows && link.MAC.String() != mac {
		master, ok, err := l.lower(env, link)
		if err != nil {
			return err
		}
		if ok && mtuFollows && link.MTU == master.MTU {
			mtu = link.MTU
		}
		if ok && macFollows && bytes.Equal(link.MAC, master.MAC) {
			mac = link.MAC.String()
		}
	}
	d.mtu(link, mtu)
	d.mac(link, mac)
	return nil
}

// lower looks up what the link is on: it is in the container or on the host.
func (l *ChildLink) lower(env Env, link kernel.Link) (kernel.Link, bool, error) {
	ns := env.Container
	if link.ParentNetnsID != nil {
		ns = env.Host
	}
	if link.Parent == 0 {
		return kernel.Link{}, false, nil
	}
	return ns.LinkByIndex(link.Parent)
}

func (l *ChildLink) Remove(_ context.Context, env Env) error {
	ns, err := env.At(Container)
	if err != nil {
		return err
	}
	link, err := l.find(ns, env.Recorded)
	switch {
	case err != nil:
		return err
	case link != nil:
		_, err = ns.DelLink(link.Index)
	case l.Index != 0:
		err = removeStray(ns, l.left)
	}
	return err
}

// left tells whether a link of another namespace is ours: by its mark, or by
// the address that was derived for it.
func (l *ChildLink) left(link kernel.Link) bool {
	return link.Kind == l.Type && !l.another(link.Alias) && (l.marked(link.Alias) || l.MAC != "" && link.MAC.String() == l.MAC)
}

// find gives the link that is ours, or nil. The index that Create saw proves it
// together with the kind, since the kernel does not use an index again soon:
// neither a new name nor a forged mark, which whoever is in the container can
// give it, keep it from going, nor that its lower link was moved. Without that
// index it goes by name; one of that name that is not the one on record is ours
// by its mark only, and else another suite's. A call that died before it learned
// the index had the derived address in the message that makes the link: without
// that, the link is another's, which made the call fail.
func (l *ChildLink) find(ns *kernel.Namespace, recorded bool) (*kernel.Link, error) {
	if l.Index != 0 {
		link, ok, err := ns.LinkByIndex(l.Index)
		if err != nil {
			return nil, err
		}
		if ok && link.Kind == l.Type {
			return &link, nil
		}
	}
	for _, name := range l.names() {
		link, ok, err := ns.Link(name)
		if err != nil {
			return nil, err
		}
		// By an alternative name it is some other link.
		if !ok || link.Name != name || link.Kind != l.Type || l.another(link.Alias) {
			continue
		}
		unlike := l.Index != 0 || recorded && l.MAC != "" && link.MAC.String() != l.MAC
		if !unlike || l.marked(link.Alias) {
			return &link, nil
		}
	}
	return nil, nil
}

// names are those that the link may have.
func (l *ChildLink) names() []string {
	if l.MasterSide == Host {
		return []string{l.Name, l.Owner.PassingLink()}
	}
	return []string{l.Name}
}

// marked tells whether the mark names the owner.
func (l *ChildLink) marked(alias string) bool {
	owner, marked := attachment.OwnerOfAlias(alias)
	return marked && owner == l.Owner
}

// another tells whether the mark names another owner. No mark is no other: the
// reference suite sets none.
func (l *ChildLink) another(alias string) bool {
	owner, marked := attachment.OwnerOfAlias(alias)
	return marked && owner != l.Owner
}
