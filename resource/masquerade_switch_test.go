package resource

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-net/fairlead/attachment"
	"github.com/fairlead-net/fairlead/engine"
	"github.com/fairlead-net/fairlead/kernel"
)

const referenceMasquerade = `
table inet cni_plugins_masquerade {
	comment "Masquerading for plugins from github.com/containernetworking/plugins"
	chain masq_checks {
		comment "Masquerade traffic from certain IPs to any (non-multicast) IP outside their subnet"
		ip saddr 10.1.2.3 ip daddr != 10.1.2.0/24 masquerade comment "d23676b4f2d9fe04-508af7b3b68a2aed, net: mynet, if: eth0, id: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
		ip6 saddr fd00:1::5 ip6 daddr != fd00:1::/64 masquerade comment "d23676b4f2d9fe04-508af7b3b68a2aed, net: mynet, if: eth0, id: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
		ip saddr 10.9.0.7 ip daddr != 10.9.0.0/22 masquerade comment "d23676b4f2d9fe04-508af7b3b68a2aed, net: mynet, if: eth0, id: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
		ip saddr 10.8.0.1 ip daddr != 10.8.0.1 masquerade comment "d23676b4f2d9fe04-508af7b3b68a2aed, net: mynet, if: eth0, id: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
	}
	chain postrouting {
		type nat hook postrouting priority srcnat; policy accept;
		ip daddr 224.0.0.0/4 return
		ip6 daddr ff00::/8 return
		goto masq_checks
	}
}
`

func referenceTwin() *Masquerade {
	return &Masquerade{
		Network: "mynet", Container: strings.Repeat("a", 64), IfName: "eth0",
		Addresses: prefixes("10.1.2.3/24", "fd00:1::5/64", "10.9.0.7/22", "10.8.0.1/32"),
	}
}

func TestRule13MasqueradeIsWhatTheReferenceWrites(t *testing.T) {
	t.Parallel()
	ours, theirs := newEnv(t), newEnv(t)
	nftScript(t, theirs.Host, referenceMasquerade)
	made(t, ours, &MasqueradeTable{}, referenceTwin())
	if diff := cmp.Diff(rulesetOf(t, theirs.Host), rulesetOf(t, ours.Host)); diff != "" {
		t.Errorf("(-theirs +ours):\n%s", diff)
	}
	if diff := cmp.Diff(programsOf(t, theirs.Host), programsOf(t, ours.Host)); diff != "" {
		t.Errorf("comments and programs (-theirs +ours):\n%s", diff)
	}
	// A comment that would be too long is cut, as the reference does.
	long := &Masquerade{Network: "a-network-of-a-name", Container: strings.Repeat("b", 64), IfName: "eth0"}
	want := "7d87805da60f1aea-afdb53d38af0dcc6, net: a-network-of-a-name"
	if c := long.comment(); len(c) != 128 || !strings.HasPrefix(c, want) || !strings.HasSuffix(c, ", id: "+strings.Repeat("b", 53)) {
		t.Errorf("comment %q of %d bytes", c, len(c))
	}
}

func TestRule13MasqueradeOfTheReferenceIsRemoved(t *testing.T) {
	t.Parallel()
	env := newEnv(t)
	m := referenceTwin()
	nftScript(t, env.Host, referenceMasquerade)
	wantState(t, env, m, engine.IsPresent)
	wantState(t, env, &MasqueradeTable{}, engine.IsPresent)
	made(t, env, &MasqueradeTable{}) // as it is
	noError(t, remembered(m).Remove(context.Background(), env))
	wantState(t, env, m, engine.IsAbsent)
	noError(t, (&MasqueradeTable{}).Remove(context.Background(), env))
	if rest := rulesetOf(t, env.Host); rest != "" {
		t.Errorf("left: %s", rest)
	}
}

// The reference finds rules by the head of their comments in nft's JSON.
func TestRule13MasqueradeIsFoundByTheReference(t *testing.T) {
	t.Parallel()
	env := newEnv(t)
	m := referenceTwin()
	other := NewMasquerade(attachment.ID{Network: "mynet", Container: "other", IfName: "eth0"}, prefixes("10.1.2.4/24")...)
	made(t, env, &MasqueradeTable{}, m, other)
	var v struct {
		Nftables []struct {
			Rule struct {
				Handle  int    `json:"handle"`
				Comment string `json:"comment"`
			} `json:"rule"`
		} `json:"nftables"`
	}
	out := runIn(t, env.Host, "", "nft", "-j", "list", "chain", "inet", "cni_plugins_masquerade", "masq_checks")
	noError(t, json.Unmarshal([]byte(out), &v))
	script := ""
	for _, o := range v.Nftables {
		if strings.HasPrefix(o.Rule.Comment, "d23676b4f2d9fe04-508af7b3b68a2aed") {
			script += fmt.Sprintf("delete rule inet cni_plugins_masquerade masq_checks handle %d\n", o.Rule.Handle)
		}
	}
	nftScript(t, env.Host, script)
	wantState(t, env, m, engine.IsAbsent)
	wantState(t, env, other, engine.IsPresent)
}

// restoreLines are the rules that the reference makes with iptables for the
// container ctr1 on mynet.
func referenceIPTables(t *testing.T, ns *kernel.Namespace, variant string) {
	t.Helper()
	for _, tc := range []struct{ tool, addr, network, multicast string }{
		{"iptables", "10.1.2.3", "10.1.2.3/24", "224.0.0.0/4"},
		{"ip6tables", "fd00:1::5", "fd00:1::5/64", "ff00::/8"},
	} {
		const chain, comment = "CNI-5145007e2a8415ce07579739", `-m comment --comment "name: \"mynet\" id: \"ctr1\""`
		runIn(t, ns, strings.Join([]string{
			"*nat", ":" + chain + " - [0:0]",
			"-A " + chain + " -d " + tc.network + " -j ACCEPT " + comment,
			"-A " + chain + " ! -d " + tc.multicast + " -j MASQUERADE " + comment,
			"-A POSTROUTING -s " + tc.addr + " -j " + chain + " " + comment, "COMMIT", "",
		}, "\n"), tc.tool+"-"+variant+"-restore", "--noflush", "-w", "30")
	}
}

func iptablesTwin() *Masquerade {
	return &Masquerade{Network: "mynet", Container: "ctr1", IfName: "eth0", Addresses: prefixes("10.1.2.3/24", "fd00:1::5/64")}
}

func TestRule13MasqueradeByIPTablesIsRemoved(t *testing.T) {
	t.Parallel()
	for _, variant := range []string{"nft", "legacy"} {
		for _, known := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/addresses known %v", variant, known), func(t *testing.T) {
				t.Parallel()
				env := newEnv(t)
				m := iptablesTwin()
				wantState(t, env, m, engine.IsAbsent)
				referenceIPTables(t, env.Host, variant)
				wantState(t, env, m, engine.IsPresent)
				if !known {
					m = remembered(m)
					wantState(t, env, m, engine.IsPresent)
				}
				noError(t, m.Remove(context.Background(), env))
				wantState(t, env, m, engine.IsAbsent)
				wantNoChain(t, env)
				noError(t, m.Remove(context.Background(), env))
			})
		}
	}
}

func wantNoChain(t *testing.T, env Env) {
	t.Helper()
	if left := rulesetOf(t, env.Host) + legacyOf(t, env.Host); strings.Contains(left, "CNI-") {
		t.Errorf("left: %s", left)
	}
}

// Both backends write what is not there, and nothing else.
func TestMasqueradeByIPTablesIsWhatTheReferenceWrites(t *testing.T) {
	t.Parallel()
	ours, theirs := newEnv(t), newEnv(t)
	referenceIPTables(t, theirs.Host, "nft")
	m := iptablesTwin()
	m.Backend = BackendIPTables
	made(t, ours, m)
	for _, save := range []string{"iptables-save", "ip6tables-save"} {
		rules := func(env Env) []string {
			var lines []string
			for line := range strings.Lines(runIn(t, env.Host, "", save)) {
				// The mark is ours alone.
				if strings.HasPrefix(line, "-A") && !strings.Contains(line, m.owner()) {
					lines = append(lines, line)
				}
			}
			return lines
		}
		if diff := cmp.Diff(rules(theirs), rules(ours)); diff != "" {
			t.Errorf("%s (-theirs +ours):\n%s", save, diff)
		}
	}
	// What the reference's DEL does, by its very words.
	for tool, addr := range map[string]string{"iptables": "10.1.2.3", "ip6tables": "fd00:1::5"} {
		const chain = "CNI-5145007e2a8415ce07579739"
		runIn(t, ours.Host, "", tool, "-t", "nat", "-D", "POSTROUTING", "-s", addr, "-j", chain,
			"-m", "comment", "--comment", `name: "mynet" id: "ctr1"`)
		runIn(t, ours.Host, "", tool, "-t", "nat", "-F", chain)
		runIn(t, ours.Host, "", tool, "-t", "nat", "-X", chain)
	}
	wantState(t, ours, m, engine.IsAbsent)
	wantNoChain(t, ours)
}
