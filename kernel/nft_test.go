package kernel

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// nftNamespace is a fresh namespace for a test.
func nftNamespace(t testing.TB) *Namespace {
	t.Helper()
	n, err := Create("")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = n.Close() })
	return n
}

// inside runs a command in the namespace and gives what it printed.
func inside(t testing.TB, n *Namespace, stdin string, command ...string) string {
	t.Helper()
	var out, errs bytes.Buffer
	err := n.Do(func() error {
		cmd := exec.Command(command[0], command[1:]...)
		cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &out, &errs
		return cmd.Run()
	})
	if err != nil {
		t.Fatalf("%s: %v: %s", strings.Join(command, " "), err, errs.String())
	}
	return out.String()
}

// ruleset is all that nft knows of the namespace, less handles.
func ruleset(t testing.TB, n *Namespace) any {
	t.Helper()
	var v any
	if err := json.Unmarshal([]byte(inside(t, n, "", "nft", "-j", "list", "ruleset")), &v); err != nil {
		t.Fatal(err)
	}
	return withoutHandles(v)
}

func withoutHandles(v any) any {
	switch v := v.(type) {
	case map[string]any:
		delete(v, "handle")
		for k := range v {
			v[k] = withoutHandles(v[k])
		}
	case []any:
		for i := range v {
			v[i] = withoutHandles(v[i])
		}
	}
	return v
}

// programs is what nft sees of the rules: the steps, and the comments' bytes.
func programs(t testing.TB, n *Namespace) string {
	t.Helper()
	return inside(t, n, "", "nft", "--debug=netlink", "list", "ruleset")
}

var (
	testTable = NftTableID{NftInet, "t"}
	testChain = testTable.Chain("c")
)

func prefix(s string) netip.Prefix { return netip.MustParsePrefix(s) }

// commit ends the test if the transaction fails.
func commit(t testing.TB, n *Namespace, fill func(tx *NftTx)) {
	t.Helper()
	var tx NftTx
	fill(&tx)
	if err := n.NftCommit("test", &tx); err != nil {
		t.Fatal(err)
	}
}

// vocabulary is every condition and action, beside nft's words for it.
func vocabulary() []struct {
	family NftFamily
	nft    string
	rule   NftRule
} {
	return []struct {
		family NftFamily
		nft    string
		rule   NftRule
	}{
		{NftInet, "ip saddr 10.1.2.3 ip daddr != 10.1.2.0/24 accept", NftRule{
			Match:  NftMatch{Source: NftWithin(prefix("10.1.2.3/32")), Destination: NftOutside(prefix("10.1.2.3/24"))},
			Action: NftAction{Verb: NftAccept},
		}},
		{NftInet, "ip saddr 10.1.4.3 ip daddr != 10.1.4.0/22 drop", NftRule{
			Match:  NftMatch{Source: NftWithin(prefix("10.1.4.3/32")), Destination: NftOutside(prefix("10.1.4.3/22"))},
			Action: NftAction{Verb: NftDrop},
		}},
		{NftInet, "ip6 saddr fd00::1 ip6 daddr != fd00::/64 return", NftRule{
			Match:  NftMatch{Source: NftWithin(prefix("fd00::1/128")), Destination: NftOutside(prefix("fd00::1/64"))},
			Action: NftAction{Verb: NftReturn},
		}},
		{NftInet, "ip6 daddr ff00::/8 jump other", NftRule{
			Match:  NftMatch{Destination: NftWithin(prefix("ff00::/8"))},
			Action: NftAction{Verb: NftJump, Chain: "other"},
		}},
		{NftInet, "ip daddr 224.0.0.0/4 goto other", NftRule{
			Match:  NftMatch{Destination: NftWithin(prefix("224.0.0.0/4"))},
			Action: NftAction{Verb: NftGoto, Chain: "other"},
		}},
		{NftInet, "ip6 daddr fd00:8000::/17 accept", NftRule{
			Match:  NftMatch{Destination: NftWithin(prefix("fd00:8000::/17"))},
			Action: NftAction{Verb: NftAccept},
		}},
		{NftInet, `iifname "eth0" drop comment "why: \\ and so on"`, NftRule{
			Match:   NftMatch{IifName: "eth0"},
			Action:  NftAction{Verb: NftDrop},
			Comment: `why: \\ and so on`,
		}},
		{NftInet, `goto other comment "` + strings.Repeat("x", 128) + `"`, NftRule{
			Action:  NftAction{Verb: NftGoto, Chain: "other"},
			Comment: strings.Repeat("x", 128),
		}},
		{NftIPv4, "ip saddr 10.0.0.0/9 drop", NftRule{
			Match:  NftMatch{Source: NftWithin(prefix("10.0.0.0/9"))},
			Action: NftAction{Verb: NftDrop},
		}},
		{NftIPv6, "ip6 saddr != fd00::/12 drop", NftRule{
			Match:  NftMatch{Source: NftOutside(prefix("fd00::/12"))},
			Action: NftAction{Verb: NftDrop},
		}},
		{NftBridge, `iifname "veth0123456789a" ether saddr 0a:58:0a:00:00:05 return`, NftRule{
			Match:  NftMatch{IifName: "veth0123456789a", EtherSource: "0a:58:0a:00:00:05"},
			Action: NftAction{Verb: NftReturn},
		}},
	}
}

func TestNftWritesWhatNftWrites(t *testing.T) {
	t.Parallel()
	for _, tc := range vocabulary() {
		t.Run(tc.nft, func(t *testing.T) {
			t.Parallel()
			ours, theirs := nftNamespace(t), nftNamespace(t)
			table := NftTableID{tc.family, "t"}
			inside(t, theirs, fmt.Sprintf("table %s t {\nchain other {}\nchain c {\n%s\n}\n}\n", tc.family, tc.nft), "nft", "-f", "-")
			rule := tc.rule
			commit(t, ours, func(tx *NftTx) {
				tx.AddTable(NftTable{NftTableID: table})
				tx.AddChain(NftChain{NftChainID: table.Chain("other")})
				tx.AddChain(NftChain{NftChainID: table.Chain("c")})
				tx.AddRule(table.Chain("c"), &rule)
			})
			if diff := cmp.Diff(ruleset(t, theirs), ruleset(t, ours)); diff != "" {
				t.Errorf("nft -j (-theirs +ours):\n%s", diff)
			}
			if diff := cmp.Diff(programs(t, theirs), programs(t, ours)); diff != "" {
				t.Errorf("programs (-theirs +ours):\n%s", diff)
			}
			for name, n := range map[string]*Namespace{"ours": ours, "theirs": theirs} {
				rules, err := n.NftRules(table.Chain("c"), nil)
				if err != nil || len(rules) != 1 {
					t.Fatalf("%s: %v, %v", name, rules, err)
				}
				want := tc.rule
				want.Handle = rules[0].Handle
				if rules[0] != want {
					t.Errorf("%s reads as %+v, want %+v", name, rules[0], want)
				}
			}
		})
	}
}

func TestNftReadsWhatItCannotWriteAsForeign(t *testing.T) {
	t.Parallel()
	for _, words := range []string{
		"tcp dport 80 accept", "ip saddr 10.0.0.1 limit rate 1/second accept", `iifname "veth*" drop`, `iifname != "x" drop`,
		"meta mark 1 drop", "ct state established accept", "ip daddr { 10.0.0.1, 10.0.0.2 } drop", "ip saddr > 10.0.0.1 drop",
		"ip saddr 10.0.0.1 ip saddr 10.0.0.2 drop", "log", "ip ttl 1 drop", "reject", "ip saddr & 255.0.255.0 == 10.0.1.0 drop",
	} {
		t.Run(words, func(t *testing.T) {
			t.Parallel()
			n := nftNamespace(t)
			inside(t, n, "table inet t {\nchain c {\n"+words+"\n}\n}\n", "nft", "-f", "-")
			rules, err := n.NftRules(testChain, nil)
			if err != nil || len(rules) != 1 || !rules[0].Foreign {
				t.Errorf("%+v, %v; want one foreign rule", rules, err)
			}
		})
	}
}

func TestNftReadsIPTablesRules(t *testing.T) {
	t.Parallel()
	n := nftNamespace(t)
	inside(t, n, strings.Join([]string{
		"*nat", ":CNI-x - [0:0]",
		`-A CNI-x -d 10.1.2.3/24 -j ACCEPT -m comment --comment "name: \"n\" id: \"c\""`,
		`-A CNI-x ! -d 224.0.0.0/4 -j MASQUERADE -m comment --comment short`,
		`-A CNI-x -s 10.1.2.3 -m comment --comment mark`,
		`-A POSTROUTING -s 10.1.2.3 -j CNI-x -m comment --comment "name: \"n\" id: \"c\""`,
		"COMMIT", "",
	}, "\n"), "iptables-nft-restore", "--noflush")
	nat := NftTableID{NftIPv4, "nat"}
	got, err := n.NftRules(nat.Chain("CNI-x"), nil)
	if err != nil {
		t.Fatal(err)
	}
	post, err := n.NftRules(nat.Chain("POSTROUTING"), nil)
	if err != nil {
		t.Fatal(err)
	}
	got = append(got, post...)
	for i := range got {
		got[i].Handle = 0
	}
	want := []NftRule{
		{Comment: `name: "n" id: "c"`, Match: NftMatch{Destination: NftWithin(prefix("10.1.2.0/24"))}, Action: NftAction{Verb: NftAccept}},
		{Comment: "short", Match: NftMatch{Destination: NftOutside(prefix("224.0.0.0/4"))}, Action: NftAction{Verb: NftMasquerade}},
		{Comment: "mark", Match: NftMatch{Source: NftWithin(prefix("10.1.2.3/32"))}},
		{Comment: `name: "n" id: "c"`, Match: NftMatch{Source: NftWithin(prefix("10.1.2.3/32"))}, Action: NftAction{Verb: NftJump, Chain: "CNI-x"}},
	}
	if diff := cmp.Diff(want, got, cmp.Comparer(func(a, b netip.Prefix) bool { return a == b })); diff != "" {
		t.Error(diff)
	}
}

func TestNftLookUps(t *testing.T) {
	t.Parallel()
	n := nftNamespace(t)
	if _, ok, err := n.NftTable(testTable); ok || err != nil {
		t.Errorf("table before it is made: %v, %v", ok, err)
	}
	if _, ok, err := n.NftChain(testChain); ok || err != nil {
		t.Errorf("chain before it is made: %v, %v", ok, err)
	}
	if rules, err := n.NftRules(testChain, nil); len(rules) != 0 || err != nil {
		t.Errorf("rules of no chain: %v, %v", rules, err)
	}
	if _, ok, err := n.NftRule(testChain, 7); ok || err != nil {
		t.Errorf("rule of no chain: %v, %v", ok, err)
	}
	hook := &NftHook{Type: "nat", Number: unix.NF_INET_POST_ROUTING, Priority: -5, Policy: 1}
	rules := []NftRule{{Comment: "one", Action: NftAction{Verb: NftAccept}}, {Comment: "two", Action: NftAction{Verb: NftJump, Chain: "d"}}}
	commit(t, n, func(tx *NftTx) {
		tx.AddTable(NftTable{NftTableID: testTable, Comment: "a table"})
		tx.AddChain(NftChain{NftChainID: testChain, Comment: "a chain", Hook: hook})
		tx.AddChain(NftChain{NftChainID: testTable.Chain("d")})
		tx.AddRule(testChain, &rules[0])
		tx.AddRule(testChain, &rules[1])
	})
	table, ok, err := n.NftTable(testTable)
	if want := (NftTable{NftTableID: testTable, Comment: "a table", Uses: 2}); !ok || err != nil || table != want {
		t.Errorf("table: %+v, %v, %v; want %+v", table, ok, err, want)
	}
	chain, ok, err := n.NftChain(testChain)
	want := NftChain{NftChainID: testChain, Comment: "a chain", Hook: hook, Uses: 2}
	if diff := cmp.Diff(want, chain); !ok || err != nil || diff != "" {
		t.Errorf("chain: %v, %v\n%s", ok, err, diff)
	}
	for _, r := range rules {
		got, ok, err := n.NftRule(testChain, r.Handle)
		if r.Handle == 0 || !ok || err != nil || got != r {
			t.Errorf("rule %d: %+v, %v, %v; want %+v", r.Handle, got, ok, err, r)
		}
	}
	if _, ok, err := n.NftRule(testChain, 9999); ok || err != nil {
		t.Errorf("a handle that is none: %v, %v", ok, err)
	}
	two, err := n.NftRules(testChain, func(c string) bool { return c == "two" })
	if err != nil || len(two) != 1 || two[0] != rules[1] {
		t.Errorf("rules by comment: %+v, %v", two, err)
	}
}

func TestNftTransactionIsAllOrNothing(t *testing.T) {
	t.Parallel()
	n := nftNamespace(t)
	commit(t, n, func(tx *NftTx) {
		tx.AddTable(NftTable{NftTableID: testTable})
		tx.AddChain(NftChain{NftChainID: testChain})
		tx.AddChain(NftChain{NftChainID: testTable.Chain("target")})
		tx.AddRule(testChain, &NftRule{Action: NftAction{Verb: NftJump, Chain: "target"}})
		base := testTable.Chain("base")
		tx.AddChain(NftChain{NftChainID: base, Hook: &NftHook{Type: "filter", Number: 4, Policy: 1}})
		tx.AddRule(base, &NftRule{Action: NftAction{Verb: NftJump, Chain: "c"}})
	})
	before := programs(t, n)
	cases := map[string]struct {
		errno unix.Errno
		step  string
		fill  func(tx *NftTx)
	}{
		"a chain that is there": {unix.EEXIST, "add chain c", func(tx *NftTx) { tx.NewChain(NftChain{NftChainID: testChain}) }},
		"a rule that is not":    {unix.ENOENT, "delete rule in c", func(tx *NftTx) { tx.DeleteRule(testChain, 999) }},
		"a chain that is not":   {unix.ENOENT, "delete chain x", func(tx *NftTx) { tx.DeleteChain(testTable.Chain("x")) }},
		"a chain jumped to":     {unix.EBUSY, "delete chain target", func(tx *NftTx) { tx.DeleteChain(testTable.Chain("target")) }},
		"a chain with rules":    {unix.EBUSY, "delete chain c", func(tx *NftTx) { tx.DeleteEmptyChain(testChain) }},
		"a table with chains":   {unix.EBUSY, "delete table", func(tx *NftTx) { tx.DeleteEmptyTable(testTable) }},
		"a jump to no chain": {unix.ENOENT, "add rule in c", func(tx *NftTx) {
			tx.AddRule(testChain, &NftRule{Action: NftAction{Verb: NftJump, Chain: "x"}})
		}},
		"a loop": {unix.EMLINK, "", func(tx *NftTx) {
			tx.AddRule(testTable.Chain("target"), &NftRule{Action: NftAction{Verb: NftJump, Chain: "c"}})
		}},
		"another hook": {unix.EOPNOTSUPP, "add chain c", func(tx *NftTx) {
			tx.AddChain(NftChain{NftChainID: testChain, Hook: &NftHook{Type: "nat", Number: 4, Policy: 1}})
		}},
	}
	for name, tc := range cases {
		// One after another, upon one socket: a refusal leaves nothing in it
		// that the next call takes for its answer.
		var tx NftTx
		tx.AddChain(NftChain{NftChainID: testTable.Chain("new")})
		tc.fill(&tx)
		tx.AddChain(NftChain{NftChainID: testTable.Chain("newer")})
		err := n.NftCommit("test", &tx)
		var e *Error
		if !errors.As(err, &e) || e.Errno != tc.errno || !strings.HasPrefix(e.Message, tc.step) || e.Unanswered {
			t.Errorf("%s: %v, want %v at %q", name, err, tc.errno, tc.step)
		}
		if after := programs(t, n); after != before {
			t.Errorf("%s: something was done:\n%s", name, after)
		}
	}
	if _, ok, err := n.NftChain(testTable.Chain("new")); ok || err != nil {
		t.Errorf("chain of a refused transaction: %v, %v", ok, err)
	}
}

func TestNftRefusesWhatItCannotSay(t *testing.T) {
	t.Parallel()
	n := nftNamespace(t)
	for name, fill := range map[string]func(tx *NftTx){
		"long comment":   func(tx *NftTx) { tx.AddRule(testChain, &NftRule{Comment: strings.Repeat("x", 255)}) },
		"long interface": func(tx *NftTx) { tx.AddRule(testChain, &NftRule{Match: NftMatch{IifName: "0123456789abcdef"}}) },
		"two families": func(tx *NftTx) {
			tx.AddRule(testChain, &NftRule{Match: NftMatch{Source: NftWithin(prefix("10.0.0.0/8")), Destination: NftWithin(prefix("fd00::/8"))}})
		},
		"wrong family": func(tx *NftTx) {
			tx.AddRule(NftTableID{NftIPv6, "t"}.Chain("c"), &NftRule{Match: NftMatch{Source: NftWithin(prefix("10.0.0.0/8"))}})
		},
		"MAC address in inet": func(tx *NftTx) { tx.AddRule(testChain, &NftRule{Match: NftMatch{EtherSource: "0a:58:0a:00:00:05"}}) },
		"no handle":           func(tx *NftTx) { tx.DeleteRule(testChain, 0) },
	} {
		var tx NftTx
		fill(&tx)
		if err := n.NftCommit("test", &tx); err == nil || errnoOf(err) != 0 {
			t.Errorf("%s: %v, want an error of our own", name, err)
		}
	}
	if err := n.NftCommit("nothing", &NftTx{}); err != nil {
		t.Errorf("an empty transaction: %v", err)
	}
}

func TestCase17NftLookUpsNeverGuess(t *testing.T) {
	t.Parallel()
	n := nftNamespace(t)
	lookUps := map[string]func(n *Namespace) (bool, error){
		"nft.table": func(n *Namespace) (bool, error) { _, ok, err := n.NftTable(testTable); return ok, err },
		"nft.chain": func(n *Namespace) (bool, error) { _, ok, err := n.NftChain(testChain); return ok, err },
		"nft.rule":  func(n *Namespace) (bool, error) { _, ok, err := n.NftRule(testChain, 1); return ok, err },
		"nft.rules": func(n *Namespace) (bool, error) { r, err := n.NftRules(testChain, nil); return r != nil, err },
	}
	for op, look := range lookUps {
		for _, fault := range []error{unix.EBUSY, unix.EPERM, unix.ENOBUFS, unix.EINVAL, nl.ErrDumpInterrupted, unanswered(unix.ENOENT)} {
			if ok, err := look(n.WithFaults(FailNth(op, 1, false, fault))); ok || !errors.Is(err, errors.Unwrap(fault)) && !errors.Is(err, fault) {
				t.Errorf("%s failing with %v: %v, %v", op, fault, ok, err)
			}
		}
		if ok, err := look(n.WithFaults(FailNth(op, 1, false, unix.ENOENT))); ok || err != nil {
			t.Errorf("%s saying ENOENT: %v, %v", op, ok, err)
		}
	}
}

func TestRule8NftKernelWithoutNftables(t *testing.T) {
	t.Parallel()
	invalid := &Error{Errno: unix.EINVAL}
	if err := nftMeaning(invalid, invalid); !Unsupported(err) {
		t.Errorf("EINVAL to all questions: %v", err)
	}
	for _, probe := range []error{nil, &Error{Errno: unix.EPERM}, unanswered(unix.EINVAL)} {
		if err := nftMeaning(invalid, probe); !errors.Is(err, unix.EINVAL) {
			t.Errorf("EINVAL, then %v: %v", probe, err)
		}
	}
	if err := nftNamespace(t).NftSupported(); err != nil {
		t.Errorf("this kernel: %v", err)
	}
}

func TestNftClosedNamespace(t *testing.T) {
	t.Parallel()
	n := nftNamespace(t)
	if _, _, err := n.NftTable(testTable); err != nil {
		t.Fatal(err)
	}
	if err := n.Close(); err != nil {
		t.Fatal(err)
	}
	if _, ok, err := n.NftTable(testTable); ok || err == nil {
		t.Errorf("after Close: %v, %v", ok, err)
	}
}
