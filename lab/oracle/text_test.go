package oracle

import (
	"slices"
	"strings"
	"testing"
)

func TestParseRuleset(t *testing.T) {
	t.Parallel()
	const out = `# Warning: table ip nat is managed by iptables-nft, do not touch!
table ip nat {
	comment "mine { yours"
	chain POST {
		type nat hook postrouting priority 100; policy accept;
		ip saddr vmap { 10.0.0.9 : accept, 10.0.0.1 : drop,
				10.0.0.3 : jump x }
		ct state { established, related } accept comment "a, b } c"
		comment "of the chain"
	}

	map m {
		type ipv4_addr : verdict
		elements = { 10.0.0.1 timeout 1h expires 59m30s : accept,
			     10.0.0.2 comment "x, y" : drop }
	}
	ct helper h {
		type "ftp" protocol tcp
		l3proto ip
	}
}
table netdev n {
}
`
	items, err := parseRuleset(out)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, i := range items {
		got = append(got, i.name()+" | "+i.value)
	}
	want := []string{
		`table ip nat | comment "mine { yours"`,
		`chain ip nat POST | type nat hook postrouting priority 100; policy accept; comment "of the chain"`,
		`ip nat POST: ip saddr vmap { 10.0.0.1 : drop, 10.0.0.3 : jump x, 10.0.0.9 : accept } | `,
		`ip nat POST: ct state { established, related } accept comment "a, b } c" | `,
		`map ip nat m | type ipv4_addr : verdict`,
		`element ip nat m 10.0.0.1 timeout 1h : accept | `,
		`element ip nat m 10.0.0.2 comment "x, y" : drop | `,
		`ct ip nat helper h | type "ftp" protocol tcp l3proto ip`,
		`table netdev n | `,
	}
	if !slices.Equal(got, want) {
		t.Errorf("%s", strings.Join(got, "\n"))
	}
	for _, bad := range []string{"table ip t {\n", "rule\n", "table ip t {\n\tchain c {\n\t}\n"} {
		if items, err := parseRuleset(bad); err == nil {
			t.Errorf("%q was read as %v", bad, items)
		}
	}
}

func TestParseSaved(t *testing.T) {
	t.Parallel()
	const out = "# Generated\n*nat\n:PREROUTING ACCEPT [12:840]\n:CNI - [0:0]\n-A CNI -j ACCEPT\nCOMMIT\n*raw\n:OUTPUT DROP [0:0]\nCOMMIT\n"
	want := []Item{{Name: "nat chain PREROUTING", Value: "ACCEPT"}, {Name: "nat chain CNI", Value: "-"}, {Name: "nat CNI -j ACCEPT"}, {Name: "raw chain OUTPUT", Value: "DROP"}}
	if got := parseSaved(out); !slices.Equal(got, want) {
		t.Errorf("%+v", got)
	}
}

func TestParseMount(t *testing.T) {
	t.Parallel()
	m, ok := parseMount(`36 35 0:4 net:[4026532281] /run/netns/a\040b\x rw shared:1 - nsfs no\134ne rw` + "\n")
	if want := (mount{"36", "net:[4026532281]", `/run/netns/a b\x`, "nsfs", `no\ne`}); !ok || m != want {
		t.Errorf("%+v, %v", m, ok)
	}
	for _, bad := range []string{"", "36 35 0:4 / / rw", "36 35 0:4 / / rw - nsfs"} {
		if m, ok := parseMount(bad); ok {
			t.Errorf("%q was read as %+v", bad, m)
		}
	}
}

func picture(items ...Item) Picture {
	var p Picture
	for _, i := range items {
		p.facts = append(p.facts, fact{Item: i})
	}
	p.sort()
	return p
}

func TestDiff(t *testing.T) {
	t.Parallel()
	link := func(name, value string) Item { return Item{"link", hostName, name, value} }
	before := picture(link("a", "1"), link("b", "1"), link("veth*", "x"), link("veth*", "x"), Item{"link", "c1", "eth0", "1"})
	after := picture(link("a", "2"), link("veth*", "x"), link("veth*", "y"), link("veth*", "z"), link("d", ""))
	got := Diff(before, after)
	const want = "- link b: 1\n- c1: link eth0: 1\n+ link d\n+ link veth*: z\n~ link a: 2, was 1\n~ link veth*: y, was x\n"
	if got.String() != want {
		t.Errorf("%s", got)
	}
	if got := Diff(before, before); !got.Empty() || got.String() != "" {
		t.Errorf("the same: %s", got)
	}
	clean := Diff(before, picture(link("a", "2"), link("b", "1"), link("veth*", "x"), link("veth*", "x"), link("veth*", "z"), link("veth*", "z")))
	if got, want := got.Without(clean).String(), "- link b: 1\n+ link d\n~ link veth*: y, was x\n"; got != want {
		t.Errorf("without what a clean run does: %s", got)
	}
}

// TestNativeInNewNamespaces: what a namespace has by itself is told only where it
// is missing.
func TestNativeInNewNamespaces(t *testing.T) {
	t.Parallel()
	lo := fact{Item: Item{"link", "c1", "lo", "device"}, native: true}
	eth := fact{Item: Item{"link", "c1", "eth0", "veth"}}
	none, both, one := Picture{}, Picture{facts: []fact{lo, eth}}, Picture{facts: []fact{eth}}
	for want, pair := range map[string][2]Picture{
		"+ c1: link eth0: veth\n": {none, both},
		"- c1: link eth0: veth\n": {both, none},
		"- c1: link lo: device\n": {both, one},
	} {
		if got := Diff(pair[0], pair[1]).String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestDrawnMACs: whose name stands for an address that several have.
func TestDrawnMACs(t *testing.T) {
	t.Parallel()
	at := func(n byte) []byte { return []byte{2, 0, 0, 0, 0, n} }
	ns := &netns{links: []*link{
		{name: "br0", kind: "bridge", mac: at(1), drawn: true}, {name: "port", mac: at(1)},
		{name: "br1", kind: "bridge", mac: at(2), drawn: true}, {name: "veth", mac: at(2), drawn: true},
		{name: "br2", kind: "bridge", mac: at(3), drawn: true},
		{name: "a", mac: at(4)}, {name: "b", mac: at(4), drawn: true},
	}}
	replace := replacer(Options{Replace: strings.NewReplacer("veth", "port").Replace}, []*netns{ns})
	for text, want := range map[string]string{
		"02:00:00:00:00:01": "02:00:00:00:00:01", "02:00:00:00:00:02": "(mac of port)",
		"x 02:00:00:00:00:03 y": "x (mac of br2) y", "02:00:00:00:00:04": "(mac of b)",
	} {
		if got := replace(text); got != want {
			t.Errorf("%s became %s, want %s", text, got, want)
		}
	}
}
