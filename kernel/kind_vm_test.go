//go:build vmtest

package kernel

import (
	"testing"

	"golang.org/x/sys/unix"
)

// TestKindsOfAFullKernel has the kinds that some kernels are built without.
func TestKindsOfAFullKernel(t *testing.T) {
	t.Parallel()
	testKinds(t, map[string]kindCase{
		"dummy":     {kind: DummyKind{}},
		"wireguard": {kind: WireguardKind{}, noMAC: true},
		"vrf":       {kind: VRFKind{Table: 1000}},
		"vlan":      {kind: VLANKind{ID: 5, Protocol: 0x8100}, parent: true},
		"QinQ":      {kind: VLANKind{ID: 6, Protocol: 0x88a8}, parent: true},
		"ipvlan l2": {kind: IPVlanKind{}, parent: true, noMAC: true},
		"ipvlan l3": {kind: IPVlanKind{Mode: IPVlanL3}, parent: true, noMAC: true},
		"ipvlan l3s": {
			kind: IPVlanKind{Mode: IPVlanL3S, Flags: 1}, parent: true, noMAC: true,
		},
		"bond": {kind: BondKind{Mode: 1, MIIMon: 100}},
		"geneve": {
			kind: GeneveKind{VNI: 7, Remote: addr("192.0.2.2"), Port: 6082, TTL: 3, TOS: 4, UDPChecksum: ptr(true)}, twice: unix.EBUSY,
		},
		"geneve over IPv6": {
			kind: GeneveKind{VNI: 8, Remote: addr("2001:db8::2"), Port: 6083, UDPChecksum: ptr(false)}, twice: unix.EBUSY,
		},
		"geneve by packet, without Ethernet": {
			kind: GeneveKind{CollectMetadata: true, InnerProtoInherit: true, Port: 6084}, noMAC: true, twice: unix.EBUSY,
		},
		"ipip": {
			kind: IPIPKind{Local: addr("192.0.2.1"), Remote: addr("192.0.2.2"), TTL: 3, PMTUDisc: ptr(true)}, noMAC: true,
		},
		"gre": {
			kind: GREKind{Local: addr("192.0.2.1"), Remote: addr("192.0.2.2"), TTL: 3, Key: ptr(uint32(77))}, noMAC: true,
		},
		"gretap": {kind: GREKind{Ethernet: true, Local: addr("192.0.2.1"), Remote: addr("192.0.2.2")}},
		"ip6gre": {kind: GREKind{Local: addr("2001:db8::1"), Remote: addr("2001:db8::2")}, noMAC: true},
	})
}

// TestVLANNumberTaken: EEXIST is not only about names.
func TestVLANNumberTaken(t *testing.T) {
	t.Parallel()
	n := newNS(t)
	p, _ := addPair(t, n, "p0", n, "p1")
	err := n.AddLink(LinkSpec{Name: "a", Kind: VLANKind{ID: 5}, Parent: p.Index})
	if !requireKind(t, "vlan", err) {
		return
	}
	if err := n.AddLink(LinkSpec{Name: "b", Kind: VLANKind{ID: 5}, Parent: p.Index}); !Exists(err) {
		t.Error(err)
	}
	noLink(t, n, "b")
}

// TestVRFMember: the master of a member is named with its kind.
func TestVRFMember(t *testing.T) {
	t.Parallel()
	n := newNS(t)
	err := n.AddLink(LinkSpec{Name: "red", Kind: VRFKind{Table: 1000}, Up: true})
	if !requireKind(t, "vrf", err) {
		return
	}
	vrf := link(t, n, "red")
	must(t, n.AddLink(LinkSpec{Name: "a", Master: vrf.Index, Up: true, Kind: VethKind{Peer: LinkSpec{Name: "b"}}}))
	if a := link(t, n, "a"); a.Master != vrf.Index || a.MasterKind != "vrf" {
		t.Errorf("%+v", a)
	}
	all, err := n.LinksOfKind("vrf")
	if err != nil || len(all) != 1 || all[0].Info != (VRFKind{Table: 1000}) {
		t.Errorf("%+v, %v", all, err)
	}
}

// TestVRFSegments: a local segment that sends what it unpacks to a VRF, by its
// table. The kernel wants VRFs to have tables of their own.
func TestVRFSegments(t *testing.T) {
	t.Parallel()
	n := newNS(t)
	must(t, n.AddLink(LinkSpec{Name: "red", Kind: VRFKind{Table: 1000}, Up: true}))
	vrf := link(t, n, "red")
	sid := Route{Dst: pfx("fc00::9/128"), Link: vrf.Index, Encap: SRv6Local{Action: SRv6EndDT46, VRFTable: 1000}}
	if err := n.AddRoute(sid); err == nil {
		t.Error("made without vrf.strict_mode")
	}
	must(t, n.SetSysctl("net/vrf/strict_mode", "1"))
	for _, action := range []SRv6Action{SRv6EndDT46, SRv6EndDT4, SRv6EndDT6} {
		sid.Encap = SRv6Local{Action: action, VRFTable: 1000}
		testRoute(t, n, sid)
	}
	must(t, n.AddRoute(sid))
	gone, err := n.DelLink(vrf.Index)
	if !gone || err != nil {
		t.Fatal(gone, err)
	}
	if got, ok, err := n.Route(Route{Dst: sid.Dst}); ok || err != nil {
		t.Error("it outlives its VRF", got, err)
	}
}
