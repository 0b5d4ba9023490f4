package resource

import (
	"context"
	"errors"
	"net/netip"

	"github.com/fairlead-net/fairlead/engine"
	"github.com/fairlead-net/fairlead/kernel"
)

// Address is an address of a link. It is identified by its place among the
// link's addresses, since at DEL it may be unknown: then the plan states one
// with Address not set, for the sake of what it Needs.
type Address struct {
	On
	N       int          `json:"n"`                // place among the link's addresses, from 0
	Address netip.Prefix `json:"address,omitzero"` // the address itself, with its network's length
	// NoDAD: IPv6, to be used at once, without asking the network whether
	// another has it.
	NoDAD bool `json:"noDAD,omitempty"`
	// NoPrefixRoute: no route to the address's network comes with it.
	NoPrefixRoute bool `json:"noPrefixRoute,omitempty"`
	// Leases are kept until the address is proven gone (rule 4).
	Leases []engine.Ref `json:"leases,omitempty"`
}

func (a *Address) Kind() string        { return "address.1" }
func (a *Address) Key() string         { return a.key(ordinal(a.N)) }
func (a *Address) Needs() []engine.Ref { return a.Leases }

var errUnknownAddress = errors.New("the address is unknown")

func (a *Address) Create(_ context.Context, env Env) error {
	if !a.Address.IsValid() {
		return errUnknownAddress
	}
	ns, link, err := a.need(env)
	if err != nil {
		return err
	}
	err = ns.AddAddress(kernel.Address{
		Link: link.Index, Prefix: a.Address, Broadcast: broadcast(a.Address),
		NoDAD: a.NoDAD && a.Address.Addr().Is6(), NoPrefixRoute: a.NoPrefixRoute,
	})
	if kernel.Exists(err) && a.Side == Host && a.In != "" {
		return nil // on a link of ours, which we took as it was
	}
	if kernel.Exists(err) {
		return engine.Conflict(err)
	}
	return unsure(err)
}

func (a *Address) Observe(_ context.Context, env Env) (engine.State, error) {
	if !a.Address.IsValid() {
		return engine.State{}, errUnknownAddress
	}
	ns, link, ok, err := a.find(env)
	if err != nil || !ok {
		return missing(err, a.Address)
	}
	all, err := ns.Addresses(link.Index)
	if err != nil {
		return engine.State{}, err
	}
	for _, found := range all {
		if found.Prefix != a.Address {
			continue
		}
		var d drift
		if found.DADFailed {
			d.add("another machine on the link has %s too", a.Address.Addr())
		}
		return d.state(), nil
	}
	return missing(nil, a.Address)
}

func (a *Address) Remove(_ context.Context, env Env) error {
	ns, link, ok, err := a.find(env)
	if err != nil || !ok {
		return err
	}
	if !a.Address.IsValid() {
		return errUnknownAddress
	}
	_, err = ns.DelAddress(kernel.Address{Link: link.Index, Prefix: a.Address})
	if kernel.Unsupported(err) {
		return nil // rule 8: this kernel has no such family
	}
	return err
}
