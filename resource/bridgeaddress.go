package resource

import (
	"context"
	"fmt"
	"net/netip"
	"slices"

	"github.com/fairlead-net/fairlead/engine"
	"github.com/fairlead-net/fairlead/kernel"
)

// BridgeAddress is the gateway address on a bridge, or on a VLAN gateway of
// it. It is ensured, and stays as the bridge does. It is in no plan as long as
// the addresses are unknown, so that its key may have it.
type BridgeAddress struct {
	Link    string       `json:"link"`
	In      engine.Ref   `json:"in"`      // of the bridge, or the gateway
	Address netip.Prefix `json:"address"` // the address itself, with its network's length
	// Force takes away other addresses that are in the way: any of IPv4, and
	// those of IPv6 whose networks overlap with this one. Without it they are
	// an error.
	Force bool `json:"force,omitempty"`
}

func (a *BridgeAddress) Kind() string       { return "bridge-address.1" }
func (a *BridgeAddress) Key() string        { return a.Link + " " + a.Address.String() }
func (a *BridgeAddress) Within() engine.Ref { return a.In }
func (a *BridgeAddress) Ensured()           {}

func (a *BridgeAddress) on() On { return On{Side: Host, Link: a.Link} }

// Create looks first: the address is there almost always, and one that is in
// the way must be found before ours is there beside it.
func (a *BridgeAddress) Create(_ context.Context, env Env) error {
	ns, link, err := a.on().need(env)
	if err != nil {
		return err
	}
	found, others, err := a.look(ns, link)
	if err != nil || found {
		return err
	}
	if len(others) > 0 && !a.Force {
		return engine.Conflict(fmt.Errorf("%s has the address %s already, which is in the way of %s",
			a.Link, others[0].Prefix, a.Address))
	}
	for _, other := range others {
		if _, err := ns.DelAddress(other); err != nil {
			return err
		}
	}
	if err := record(ns, link, a.Address); err != nil {
		return err
	}
	err = ns.AddAddress(kernel.Address{
		Link: link.Index, Prefix: a.Address, Broadcast: broadcast(a.Address), NoDAD: a.Address.Addr().Is6(),
	})
	if kernel.Exists(err) {
		return nil // another call was quicker
	}
	return err
}

// look tells whether the link has the address, and which are in its way.
func (a *BridgeAddress) look(ns *kernel.Namespace, link kernel.Link) (found bool, others []kernel.Address, err error) {
	all, err := ns.Addresses(link.Index)
	if err != nil {
		return false, nil, err
	}
	for _, other := range all {
		switch p := other.Prefix; {
		case p == a.Address:
			return true, nil, nil
		case p.Addr().Is4() != a.Address.Addr().Is4():
		case p.Addr().Is4() || p.Overlaps(a.Address):
			others = append(others, other)
		}
	}
	return false, others, nil
}

func (a *BridgeAddress) Observe(_ context.Context, env Env) (engine.State, error) {
	ns, link, ok, err := a.on().find(env)
	if err != nil || !ok {
		return absentUnless(err)
	}
	found, _, err := a.look(ns, link)
	if err != nil || !found {
		return absentUnless(err)
	}
	return engine.Present(), nil
}

// Remove is never DEL's (Ensured). It takes away what we gave only.
func (a *BridgeAddress) Remove(_ context.Context, env Env) error {
	ns, link, ok, err := a.on().find(env)
	if err != nil || !ok {
		return err
	}
	mark, ok := parseBridgeMark(link.Alias)
	if !ok || !slices.Contains(mark.Addresses, a.Address) {
		return nil
	}
	_, err = ns.DelAddress(kernel.Address{Link: link.Index, Prefix: a.Address})
	return err
}

// absentUnless is Absent, unless that could not be found out.
func absentUnless(err error) (engine.State, error) {
	if err != nil {
		return engine.State{}, err
	}
	return engine.Absent(), nil
}

// missing is absentUnless, with words for what has no name of its own.
func missing(err error, what fmt.Stringer) (engine.State, error) {
	state, err := absentUnless(err)
	if err == nil {
		state.Detail = what.String()
	}
	return state, err
}

// broadcast is the last address of an IPv4 network that has room for one.
func broadcast(p netip.Prefix) netip.Addr {
	if !p.Addr().Is4() || p.Bits() > 30 {
		return netip.Addr{}
	}
	b := p.Addr().As4()
	for i := range b {
		b[i] |= byte(uint32(0xffffffff) >> p.Bits() >> (24 - 8*i))
	}
	return netip.AddrFrom4(b)
}
