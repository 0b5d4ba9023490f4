package resource

import (
	"context"

	"github.com/fairlead-net/fairlead/attachment"
	"github.com/fairlead-net/fairlead/engine"
	"github.com/fairlead-net/fairlead/kernel"
)

func (v *Veth) Observe(_ context.Context, env Env) (engine.State, error) {
	pair, err := v.find(env)
	if err != nil {
		return engine.State{}, err
	}
	if pair.host == nil && pair.guest == nil {
		return engine.Absent(), nil
	}
	var d drift
	if pair.host == nil {
		d.add("the host's end of %s is not on the host", v.Name)
	} else if err := v.compareHost(env, pair, &d); err != nil {
		return engine.State{}, err
	}
	if env.Container != nil {
		v.compareGuest(pair, &d)
	}
	return d.state(), nil
}

func (v *Veth) compareHost(env Env, pair ends, d *drift) error {
	host := pair.host
	if host.Name != v.Host && !pair.adopted {
		d.add("%s is called %s", v.Host, host.Name)
	}
	if !host.Up && !v.HostDown {
		d.add("%s is down", host.Name)
	}
	d.mtu(*host, first(v.expect.hostMTU, first(v.MTU, v.FoundMTU)))
	// Another suite chose the address of its end itself.
	if mac := first(v.expect.hostMAC, v.HostMAC); !pair.adopted {
		d.mac(*host, mac)
	}
	return d.member(env.Host, *host, v.Master, v.VRF)
}

func (v *Veth) compareGuest(pair ends, d *drift) {
	if pair.guest == nil {
		d.add("%s is not in the container", v.Name)
		return
	}
	d.mtu(*pair.guest, first(v.expect.mtu, first(v.MTU, v.FoundMTU)))
	if mac := first(v.expect.mac, v.MAC); !pair.adopted || v.expect.mac != "" {
		d.mac(*pair.guest, mac)
	}
}

func (v *Veth) Remove(_ context.Context, env Env) error {
	host, err := v.findHost(env)
	if err != nil {
		return err
	}
	if host != nil {
		// The kernel answers when both ends are gone.
		_, err = env.Host.DelLink(host.Index)
		return err
	}
	if env.Recorded || v.Passing != "" {
		return v.removeGuest(env) // no other suite makes such a pair
	}
	if env.Container == nil {
		if v.HostIndex == 0 {
			// Another suite's pair is found by the container's end only.
			return env.Unknown
		}
		return nil
	}
	pair, err := v.findGuest(env, nil)
	switch {
	case err != nil:
		return err
	case pair.host != nil:
		_, err = env.Host.DelLink(pair.host.Index)
	case pair.guest != nil:
		_, err = env.Container.DelLink(pair.guest.Index)
	}
	return err
}

// removeGuest removes the pair by the guest's end that is on record, where the
// host's is not on the host any more: someone may have moved that away.
func (v *Veth) removeGuest(env Env) error {
	ns := env.Container
	if v.Passing != "" {
		ns = env.Host
	}
	if v.PeerIndex == 0 || ns == nil {
		return nil
	}
	guest, ok, err := ns.LinkByIndex(v.PeerIndex)
	if err != nil || !ok || guest.Kind != "veth" {
		return err
	}
	if v.Passing != "" && guest.Name != v.Passing && guest.Parent != v.HostIndex {
		return nil // it left the host, and this one has its index
	}
	host, ok, err := env.Host.LinkByIndex(guest.Parent)
	if err != nil || ok && peers(host, guest) && v.another(host.Alias) {
		return err
	}
	_, err = ns.DelLink(guest.Index)
	return err
}

// ends is what there is of a pair.
type ends struct {
	host, guest *kernel.Link
	adopted     bool // made by another suite: under another name on the host
}

// find looks for the pair: by the host's end, then by the container's (rule 13).
func (v *Veth) find(env Env) (ends, error) {
	host, err := v.findHost(env)
	if err != nil || env.Container == nil {
		return ends{host: host}, err
	}
	return v.findGuest(env, host)
}

// findGuest completes the pair of which the host's end is known, or absent.
func (v *Veth) findGuest(env Env, host *kernel.Link) (ends, error) {
	guest, ok, err := env.Container.Link(v.Name)
	if err != nil {
		return ends{}, err
	}
	// By an alternative name it is some other link.
	if !ok || guest.Name != v.Name || guest.Kind != "veth" {
		return ends{host: host}, nil
	}
	if host != nil {
		if !peers(*host, guest) {
			return ends{host: host}, nil
		}
		return ends{host: host, guest: &guest}, nil
	}
	if v.Passing != "" {
		return ends{}, nil
	}
	return v.adopt(env, guest)
}

// findHost gives the host's end that is ours, or nil: what is on record first,
// whatever it is called by now, then the derived name. A link of that name that
// is not the one on record is ours by its mark or its address only.
func (v *Veth) findHost(env Env) (*kernel.Link, error) {
	if v.HostIndex != 0 {
		host, ok, err := env.Host.LinkByIndex(v.HostIndex)
		if err != nil {
			return nil, err
		}
		if ok && host.Kind == "veth" && !v.another(host.Alias) {
			if !v.proven(host) {
				return nil, unproven(host, v.Host)
			}
			return &host, nil
		}
	}
	host, ok, err := env.Host.Link(v.Host)
	if err != nil || !ok || host.Kind != "veth" || v.another(host.Alias) {
		return nil, err
	}
	if v.HostIndex != 0 && !v.proven(host) {
		return nil, nil
	}
	return &host, nil
}

// proven tells whether a veth of the host has more of ours than a name or an
// index: the mark, the derived address, or the peer that Create saw.
func (v *Veth) proven(host kernel.Link) bool {
	if owner, marked := attachment.OwnerOfAlias(host.Alias); marked && owner == v.Owner {
		return true
	}
	if v.HostMAC != "" && host.MAC.String() == v.HostMAC {
		return true
	}
	return v.PeerIndex != 0 && host.Parent == v.PeerIndex &&
		(v.Passing != "" || sameNetnsID(host.ParentNetnsID, v.PeerNetnsID))
}

// adopt decides whether a pair that is not under our name is this attachment's:
// another suite made it, unless the mark of either end names another owner.
func (v *Veth) adopt(env Env, guest kernel.Link) (ends, error) {
	if v.another(guest.Alias) {
		return ends{}, nil
	}
	alone := ends{guest: &guest, adopted: true}
	if guest.ParentNetnsID == nil { // the other end is in the container too
		return alone, nil
	}
	host, ok, err := env.Host.LinkByIndex(guest.Parent)
	if err != nil {
		return ends{}, err
	}
	if !ok || host.Kind != "veth" || !peers(host, guest) {
		return alone, nil
	}
	if v.another(host.Alias) {
		return ends{}, nil
	}
	return ends{host: &host, guest: &guest, adopted: true}, nil
}

// another tells whether the mark names another owner. No mark is no other.
func (v *Veth) another(alias string) bool {
	owner, marked := attachment.OwnerOfAlias(alias)
	return marked && owner != v.Owner
}

// peers tells whether the two may be ends of one pair, by their indices, each
// in the other's namespace.
func peers(a, b kernel.Link) bool { return a.Parent == b.Index && b.Parent == a.Index }

// GuestHome tells whether the guest's end is on the host, where it was made.
func (v *Veth) GuestHome(env Env) (bool, error) {
	host, err := v.findHost(env)
	return err == nil && host != nil && host.ParentNetnsID == nil, err
}

// GuestGone tells whether the guest's end, which another was to move, is proven
// gone: with the pair, or with the container's namespace.
func (v *Veth) GuestGone(env Env) (bool, error) {
	host, err := v.findHost(env)
	if err != nil || host == nil {
		return err == nil, err
	}
	if host.ParentNetnsID == nil {
		return false, nil // it is on the host
	}
	return env.Container == nil && env.Unknown == nil, env.Unknown
}
