package kernel

import "testing"

// TestKnowsKind says of every kind what the kernel says when one is made, and
// makes none, not for a moment: no index is given out.
func TestKnowsKind(t *testing.T) {
	t.Parallel()
	for kind, spec := range map[string]LinkKind{
		"veth": VethKind{Peer: LinkSpec{Name: "peer"}}, "bridge": BridgeKind{}, "dummy": DummyKind{},
		"vrf": VRFKind{Table: 1000}, "vlan": VLANKind{ID: 5}, "macvlan": MacvlanKind{Mode: MacvlanBridge}, "ipvlan": IPVlanKind{},
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			n := newNS(t)
			known, err := n.KnowsKind(kind)
			must(t, err)
			must(t, n.AddLink(LinkSpec{Name: "br0", Kind: BridgeKind{}}))
			bridge, _, err := n.Link("br0")
			must(t, err)
			if all, err := n.Links(); err != nil || len(all) != 2 || bridge.Index != 2 {
				t.Errorf("the question made something: %+v, %v", all, err)
			}
			err = n.AddLink(LinkSpec{Name: "x0", Parent: parentOf(kind, bridge.Index), Kind: spec})
			if known != (err == nil) || !known && !Unsupported(err) {
				t.Errorf("known: %v; made: %v", known, err)
			}
		})
	}
}

func parentOf(kind string, bridge int) int {
	if kind == "vlan" || kind == "macvlan" || kind == "ipvlan" {
		return bridge
	}
	return 0
}

func TestKnowsNoSuchKind(t *testing.T) {
	t.Parallel()
	if known, err := newNS(t).KnowsKind("nonesuch"); known || err != nil {
		t.Error(known, err)
	}
}
