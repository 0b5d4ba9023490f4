package resource

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/fairlead-net/fairlead/kernel"
)

// A bridgeMark is the alias of what stands for a bridge that we made: the
// bridge and its VLAN gateways, each with the gateway addresses that it got
// from us: "fairlead:bridge cni0 10.1.0.1/16". What has none is not ours to
// remove.
type bridgeMark struct {
	Bridge    string
	Addresses []netip.Prefix
}

const (
	bridgeMarkPrefix = "fairlead:bridge "
	aliasMax         = 255 // IFALIASZ less the terminating zero
)

func (m bridgeMark) String() string {
	s := bridgeMarkPrefix + m.Bridge
	for _, a := range m.Addresses {
		s += " " + a.String()
	}
	return s
}

// parseBridgeMark reads the mark back; ok is false for any other alias.
func parseBridgeMark(alias string) (m bridgeMark, ok bool) {
	rest, ok := strings.CutPrefix(alias, bridgeMarkPrefix)
	fields := strings.Fields(rest)
	if !ok || len(fields) == 0 {
		return m, false
	}
	m.Bridge = fields[0]
	for _, f := range fields[1:] {
		a, err := netip.ParsePrefix(f)
		if err != nil {
			return m, false
		}
		m.Addresses = append(m.Addresses, a)
	}
	return m, true
}

// madeFor tells whether the link is the bridge of that name, or a gateway of
// it, and made by us.
func madeFor(bridge string, link kernel.Link) bool {
	m, ok := parseBridgeMark(link.Alias)
	return ok && m.Bridge == bridge
}

// record notes in the link's mark, before it is done, that it gets the address
// from us. Two calls may do this at once, so it is read again until it is seen. A mark that has no
// room left stays as it is: the address counts as another's then, and the
// bridge as used.
func record(ns *kernel.Namespace, link kernel.Link, address netip.Prefix) error {
	for range 10 {
		m, ok := parseBridgeMark(link.Alias)
		if !ok || slices.Contains(m.Addresses, address) {
			return nil
		}
		m.Addresses = append(m.Addresses, address)
		alias := m.String()
		if len(alias) > aliasMax {
			return nil
		}
		if err := ns.SetLink(link.Index, kernel.LinkChange{Alias: &alias}); err != nil {
			return err
		}
		now, found, err := ns.LinkByIndex(link.Index)
		if err != nil || !found {
			return err
		}
		link = now
	}
	return nil
}
