package resource

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/fairlead-net/fairlead/attachment"
	"github.com/fairlead-net/fairlead/engine"
	"github.com/fairlead-net/fairlead/kernel"
)

// runIn runs a command in the namespace and gives what it printed.
func runIn(t testing.TB, ns *kernel.Namespace, stdin string, command ...string) string {
	t.Helper()
	var out, errs bytes.Buffer
	err := ns.Do(func() error {
		cmd := exec.Command(command[0], command[1:]...)
		cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &out, &errs
		return cmd.Run()
	})
	if err != nil {
		t.Fatalf("%s: %v: %s", strings.Join(command, " "), err, errs.String())
	}
	return out.String()
}

func nftScript(t testing.TB, ns *kernel.Namespace, script string) {
	t.Helper()
	runIn(t, ns, script, "nft", "-f", "-")
}

// rulesetOf is all that nft knows, as its JSON has it, less handles.
func rulesetOf(t testing.TB, ns *kernel.Namespace) string {
	t.Helper()
	var v struct {
		Nftables []map[string]map[string]any `json:"nftables"`
	}
	if err := json.Unmarshal([]byte(runIn(t, ns, "", "nft", "-j", "list", "ruleset")), &v); err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, object := range v.Nftables {
		for kind, body := range object {
			if kind == "metainfo" {
				continue
			}
			delete(body, "handle")
			b, err := json.Marshal(body)
			if err != nil {
				t.Fatal(err)
			}
			lines = append(lines, kind+" "+string(b))
		}
	}
	return strings.Join(lines, "\n")
}

// legacyOf is what the legacy variant of iptables has.
func legacyOf(t testing.TB, ns *kernel.Namespace) string {
	t.Helper()
	var all string
	for _, save := range []string{"iptables-legacy-save", "ip6tables-legacy-save"} {
		for line := range strings.Lines(runIn(t, ns, "", save)) {
			if strings.HasPrefix(line, "-A") || strings.HasPrefix(line, ":") && strings.Contains(line, " - ") {
				all += line
			}
		}
	}
	return all
}

// programsOf is what nft sees of rules: their steps, and the comments of all.
func programsOf(t testing.TB, ns *kernel.Namespace) string {
	t.Helper()
	var kept strings.Builder
	for line := range strings.Lines(runIn(t, ns, "", "nft", "--debug=netlink", "list", "ruleset")) {
		if words := strings.Fields(line); len(words) > 3 && !strings.HasPrefix(line, " ") && !strings.HasPrefix(line, "\t") && words[0] != "table" {
			line = strings.Join(words[:3], " ") + "\n" // handles follow
		}
		kept.WriteString(line)
	}
	return kept.String()
}

func prefixes(texts ...string) []netip.Prefix {
	var all []netip.Prefix
	for _, s := range texts {
		all = append(all, netip.MustParsePrefix(s))
	}
	return all
}

// remembered is what a process without a journal knows of m.
func remembered(m *Masquerade) *Masquerade {
	return &Masquerade{Network: m.Network, Container: m.Container, IfName: m.IfName, Backend: m.Backend}
}

// opsOf has f make its calls, and tells which they were.
func opsOf(env Env, f func(env Env)) []string {
	var mu sync.Mutex
	var ops []string
	host := env.Host.WithFaults(func(op kernel.Op) error {
		mu.Lock()
		defer mu.Unlock()
		if !op.After {
			ops = append(ops, op.Name)
		}
		return nil
	})
	f(Env{Host: host, Container: env.Container})
	return ops
}

// nftFault is a way in which the n-th call fails.
type nftFault struct {
	name  string
	after bool
	err   error
}

// nftFaults are: refused, or not found out, in each of the ways that have been
// read as "absent" (case 17); and done without an answer.
func nftFaults() []nftFault {
	return []nftFault{
		{"EBUSY", false, unix.EBUSY},
		{"EPERM", false, unix.EPERM},
		{"ENOBUFS", false, unix.ENOBUFS},
		{"interrupted", false, &kernel.Error{Errno: unix.EINTR}},
		{"unanswered", true, &kernel.Error{Errno: unix.ENOBUFS, Unanswered: true}},
	}
}

// failing gives env with one call that fails: the n-th. fired tells whether it
// came to that.
func (f nftFault) failing(env Env, n int) (faulty Env, fired func() bool) {
	var seen atomic.Int64
	host := env.Host.WithFaults(func(op kernel.Op) error {
		if op.After == f.after && seen.Add(1) == int64(n) {
			return f.err
		}
		return nil
	})
	return Env{Host: host, Container: env.Container}, func() bool { return seen.Load() >= int64(n) }
}

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

// backends are the ways in which an attachment's masquerading can be made.
var backends = []string{BackendNftables, BackendIPTables}

func TestMasqueradeLife(t *testing.T) {
	t.Parallel()
	for _, backend := range backends {
		t.Run(backend, func(t *testing.T) {
			t.Parallel()
			ctx := context.Background()
			env := newEnv(t)
			m := iptablesTwin()
			m.Backend = backend
			made(t, env, &MasqueradeTable{})
			before := rulesetOf(t, env.Host)
			for _, again := range []func(m *Masquerade) Resource{
				func(m *Masquerade) Resource { return journaled(t, m) },
				func(m *Masquerade) Resource { return remembered(m) },
			} {
				m := *m
				wantState(t, env, &m, engine.IsAbsent)
				made(t, env, &m)
				wantState(t, env, &m, engine.IsPresent)
				r := again(&m)
				wantState(t, env, r, engine.IsPresent)
				for range 2 {
					noError(t, r.Remove(ctx, env))
					wantState(t, env, r, engine.IsAbsent)
				}
				wantNoChain(t, env)
			}
			if backend == BackendNftables && rulesetOf(t, env.Host) != before {
				t.Errorf("not as before: %s", rulesetOf(t, env.Host))
			}
		})
	}
	m := iptablesTwin()
	m.Backend = "ipfw"
	if err := m.Create(context.Background(), newEnv(t)); err == nil {
		t.Error("a backend that is none was accepted")
	}
}

func TestMasqueradeFaults(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for _, backend := range backends {
		fresh := func() *Masquerade { m := iptablesTwin(); m.Backend = backend; return m }
		// iptables leaves its empty tables behind, so they are there before.
		setUp := func(t *testing.T) (Env, string) {
			env := newEnv(t)
			m := fresh()
			made(t, env, &MasqueradeTable{}, m)
			noError(t, m.Remove(ctx, env))
			return env, rulesetOf(t, env.Host)
		}
		for _, mode := range faultModes {
			t.Run(backend+"/create/"+mode.name, func(t *testing.T) {
				t.Parallel()
				env, before := setUp(t)
				for n := 1; ; n++ {
					m := fresh()
					faulty, fired := failing(env, n, mode.after, mode.err)
					err := m.Create(ctx, faulty)
					if !fired() {
						noError(t, err)
						return
					}
					if err == nil {
						t.Fatalf("call %d failed, and Create says success", n)
					}
					if engine.IsPartial(err) {
						noError(t, journaled(t, m).Remove(ctx, env))
					}
					if diff := cmp.Diff(before, rulesetOf(t, env.Host)); diff != "" {
						t.Fatalf("call %d failed, and left:\n%s", n, diff)
					}
				}
			})
			t.Run(backend+"/remove/"+mode.name, func(t *testing.T) {
				t.Parallel()
				env, before := setUp(t)
				for n := 1; ; n++ {
					m := fresh()
					made(t, env, m)
					if n%2 == 0 {
						m = remembered(m) // fewer calls or more: both kinds are tried at each
					}
					faulty, fired := mode.failing(env, n/2+1)
					err := m.Remove(ctx, faulty)
					if !fired() && n%2 == 1 {
						noError(t, err)
						return
					}
					if err == nil && rulesetOf(t, env.Host) != before {
						t.Fatalf("call %d failed, and Remove says success", n)
					}
					noError(t, m.Remove(ctx, env))
					if diff := cmp.Diff(before, rulesetOf(t, env.Host)); diff != "" {
						t.Fatalf("left:\n%s", diff)
					}
				}
			})
		}
	}
}

// A look-up that fails is never read as absent.
func TestCase17MasqueradeObserveNeverGuesses(t *testing.T) {
	t.Parallel()
	env := newEnv(t)
	m := iptablesTwin()
	for _, made := range []bool{false, true} {
		if made {
			noError(t, m.Create(context.Background(), env))
		}
		for _, r := range []Resource{m, remembered(m), &MasqueradeTable{}} {
			for _, mode := range faultModes {
				for n := 1; ; n++ {
					faulty, fired := failing(env, n, mode.after, mode.err)
					state, err := r.Observe(context.Background(), faulty)
					if !fired() {
						break
					}
					if err == nil {
						t.Errorf("%s, call %d fails with %s: Observe says %v", r.Kind(), n, mode.name, state)
					}
				}
			}
		}
	}
}

func TestMasqueradeDrift(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		script string
		detail string
	}{
		"a rule is gone": {"delete rule inet cni_plugins_masquerade masq_checks handle $v6", "no rule masquerades fd00:1::5/64"},
		"a rule is another": {
			"replace rule inet cni_plugins_masquerade masq_checks handle $v4 ip saddr 10.1.2.3 accept comment \"$owner\"",
			"no rule masquerades 10.1.2.3/24",
		},
		"a rule does more": {
			"replace rule inet cni_plugins_masquerade masq_checks handle $v4 ip saddr 10.1.2.3 ip daddr != 10.1.2.0/24 tcp dport 80 masquerade comment \"$owner\"",
			"no rule masquerades 10.1.2.3/24",
		},
		"a rule too many": {
			"add rule inet cni_plugins_masquerade masq_checks ip saddr 10.1.2.9 masquerade comment \"$owner\"", "not as it was made",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := newEnv(t)
			m := iptablesTwin()
			made(t, env, &MasqueradeTable{}, m)
			nftScript(t, env.Host, strings.NewReplacer(
				"$v4", fmt.Sprint(m.Handles[0]), "$v6", fmt.Sprint(m.Handles[1]), "$owner", m.comment(),
			).Replace(tc.script))
			known := &Masquerade{Network: m.Network, Container: m.Container, IfName: m.IfName, Addresses: m.Addresses}
			if s := observe(t, env, known); s.Is != engine.IsDrifted || !strings.Contains(s.Detail, tc.detail) {
				t.Errorf("%+v, want %q", s, tc.detail)
			}
		})
	}
	t.Run("iptables", func(t *testing.T) {
		t.Parallel()
		env := newEnv(t)
		m := iptablesTwin()
		m.Backend = BackendIPTables
		made(t, env, m)
		runIn(t, env.Host, "", "iptables", "-t", "nat", "-D", natChain(m.Network, m.Container), "1")
		if s := observe(t, env, m); s.Is != engine.IsDrifted || !strings.Contains(s.Detail, "-d 10.1.2.0/24 -j ACCEPT") {
			t.Errorf("%+v", s)
		}
		more := *m
		more.Addresses = append(prefixes("10.1.2.7/24"), m.Addresses...)
		if s := observe(t, env, &more); s.Is != engine.IsDrifted || !strings.Contains(s.Detail, "no rule masquerades 10.1.2.7") {
			t.Errorf("%+v", s)
		}
	})
	t.Run("table", func(t *testing.T) {
		t.Parallel()
		env := newEnv(t)
		made(t, env, &MasqueradeTable{})
		nftScript(t, env.Host, "flush chain inet cni_plugins_masquerade postrouting")
		wantState(t, env, &MasqueradeTable{}, engine.IsDrifted)
		made(t, env, &MasqueradeTable{})
		wantState(t, env, &MasqueradeTable{}, engine.IsPresent)
	})
}

// A late DEL of a container takes no other's rules, though it had the same
// address (case 12's kind).
func TestMasqueradeLateDELLeavesTheNextOwner(t *testing.T) {
	t.Parallel()
	for _, backend := range backends {
		t.Run(backend, func(t *testing.T) {
			t.Parallel()
			env := newEnv(t)
			a, b := iptablesTwin(), iptablesTwin()
			a.Backend, b.Backend, b.Container = backend, backend, "ctr2"
			made(t, env, &MasqueradeTable{}, a)
			old := journaled(t, a)
			noError(t, a.Remove(context.Background(), env))
			made(t, env, b)
			for _, late := range []Resource{old, remembered(a)} {
				noError(t, late.Remove(context.Background(), env))
				wantState(t, env, b, engine.IsPresent)
			}
		})
	}
}

func TestCase27MasqueradeOfTwoInterfaces(t *testing.T) {
	t.Parallel()
	for _, backend := range backends {
		for _, legacy := range []bool{false, true} {
			if legacy && backend == BackendNftables {
				continue
			}
			t.Run(fmt.Sprintf("%s/legacy %v", backend, legacy), func(t *testing.T) {
				t.Parallel()
				env := newEnv(t)
				if legacy {
					// The container's chain is there in that variant, so it is used.
					for _, tool := range []string{"iptables", "ip6tables"} {
						runIn(t, env.Host, "", tool+"-legacy", "-t", "nat", "-w", "30", "-N", "CNI-5145007e2a8415ce07579739")
					}
				}
				eth0, eth1 := iptablesTwin(), iptablesTwin()
				eth1.IfName, eth1.Addresses = "eth1", prefixes("10.7.2.4/24", "fd00:1::6/64")
				eth0.Backend, eth1.Backend = backend, backend
				made(t, env, &MasqueradeTable{}, eth0, eth1)
				wantState(t, env, eth0, engine.IsPresent)
				wantState(t, env, eth1, engine.IsPresent)
				noError(t, remembered(eth1).Remove(context.Background(), env))
				wantState(t, env, eth0, engine.IsPresent)
				wantState(t, env, eth1, engine.IsAbsent)
				noError(t, remembered(eth1).Remove(context.Background(), env))
				wantState(t, env, eth0, engine.IsPresent)
				noError(t, remembered(eth0).Remove(context.Background(), env))
				wantNoChain(t, env)
			})
		}
	}
}

// In the table of another life the handles are others'.
func TestMasqueradeHandlesAreHints(t *testing.T) {
	t.Parallel()
	env := newEnv(t)
	a, b := iptablesTwin(), iptablesTwin()
	b.Container = "ctr2"
	made(t, env, &MasqueradeTable{}, a)
	nftScript(t, env.Host, "flush ruleset")
	made(t, env, b) // which makes the table anew
	if !slices.Equal(a.Handles, b.Handles) {
		t.Fatalf("handles %v and %v: the test tests nothing", a.Handles, b.Handles)
	}
	wantState(t, env, &MasqueradeTable{}, engine.IsPresent)
	wantState(t, env, a, engine.IsAbsent)
	noError(t, a.Remove(context.Background(), env))
	wantState(t, env, b, engine.IsPresent)
	// After a reload of the rule set the rules have other handles.
	dump := runIn(t, env.Host, "", "nft", "list", "ruleset")
	nftScript(t, env.Host, "add table inet x\ntable inet cni_plugins_masquerade {\n}\nflush ruleset\n"+dump)
	wantState(t, env, b, engine.IsPresent)
	noError(t, b.Remove(context.Background(), env))
	wantState(t, env, b, engine.IsAbsent)
}

// DEL's calls do not depend on the others' rules, and no process is forked,
// nor at a second DEL.
func TestRule17MasqueradeFlatCost(t *testing.T) {
	t.Parallel()
	env := newEnv(t)
	made(t, env, &MasqueradeTable{})
	for i := range 50 {
		other := iptablesTwin()
		other.Container = fmt.Sprint("other", i)
		made(t, env, other)
	}
	m := iptablesTwin()
	ops := opsOf(env, func(env Env) { noError(t, m.Create(context.Background(), env)) })
	if want := []string{"nft.commit"}; !slices.Equal(ops, want) {
		t.Errorf("Create makes the calls %v, want %v", ops, want)
	}
	ops = opsOf(env, func(env Env) { noError(t, m.Remove(context.Background(), env)) })
	if want := []string{"nft.rule", "nft.rule", "nft.commit"}; !slices.Equal(ops, want) {
		t.Errorf("Remove makes the calls %v, want %v", ops, want)
	}
	ops = opsOf(env, func(env Env) { noError(t, remembered(m).Remove(context.Background(), env)) })
	want := []string{"nft.rules", "nft.chain", "iptables.chain", "nft.chain", "iptables.chain"}
	if !slices.Equal(ops, want) {
		t.Errorf("a second Remove makes the calls %v, want %v", ops, want)
	}
	ops = opsOf(env, func(env Env) {
		if used, err := (&MasqueradeTable{}).InUse(context.Background(), env); !used || err != nil {
			t.Errorf("InUse: %v, %v", used, err)
		}
	})
	if len(ops) != 4 {
		t.Errorf("InUse makes the calls %v", ops)
	}
}

func TestRule8MasqueradeWithoutNftables(t *testing.T) {
	t.Parallel()
	env := newEnv(t)
	for _, errno := range []unix.Errno{unix.EOPNOTSUPP, unix.EPROTONOSUPPORT, unix.EAFNOSUPPORT} {
		without := Env{Host: env.Host.WithFaults(func(op kernel.Op) error {
			if strings.HasPrefix(op.Name, "nft.") {
				return errno
			}
			return nil
		}), Container: env.Container}
		for _, r := range []Resource{
			iptablesTwin(), remembered(iptablesTwin()), &Masquerade{Handles: []uint64{7}}, &MasqueradeTable{},
			testSpoofCheck(), &SpoofCheckTable{},
		} {
			wantState(t, without, r, engine.IsAbsent)
			noError(t, r.Remove(context.Background(), without))
			if s, ok := r.(engine.Shared[Env]); ok {
				if used, err := s.InUse(context.Background(), without); used || err != nil {
					t.Errorf("%s: in use %v, %v", r.Kind(), used, err)
				}
			}
			if m, ok := r.(*Masquerade); ok && len(m.Handles) > 0 {
				continue // nothing to create
			}
			if m, ok := r.(*Masquerade); ok && m.Addresses == nil {
				continue
			}
			if err := r.Create(context.Background(), without); !kernel.Unsupported(err) {
				t.Errorf("%s: Create: %v", r.Kind(), err)
			}
		}
		if _, _, err := iptablesTwin().Sweep(context.Background(), without, "mynet", nil); err != nil {
			t.Errorf("Sweep: %v", err)
		}
		if err := iptablesTwin().Ready(context.Background(), without); !kernel.Unsupported(err) {
			t.Errorf("Ready: %v", err)
		}
	}
	noError(t, iptablesTwin().Ready(context.Background(), env))
	noError(t, (&Masquerade{Backend: BackendIPTables}).Ready(context.Background(), env))
}

func TestMasqueradeTableIsSharedWithOthers(t *testing.T) {
	t.Parallel()
	table := &MasqueradeTable{}
	for name, tc := range map[string]struct {
		script string
		used   bool
	}{
		"as made":                 {"", false},
		"another's rule":          {"add rule inet cni_plugins_masquerade masq_checks accept", true},
		"another chain":           {"add chain inet cni_plugins_masquerade mine", true},
		"a set":                   {"add set inet cni_plugins_masquerade s { type ipv4_addr; }", true},
		"a rule in the base":      {"add rule inet cni_plugins_masquerade postrouting accept", true},
		"another way to the base": {"add chain inet cni_plugins_masquerade a\nadd rule inet cni_plugins_masquerade a goto masq_checks", true},
		"asleep":                  {"add table inet cni_plugins_masquerade { flags dormant; }", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := context.Background()
			env := newEnv(t)
			if used, err := table.InUse(ctx, env); used || err != nil {
				t.Errorf("in use before it is made: %v, %v", used, err)
			}
			made(t, env, table)
			nftScript(t, env.Host, tc.script)
			before := rulesetOf(t, env.Host)
			if used, err := table.InUse(ctx, env); used != tc.used || err != nil {
				t.Errorf("in use: %v, %v", used, err)
			}
			noError(t, table.Remove(ctx, env))
			if tc.used {
				if after := rulesetOf(t, env.Host); after != before {
					t.Errorf("something was removed: %s", cmp.Diff(before, after))
				}
				return
			}
			wantState(t, env, table, engine.IsAbsent)
			noError(t, table.Remove(ctx, env))
		})
	}
}

// Many at once, with the table coming and going under them without any lock, as
// when the reference is at work too.
func TestMasqueradeManyAtOnce(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	env := newEnv(t)
	stop := make(chan struct{})
	var remover, all sync.WaitGroup
	remover.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				if err := (&MasqueradeTable{}).Remove(ctx, env); err != nil {
					t.Error(err)
				}
			}
		}
	})
	for i := range 32 {
		all.Go(func() {
			ns, _, err := kernel.Open(env.Host.Path())
			if err != nil {
				t.Error(err)
				return
			}
			defer ns.Close()
			env := Env{Host: ns, Container: env.Container}
			for round := range 3 {
				m := iptablesTwin()
				m.Container = fmt.Sprintf("c%d-%d", i, round)
				if err := m.Create(ctx, env); err != nil {
					t.Errorf("create: %v", err)
				}
				if s, err := m.Observe(ctx, env); err != nil || s.Is != engine.IsPresent {
					t.Errorf("%v, %v after Create", s, err)
				}
				if round%2 == 0 {
					m = remembered(m)
				}
				if err := m.Remove(ctx, env); err != nil {
					t.Errorf("remove: %v", err)
				}
			}
		})
	}
	all.Wait()
	close(stop)
	remover.Wait()
	noError(t, (&MasqueradeTable{}).Remove(ctx, env))
	if rest := rulesetOf(t, env.Host); rest != "" {
		t.Errorf("left: %s", rest)
	}
}

func TestMasqueradeSweep(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for _, backend := range backends {
		t.Run(backend, func(t *testing.T) {
			t.Parallel()
			env := newEnv(t)
			made(t, env, &MasqueradeTable{})
			attach := func(network, container, ifName, addr string) *Masquerade {
				m := NewMasquerade(attachment.ID{Network: network, Container: container, IfName: ifName}, prefixes(addr)...)
				m.Backend = backend
				made(t, env, m)
				return m
			}
			long := strings.Repeat("f", 64)
			valid := attach("a-longer-name", "keep", "eth0", "10.0.0.1/24")
			validLong := attach("a-longer-name", long, "eth0", "10.0.0.2/24")
			stale := attach("a-longer-name", "keep", "eth1", "10.0.0.3/24")
			staleLong := attach("a-longer-name", long, "eth1", "10.0.0.4/24")
			foreign := attach("another", "stale", "eth0", "10.0.0.5/24")
			ids := []attachment.ID{{Container: "keep", IfName: "eth0"}, {Container: long, IfName: "eth0"}}

			removed, kept, err := SweepMasquerade(ctx, env, "a-longer-name", ids, false)
			if len(removed) != 0 || len(kept) != 2 || err != nil {
				t.Errorf("without force: removed %q, kept %q, %v", removed, kept, err)
			}
			keep := func(container, ifName string) bool { return container == "keep" && ifName == "eth0" }
			removed, kept, err = stale.Sweep(ctx, env, "a-longer-name", keep)
			// What is cut in nftables' comments is whole in iptables'.
			wantKept := map[string]int{BackendNftables: 2, BackendIPTables: 0}[backend]
			if len(removed) != 3-wantKept || len(kept) != wantKept || err != nil {
				t.Errorf("by name: removed %q, kept %q, %v", removed, kept, err)
			}
			wantState(t, env, stale, engine.IsAbsent)
			wantState(t, env, valid, engine.IsPresent)
			if backend == BackendIPTables {
				made(t, env, validLong, staleLong)
			}
			removed, kept, err = SweepMasquerade(ctx, env, "a-longer-name", ids, true)
			if len(removed) != 1 || len(kept) != 0 || err != nil {
				t.Errorf("with force: removed %q, kept %q, %v", removed, kept, err)
			}
			for _, m := range []*Masquerade{valid, validLong, foreign} {
				wantState(t, env, m, engine.IsPresent)
			}
			wantState(t, env, staleLong, engine.IsAbsent)
		})
	}
	t.Run("the reference's, by iptables", func(t *testing.T) {
		t.Parallel()
		for _, variant := range []string{"nft", "legacy"} {
			env := newEnv(t)
			referenceIPTables(t, env.Host, variant)
			ids := []attachment.ID{{Container: "ctr1", IfName: "eth7"}} // which interface, it does not say
			removed, kept, err := SweepMasquerade(ctx, env, "mynet", ids, true)
			if len(removed)+len(kept) != 0 || err != nil {
				t.Errorf("%s: removed %q, kept %q, %v", variant, removed, kept, err)
			}
			removed, kept, err = SweepMasquerade(ctx, env, "mynet", nil, true)
			if len(removed) != 2 || len(kept) != 0 || err != nil {
				t.Errorf("%s: removed %q, kept %q, %v", variant, removed, kept, err)
			}
			wantNoChain(t, env)
		}
	})
}

// Whatever comes and goes beside it, in whatever order: an attachment's
// masquerading is there from its Create to its Remove.
func TestMasqueradeNeverDisturbsAnother(t *testing.T) {
	t.Parallel()
	t.Run(BackendNftables, func(t *testing.T) {
		t.Parallel()
		env := newEnv(t)
		rapid.Check(t, func(rt *rapid.T) {
			draw := func(n int) int { return rapid.IntRange(0, n-1).Draw(rt, "choice") }
			if err := comeAndGo(env, BackendNftables, 1+draw(30), draw); err != nil {
				rt.Fatal(err)
			}
		})
	})
	t.Run(BackendIPTables, func(t *testing.T) { // fewer: each step forks
		t.Parallel()
		env := newEnv(t)
		for seed := range uint64(3) {
			if err := comeAndGo(env, BackendIPTables, 12, rand.New(rand.NewPCG(seed, 0)).IntN); err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
		}
	})
}

// comeAndGo adds and removes attachments, few enough that their names and
// addresses meet, and looks at all that live after each step.
func comeAndGo(env Env, backend string, steps int, draw func(n int) int) error {
	ctx := context.Background()
	live := map[int]*Masquerade{}
	for range steps {
		which := draw(6)
		m := live[which]
		forget := draw(2) == 0
		switch {
		case m != nil:
			if err := removeAndLook(ctx, env, m, forget); err != nil {
				return err
			}
			delete(live, which)
		default:
			id := attachment.ID{Network: "n", Container: fmt.Sprint("c", which/2), IfName: fmt.Sprint("eth", which%2)}
			// Two interfaces of one container have each an address of its own.
			m = NewMasquerade(id, prefixes(fmt.Sprintf("10.0.0.%d/24", 1+2*draw(2)+which%2))...)
			m.Backend = backend
			if forget { // a late DEL
				if err := remembered(m).Remove(ctx, env); err != nil {
					return err
				}
				break
			}
			if err := m.Create(ctx, env); err != nil {
				return err
			}
			live[which] = m
		}
		for _, m := range live {
			if s, err := m.Observe(ctx, env); err != nil || s.Is != engine.IsPresent {
				return fmt.Errorf("%s: %v, %w", m.Key(), s, err)
			}
		}
	}
	for _, m := range live {
		if err := removeAndLook(ctx, env, m, true); err != nil {
			return err
		}
	}
	return nil
}

func removeAndLook(ctx context.Context, env Env, m *Masquerade, forget bool) error {
	if forget {
		m = remembered(m)
	}
	if err := m.Remove(ctx, env); err != nil {
		return err
	}
	if s, err := m.Observe(ctx, env); err != nil || s.Is != engine.IsAbsent {
		return fmt.Errorf("%s after Remove: %v, %w", m.Key(), s, err)
	}
	return nil
}

func BenchmarkMasquerade(b *testing.B) {
	ctx := context.Background()
	for _, others := range []int{0, 100, 1000} {
		host, err := kernel.Create("")
		if err != nil {
			b.Fatal(err)
		}
		env := Env{Host: host}
		run := func(err error) {
			b.Helper()
			if err != nil {
				b.Fatal(err)
			}
		}
		run((&MasqueradeTable{}).Create(ctx, env))
		for i := range others {
			m := iptablesTwin()
			m.Container = fmt.Sprint("other", i)
			run(m.Create(ctx, env))
		}
		b.Run(fmt.Sprintf("others=%d/ADD", others), func(b *testing.B) {
			for b.Loop() {
				m := iptablesTwin()
				run((&MasqueradeTable{}).Create(ctx, env))
				run(m.Create(ctx, env))
				b.StopTimer()
				run(m.Remove(ctx, env))
				b.StartTimer()
			}
		})
		b.Run(fmt.Sprintf("others=%d/DEL", others), func(b *testing.B) {
			for b.Loop() {
				b.StopTimer()
				m := iptablesTwin()
				run(m.Create(ctx, env))
				b.StartTimer()
				run(m.Remove(ctx, env))
				_, err := (&MasqueradeTable{}).InUse(ctx, env)
				run(err)
			}
		})
		b.Run(fmt.Sprintf("others=%d/second DEL", others), func(b *testing.B) {
			for b.Loop() {
				run(remembered(iptablesTwin()).Remove(ctx, env))
			}
		})
		run(host.Close())
	}
}
