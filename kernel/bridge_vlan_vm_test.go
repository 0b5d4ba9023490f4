//go:build vmtest

package kernel

import (
	"reflect"
	"testing"
)

// filteringBridge gives a bridge that tells VLANs apart, and a port of it.
func filteringBridge(t *testing.T, n *Namespace, k BridgeKind) (br, port Link, ok bool) {
	t.Helper()
	k.VLANFiltering = true
	err := n.AddLink(LinkSpec{Name: "br0", Kind: k, Up: true})
	if !requireKind(t, "vlan_filtering", err) {
		return br, port, false
	}
	br = link(t, n, "br0")
	must(t, n.AddLink(LinkSpec{Name: "a", Master: br.Index, Kind: VethKind{Peer: LinkSpec{Name: "b"}}}))
	return br, link(t, n, "a"), true
}

func wantVLANs(t *testing.T, n *Namespace, index int, want ...BridgeVLAN) {
	t.Helper()
	got, err := n.BridgeVLANs(index)
	must(t, err)
	if len(got) != len(want) || len(got) > 0 && !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
}

func TestBridgeFiltering(t *testing.T) {
	t.Parallel()
	n := newNS(t)
	br, _, ok := filteringBridge(t, n, BridgeKind{DefaultPVID: ptr(uint16(3))})
	if !ok {
		return
	}
	if k := br.Info.(BridgeKind); !k.VLANFiltering || *k.DefaultPVID != 3 {
		t.Errorf("%+v", k)
	}
	// On a bridge that is there already, too.
	old := addLink(t, n, LinkSpec{Name: "br1", Kind: BridgeKind{}})
	must(t, n.SetLink(old.Index, LinkChange{Info: BridgeKind{VLANFiltering: true}}))
	if k := link(t, n, "br1").Info.(BridgeKind); !k.VLANFiltering || *k.DefaultPVID != 1 {
		t.Errorf("%+v", k)
	}
}

func TestBridgeVLANs(t *testing.T) {
	t.Parallel()
	n := newNS(t)
	br, port, ok := filteringBridge(t, n, BridgeKind{})
	if !ok {
		return
	}
	def := BridgeVLAN{ID: 1, PVID: true, Untagged: true}
	wantVLANs(t, n, port.Index, def)
	wantVLANs(t, n, br.Index, def)

	must(t, n.AddBridgeVLAN(port.Index, 100, VLANFlags{PVID: true, Untagged: true}))
	must(t, n.AddBridgeVLAN(port.Index, 100, VLANFlags{PVID: true, Untagged: true}))
	must(t, n.AddBridgeVLANs(port.Index, false, BridgeVLAN{ID: 200, Last: 299}, BridgeVLAN{ID: 400}))
	must(t, n.AddBridgeVLAN(br.Index, 100, VLANFlags{Self: true}))
	wantVLANs(t, n, port.Index, BridgeVLAN{ID: 1, Untagged: true}, BridgeVLAN{ID: 100, PVID: true, Untagged: true},
		BridgeVLAN{ID: 200, Last: 299}, BridgeVLAN{ID: 400})
	wantVLANs(t, n, br.Index, def, BridgeVLAN{ID: 100})

	for _, v := range []BridgeVLAN{{ID: 1}, {ID: 250, Last: 299}, {ID: 3000}} {
		if ok, err := n.DelBridgeVLANs(port.Index, false, v); err != nil || !ok {
			t.Error(v, ok, err)
		}
	}
	wantVLANs(t, n, port.Index, BridgeVLAN{ID: 100, PVID: true, Untagged: true}, BridgeVLAN{ID: 200, Last: 249}, BridgeVLAN{ID: 400})
	if ok, err := n.DelBridgeVLAN(br.Index, 100, VLANFlags{Self: true}); err != nil || !ok {
		t.Error(ok, err)
	}
	wantVLANs(t, n, br.Index, def)
}

func TestBridgeVLANsOfNoPort(t *testing.T) {
	t.Parallel()
	n := newNS(t)
	_, port, ok := filteringBridge(t, n, BridgeKind{})
	if !ok {
		return
	}
	wantVLANs(t, n, 4711)
	if err := n.AddBridgeVLAN(4711, 5, VLANFlags{}); !Absent(ObjectLink, err) {
		t.Error(err)
	}
	if ok, err := n.DelBridgeVLAN(4711, 5, VLANFlags{}); ok || err != nil {
		t.Error(ok, err)
	}
	if err := n.AddBridgeVLAN(port.Index, 5000, VLANFlags{}); err == nil {
		t.Error("VLAN 5000")
	}
	if err := n.AddBridgeVLAN(link(t, n, "lo").Index, 5, VLANFlags{}); err == nil {
		t.Error("lo is a port")
	}
}
