package resource

import (
	"context"
	"slices"

	"github.com/fairlead-net/fairlead/engine"
	"github.com/fairlead-net/fairlead/kernel"
)

// BridgePort is how a bridge treats a port of it. With a VLAN, or isolated, the
// port must come up after it (rule 10).
type BridgePort struct {
	On
	Hairpin  bool `json:"hairpin,omitempty"`  // frames may go out where they came in
	Isolated bool `json:"isolated,omitempty"` // no frames to or from other isolated ports
	// VLAN is what untagged frames belong to; 0: none given.
	VLAN uint16 `json:"vlan,omitempty"`
	// Trunk has the VLANs that come and go with tags. With a trunk alone, VLAN 1
	// is that of untagged frames.
	Trunk []VLANRange `json:"trunk,omitempty"`
	// PreserveDefaultVLAN leaves the port in the VLANs that the bridge gave it
	// when it joined.
	PreserveDefaultVLAN bool `json:"preserveDefaultVLAN,omitempty"`
}

// VLANRange is VLANs First to Last.
type VLANRange struct {
	First uint16 `json:"first"`
	Last  uint16 `json:"last"`
}

// VLANRanges sorts VLANs, and joins neighbours.
func VLANRanges(ids []uint16) []VLANRange {
	sorted := slices.Clone(ids)
	slices.Sort(sorted)
	var all []VLANRange
	for _, id := range sorted {
		if n := len(all); n > 0 && id <= all[n-1].Last+1 {
			all[n-1].Last = id
			continue
		}
		all = append(all, VLANRange{First: id, Last: id})
	}
	return all
}

func (p *BridgePort) Kind() string { return "bridge-port.1" }
func (p *BridgePort) Key() string  { return p.key() }

// vlans is what the port is to be in: the untagged frames' VLAN comes last, as
// it may be in the trunk too.
func (p *BridgePort) vlans() []kernel.BridgeVLAN {
	if p.VLAN == 0 && len(p.Trunk) == 0 {
		return nil
	}
	var all []kernel.BridgeVLAN
	for _, r := range p.Trunk {
		all = append(all, kernel.BridgeVLAN{ID: r.First, Last: r.Last})
	}
	return append(all, kernel.BridgeVLAN{ID: max(p.VLAN, 1), PVID: true, Untagged: true})
}

func (p *BridgePort) Create(_ context.Context, env Env) error {
	ns, link, err := p.need(env)
	if err != nil {
		return err
	}
	return engine.Partial(p.set(ns, link.Index))
}

func (p *BridgePort) set(ns *kernel.Namespace, index int) error {
	if p.Hairpin || p.Isolated {
		// The rest is as a new port has it.
		if err := ns.SetBridgePort(index, kernel.BridgePort{Hairpin: &p.Hairpin, Isolated: &p.Isolated}); err != nil {
			return err
		}
	}
	want := p.vlans()
	if len(want) == 0 {
		return nil
	}
	if !p.PreserveDefaultVLAN {
		if err := clearVLANs(ns, index); err != nil {
			return err
		}
	}
	return ns.AddBridgeVLANs(index, false, want...)
}

func clearVLANs(ns *kernel.Namespace, index int) error {
	given, err := ns.BridgeVLANs(index)
	if err != nil || len(given) == 0 {
		return err
	}
	_, err = ns.DelBridgeVLANs(index, false, given...)
	return err
}

func (p *BridgePort) Observe(_ context.Context, env Env) (engine.State, error) {
	ns, link, ok, err := p.find(env)
	if err != nil || !ok {
		return absentUnless(err)
	}
	var d drift
	if is(link.Port.Hairpin) != p.Hairpin {
		d.add("hairpin mode of %s is %t, want %t", p.Link, !p.Hairpin, p.Hairpin)
	}
	if is(link.Port.Isolated) != p.Isolated {
		d.add("isolation of %s is %t, want %t", p.Link, !p.Isolated, p.Isolated)
	}
	if len(p.vlans()) > 0 {
		if err := p.compareVLANs(ns, link.Index, &d); err != nil {
			return engine.State{}, err
		}
	}
	return d.state(), nil
}

func (p *BridgePort) compareVLANs(ns *kernel.Namespace, index int, d *drift) error {
	found, err := ns.BridgeVLANs(index)
	if err != nil {
		return err
	}
	has, want := flatten(found), flatten(p.vlans())
	for id, v := range want {
		if got, ok := has[id]; !ok || got != v {
			d.add("%s is not as it should be in VLAN %d", p.Link, id)
		}
	}
	for id := range has {
		if _, ok := want[id]; !ok && !p.PreserveDefaultVLAN {
			d.add("%s is in VLAN %d too", p.Link, id)
		}
	}
	slices.Sort(*d)
	return nil
}

// flatten gives each VLAN by itself; a later one of the list counts.
func flatten(ranges []kernel.BridgeVLAN) map[uint16]kernel.BridgeVLAN {
	all := map[uint16]kernel.BridgeVLAN{}
	for _, r := range ranges {
		for id := r.ID; id <= max(r.ID, r.Last); id++ {
			all[id] = kernel.BridgeVLAN{ID: id, PVID: r.PVID, Untagged: r.Untagged}
		}
	}
	return all
}

// Remove makes the port as if it had none of this. It is called only where the
// port stays.
func (p *BridgePort) Remove(_ context.Context, env Env) error {
	ns, link, ok, err := p.find(env)
	if err != nil || !ok || link.MasterKind != "bridge" {
		return err
	}
	if p.Hairpin || p.Isolated {
		var no bool
		if err := ns.SetBridgePort(link.Index, kernel.BridgePort{Hairpin: &no, Isolated: &no}); err != nil {
			return err
		}
	}
	if vlans := p.vlans(); len(vlans) > 0 {
		_, err = ns.DelBridgeVLANs(link.Index, false, vlans...)
	}
	return err
}

func is(b *bool) bool { return b != nil && *b }
