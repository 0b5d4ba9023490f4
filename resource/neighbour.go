package resource

import (
	"bytes"
	"context"
	"errors"
	"net/netip"

	"github.com/fairlead-net/fairlead/engine"
	"github.com/fairlead-net/fairlead/kernel"
)

// Neighbour is a permanent entry: which MAC address an address on the link has.
// So nobody needs to be asked, and nobody else can answer. Like an Address it
// is identified by its place.
type Neighbour struct {
	On
	N       int        `json:"n"`
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
	// What is there was learned, and may be old.
	return unsure(ns.ReplaceNeighbour(kernel.Neighbour{Link: link.Index, Addr: n.Address, MAC: mac}))
}

func (n *Neighbour) Observe(_ context.Context, env Env) (engine.State, error) {
	ns, link, ok, err := n.find(env)
	if err != nil || !ok {
		return missing(err, n.Address)
	}
	found, ok, err := ns.Neighbour(kernel.Neighbour{Link: link.Index, Addr: n.Address})
	if err != nil || !ok {
		return missing(err, n.Address)
	}
	var d drift
	if want, err := parseMAC(n.MAC); err != nil || !bytes.Equal(want, found.MAC) {
		d.add("the neighbour %s has %s, want %s", n.Address, found.MAC, n.MAC)
	}
	return d.state(), nil
}

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
