package resource

import (
	"context"
	"errors"
	"net/netip"

	"golang.org/x/sys/unix"

	"github.com/fairlead-net/fairlead/engine"
	"github.com/fairlead-net/fairlead/kernel"
)

// Neighbour tells the kernel which MAC address an address on the link has, so
// that the first packet need not wait for an answer. From then on the entry is
// the kernel's, as if it had been learned: it asks in its own time, and hears of
// it when a later plugin, or whoever is in the container, changes the address.
type Neighbour struct {
	On
	N       int        `json:"n"` // place among the link's, from 0
	Address netip.Addr `json:"address,omitzero"`
	MAC     string     `json:"mac"`
}

func (n *Neighbour) Kind() string { return "neighbour.1" }
func (n *Neighbour) Key() string  { return n.key(ordinal(n.N)) }

var errUnknownNeighbour = errors.New("the neighbour's address is unknown")

func (n *Neighbour) Create(_ context.Context, env Env) error {
	if !n.Address.IsValid() {
		return errUnknownNeighbour
	}
	ns, link, err := n.need(env)
	if err != nil {
		return err
	}
	mac, err := parseMAC(n.MAC)
	if err != nil {
		return err
	}
	return unsure(ns.ReplaceNeighbour(kernel.Neighbour{Link: link.Index, Addr: n.Address, MAC: mac, State: unix.NUD_STALE}))
}

// Observe tells nothing: what the kernel has learned since is right.
func (n *Neighbour) Observe(context.Context, Env) (engine.State, error) { return engine.Present(), nil }

func (n *Neighbour) Remove(_ context.Context, env Env) error {
	ns, link, ok, err := n.find(env)
	if err != nil || !ok {
		return err
	}
	if !n.Address.IsValid() {
		return errUnknownNeighbour
	}
	_, err = ns.DelNeighbour(kernel.Neighbour{Link: link.Index, Addr: n.Address})
	if kernel.Unsupported(err) {
		return nil // rule 8: this kernel has no such family
	}
	return err
}
