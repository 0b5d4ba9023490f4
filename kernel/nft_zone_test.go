package kernel

import (
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

func zoneRules() []NftRule {
	return []NftRule{
		{Action: NftAction{Verb: NftZoneOfIn, Map: "zones"}},
		{Action: NftAction{Verb: NftZoneOfOut, Map: "zones"}},
	}
}

func addZones(tx *NftTx, z NftZonesID, chain NftChainID, rules []NftRule) {
	tx.AddTable(NftTable{NftTableID: z.Table})
	tx.AddChain(NftChain{NftChainID: chain, Hook: &NftHook{Type: "filter", Number: unix.NF_INET_PRE_ROUTING, Priority: -300, Policy: nfAccept}})
	tx.AddZones(z)
	for i := range rules {
		tx.AddRule(chain, &rules[i])
	}
}

// TestNftZones: what is written is what nft writes, and can be read by nft
// again; elements are found, refused where they differ, and deleted singly.
func TestNftZones(t *testing.T) {
	t.Parallel()
	ours, theirs := nftNamespace(t), nftNamespace(t)
	z, chain := NftZonesID{testTable, "zones"}, testChain
	const text = `table inet t {
map zones {
typeof iifgroup : ct zone
size 65536
elements = { 0x46564e21 : 20001 }
}
chain c {
type filter hook prerouting priority raw
ct zone set iifgroup map @zones
ct zone set oifgroup map @zones
}
}
`
	inside(t, theirs, text, "nft", "-f", "-")
	rules := zoneRules()
	commit(t, ours, func(tx *NftTx) {
		addZones(tx, z, chain, rules)
		tx.AddZone(z, 0x46564e21, 20001)
	})
	if diff := cmp.Diff(inside(t, theirs, "", "nft", "list", "ruleset"), inside(t, ours, "", "nft", "list", "ruleset")); diff != "" {
		t.Errorf("(-theirs +ours)\n%s", diff)
	}
	if diff := cmp.Diff(programs(t, theirs), programs(t, ours)); diff != "" {
		t.Errorf("programs (-theirs +ours)\n%s", diff)
	}
	for name, n := range map[string]*Namespace{"ours": ours, "theirs": theirs} {
		all, err := n.NftZones(z)
		if want := map[uint32]uint16{0x46564e21: 20001}; err != nil || !reflect.DeepEqual(all, want) {
			t.Errorf("%s: %v, %v", name, all, err)
		}
		found, err := n.NftRules(chain, nil)
		must(t, err)
		for i, want := range zoneRules() {
			want.Handle = found[i].Handle
			if found[i] != want {
				t.Errorf("%s: %+v, want %+v", name, found[i], want)
			}
		}
	}
	if zone, ok, err := ours.NftZone(z, 0x46564e21); zone != 20001 || !ok || err != nil {
		t.Error(zone, ok, err)
	}
	if _, ok, err := ours.NftZone(z, 7); ok || err != nil {
		t.Error(ok, err)
	}
	if all, err := ours.NftZones(NftZonesID{testTable, "none"}); len(all) != 0 || err != nil {
		t.Error(all, err)
	}
}

// TestNftZonesGoSingly: a map goes when nothing is in it and no rule uses it.
func TestNftZonesGoSingly(t *testing.T) {
	t.Parallel()
	n := nftNamespace(t)
	z, chain := NftZonesID{testTable, "zones"}, testChain
	rules := zoneRules()
	try := func(fill func(tx *NftTx)) error {
		var tx NftTx
		fill(&tx)
		return n.NftCommit("test", &tx)
	}
	must(t, try(func(tx *NftTx) { addZones(tx, z, chain, rules) }))
	must(t, try(func(tx *NftTx) { tx.AddZone(z, 5, 6) }))
	must(t, try(func(tx *NftTx) { tx.AddZones(z); tx.AddZone(z, 5, 6) }))
	if err := try(func(tx *NftTx) { tx.AddZone(z, 5, 7) }); !Busy(err) && !Exists(err) {
		t.Errorf("another zone: %v", err)
	}
	remove := func(tx *NftTx) {
		for _, r := range rules {
			tx.DeleteRule(chain, r.Handle)
		}
		tx.DeleteEmptyZones(z)
		tx.DeleteEmptyChain(chain)
		tx.DeleteEmptyTable(testTable)
	}
	if err := try(remove); !Busy(err) {
		t.Errorf("with a zone in it: %v", err)
	}
	must(t, try(func(tx *NftTx) { tx.DeleteZone(z, 5) }))
	if err := try(func(tx *NftTx) { tx.DeleteZone(z, 5) }); !Absent(ObjectElement, err) {
		t.Errorf("deleted twice: %v", err)
	}
	if err := try(func(tx *NftTx) { tx.DeleteEmptyZones(z) }); !Busy(err) {
		t.Errorf("with rules that use it: %v", err)
	}
	must(t, try(remove))
	if _, ok, err := n.NftTable(testTable); ok || err != nil {
		t.Error(ok, err)
	}
}

// TestLinkGroup is given at once, or later.
func TestLinkGroup(t *testing.T) {
	t.Parallel()
	n := newNS(t)
	must(t, n.AddLink(LinkSpec{Name: "a", Group: 0x46560001, Kind: VethKind{Peer: LinkSpec{Name: "b"}}}))
	a, b := link(t, n, "a"), link(t, n, "b")
	if a.Group != 0x46560001 || b.Group != 0 {
		t.Errorf("%#x, %#x", a.Group, b.Group)
	}
	must(t, n.SetLink(b.Index, LinkChange{Group: ptr(uint32(9))}))
	if b = link(t, n, "b"); b.Group != 9 {
		t.Errorf("%#x", b.Group)
	}
}
