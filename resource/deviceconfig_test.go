package resource

import (
	"context"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"golang.org/x/sys/unix"

	"github.com/fairlead-net/fairlead/engine"
	"github.com/fairlead-net/fairlead/kernel"
)

func TestDeviceConfig(t *testing.T) {
	t.Parallel()
	env := newEnv(t)
	withDevice(t, env)
	set(t, env.Host, "switch0", kernel.LinkChange{Up: ptr(true)})
	p := netip.MustParsePrefix
	for _, a := range []kernel.Address{
		{Prefix: p("192.0.2.5/24")}, {Prefix: p("192.0.2.6/24")}, {Prefix: p("2001:db8::5/64"), NoDAD: true},
		{Prefix: p("169.254.7.7/16"), Scope: kernel.ScopeLink},
		{Prefix: p("2001:db8:1::5/64"), NoDAD: true, ValidLft: 3600, PreferredLft: 3600},
	} {
		a.Link = deviceIndex
		noError(t, env.Host.AddAddress(a))
	}
	gw, gw6 := netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("2001:db8::1")
	for _, r := range []kernel.Route{
		{Dst: p("0.0.0.0/0"), Gateway: gw, Metric: 50},
		{Dst: p("198.51.100.0/24"), Table: 100},
		{Dst: p("0.0.0.0/0"), Gateway: gw, Table: 100},
		{Dst: p("::/0"), Gateway: gw6},
		{Dst: p("2001:db8:9::/64"), Gateway: gw6, Protocol: unix.RTPROT_RA},
	} {
		r.Link = deviceIndex
		noError(t, env.Host.AddRoute(r))
	}
	for _, r := range []kernel.Rule{
		{From: p("192.0.2.5/32"), Table: 100}, {From: p("192.0.2.4/30"), Table: 100},
		{From: p("203.0.113.0/24"), Table: 100}, {From: p("192.0.2.5/32"), Table: 101},
	} {
		noError(t, env.Host.AddRule(r))
	}
	found, err := FindDevice{Wanted: DeviceSelector{Name: "ens5"}, Config: true}.Find(context.Background(), env)
	noError(t, err)
	link := uint8(kernel.ScopeLink)
	universe := uint8(kernel.ScopeUniverse)
	want := &DeviceConfig{
		Addresses: []netip.Prefix{p("192.0.2.5/24"), p("192.0.2.6/24"), p("2001:db8::5/64")},
		Routes: []*Route{
			{Dst: p("198.51.100.0/24"), Table: 100, Scope: &link},
			{Dst: p("0.0.0.0/0"), Gateway: gw, Priority: 50, Scope: &universe},
			{Dst: p("0.0.0.0/0"), Gateway: gw, Table: 100, Scope: &universe},
			{Dst: p("::/0"), Gateway: gw6},
		},
		Rules: []CarriedRule{
			{Priority: 32764, From: p("192.0.2.4/30"), Table: 100, Action: kernel.RuleToTable},
			{Priority: 32765, From: p("192.0.2.5/32"), Table: 100, Action: kernel.RuleToTable},
		},
	}
	diff := cmp.Diff(want, found.(HostDevice).Config, cmpopts.IgnoreFields(Route{}, "N"),
		cmp.Comparer(func(a, b netip.Prefix) bool { return a == b }), cmp.Comparer(func(a, b netip.Addr) bool { return a == b }),
		cmpopts.EquateEmpty(),
		cmpopts.SortSlices(func(a, b *Route) bool {
			return a.Dst.String()+string(rune(a.Table)) < b.Dst.String()+string(rune(b.Table))
		}))
	if diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestDeviceRulesAreCarriedAsTheyAre: which of several rules decides is a matter
// of their priorities, and of all that they ask for.
func TestDeviceRulesAreCarriedAsTheyAre(t *testing.T) {
	t.Parallel()
	env := newEnv(t)
	withDevice(t, env)
	withVeth(t, env)
	p := netip.MustParsePrefix
	for _, a := range []string{"192.0.2.5/24", "2001:db8::5/64"} {
		noError(t, env.Host.AddAddress(kernel.Address{Prefix: p(a), Link: deviceIndex, NoDAD: true}))
	}
	set(t, env.Host, "ens5", kernel.LinkChange{Up: ptr(true)})
	for _, dst := range []string{"198.51.100.0/24", "2001:db8:9::/64"} {
		for _, table := range []uint32{0, 100, 101, 102} {
			noError(t, env.Host.AddRoute(kernel.Route{Dst: p(dst), Table: table, Link: deviceIndex}))
		}
	}
	carried := []string{
		"pref 10000 from 192.0.2.5 to 10.99.0.0/16 lookup 102",
		"pref 20000 from 192.0.2.5 fwmark 7 lookup 101",
		"pref 20001 from 192.0.2.5 fwmark 0x8/0xff lookup 101",
		"pref 30000 from 192.0.2.0/24 lookup 100",
		"pref 0 from 192.0.2.5 lookup 101",
		"pref 5 from 192.0.2.5 to 10.98.0.0/16 lookup main",
		"pref 6 from 192.0.2.5 to 10.97.0.0/16 prohibit",
		"pref 7 from 192.0.2.5 to 10.96.0.0/16 blackhole",
		"pref 8 from 192.0.2.5 to 10.95.0.0/16 unreachable",
		"pref 9 not from 192.0.2.5 fwmark 9 lookup 100",
		"pref 10 from 192.0.2.5 tos 0x10 lookup 100",
		"pref 11 from 192.0.2.5 iif lo lookup 100",
		"pref 12 from 192.0.2.5 oif DEVICE lookup 100",
		"pref 13 from 192.0.2.5 ipproto tcp sport 1000-2000 dport 22 lookup 100",
		"pref 14 from 192.0.2.5 uidrange 1000-1001 lookup 100",
		"pref 15 from 192.0.2.5 lookup main suppress_prefixlength 0",
		"pref 16 from 192.0.2.5 lookup 100 suppress_ifgroup 5",
		"pref 17 from 192.0.2.5 lookup 100",
		"pref 17 from 192.0.2.5 lookup 101",
		"pref 18 from 2001:db8::5 lookup 100",
		"pref 18 from 2001:db8::/32 to 2001:db8:7::/64 fwmark 1 lookup 101",
	}
	not := []string{
		"pref 100 from 203.0.113.0/24 lookup 100", "pref 101 from 192.0.2.5 lookup 200", "pref 102 from 192.0.2.5 oif switch0 lookup 100",
		"pref 103 fwmark 7 lookup 100", "pref 104 from 192.0.2.5 iif elsewhere lookup 100", "pref 105 from 192.0.2.5 nop",
	}
	before := ipRules(t, env.Container)
	for _, r := range append(carried[:len(carried):len(carried)], not...) {
		family := "-4"
		if strings.Contains(r, "::") {
			family = "-6"
		}
		runIn(t, env.Host, "", append([]string{"ip", family, "rule", "add"}, strings.Fields(strings.ReplaceAll(r, "DEVICE", "ens5"))...)...)
	}
	found, err := FindDevice{Wanted: DeviceSelector{Name: "ens5"}, Config: true}.Find(context.Background(), env)
	noError(t, err)
	s := &SourceRules{On: On{Side: Container, Link: "eth0", In: Sandbox}, Carried: found.(HostDevice).Config.Rules}
	s = journaled(t, s).(*SourceRules)
	made(t, env, s)
	want := ipRules(t, env.Host)
	for _, r := range not {
		n := strings.Fields(r)[1]
		want = slices.DeleteFunc(want, func(line string) bool { return strings.HasPrefix(line, n+":") })
	}
	for i := range want {
		want[i] = strings.ReplaceAll(want[i], "ens5", "eth0")
	}
	got := ipRules(t, env.Container)
	for i := range got {
		got[i] = strings.TrimSuffix(got[i], " proto 102")
	}
	if diff := cmp.Diff(want, got); diff != "" || len(got) != len(before)+len(carried) {
		t.Errorf("%d rules of %d (-want +got):\n%s", len(got), len(carried), diff)
	}
	if err := s.Create(context.Background(), env); !engine.IsConflict(err) {
		t.Errorf("made twice: %v", err)
	}
	noError(t, s.Remove(context.Background(), env))
	noError(t, s.Remove(context.Background(), env))
	if diff := cmp.Diff(before, ipRules(t, env.Container)); diff != "" {
		t.Errorf("left (-want +got):\n%s", diff)
	}
}

// A rule that can't be carried is an error, before anything is changed.
func TestDeviceRuleThatCannotBeCarried(t *testing.T) {
	t.Parallel()
	env := newEnv(t)
	withDevice(t, env)
	noError(t, env.Host.AddAddress(kernel.Address{Prefix: netip.MustParsePrefix("192.0.2.5/24"), Link: deviceIndex}))
	runIn(t, env.Host, "", "ip", "rule", "add", "pref", "5", "from", "192.0.2.5", "goto", "32766")
	_, err := FindDevice{Wanted: DeviceSelector{Name: "ens5"}, Config: true}.Find(context.Background(), env)
	if err == nil || !strings.Contains(err.Error(), "5: from 192.0.2.5/32") {
		t.Errorf("%v", err)
	}
}

// ipRules are the rules of both families as ip says them.
func ipRules(t *testing.T, ns *kernel.Namespace) []string {
	t.Helper()
	var lines []string
	for _, family := range []string{"-4", "-6"} {
		for line := range strings.Lines(runIn(t, ns, "", "ip", family, "rule", "show")) {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	return lines
}
