package resource

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/fairlead-net/fairlead/engine"
	"github.com/fairlead-net/fairlead/kernel"
)

// withRoutes has eth0 addressed, with a default route of each family, and a
// route to another network.
func withRoutes(t *testing.T, env Env) {
	t.Helper()
	withAddresses(t, env)
	more := []*Route{testRoute("0.0.0.0/0", "10.1.0.1"), testRoute("10.9.0.0/16", "10.1.0.7"), testRoute("::/0", "fd00::1")}
	for n, r := range more {
		r.N = n
		made(t, env, r)
	}
}

// withOther has another interface of the container, net1, with an address and
// a table.
func withOther(t *testing.T, env Env, address string, table uint32) kernel.Link {
	t.Helper()
	return withLink(t, env, "net1", address, table)
}

func withLink(t *testing.T, env Env, name, address string, table uint32) kernel.Link {
	t.Helper()
	noError(t, env.Container.AddLink(kernel.LinkSpec{Name: name, Kind: kernel.BridgeKind{}, Up: true}))
	l := link(t, env.Container, name)
	noError(t, env.Container.AddAddress(kernel.Address{Link: l.Index, Prefix: netip.MustParsePrefix(address)}))
	if table != 0 {
		noError(t, env.Container.AddRoute(kernel.Route{Dst: netip.MustParsePrefix("0.0.0.0/0"), Link: l.Index, Table: table}))
	}
	return l
}

func found(t *testing.T, env Env, tables int) SourceRouting {
	t.Helper()
	got, err := FindSourceRouting{Link: "eth0", Tables: tables}.Look(env)
	noError(t, err)
	return got
}

func TestFindSourceRouting(t *testing.T) {
	t.Parallel()
	env := newEnv(t)
	withRoutes(t, env)
	withOther(t, env, "10.2.0.5/16", 101)
	noError(t, env.Container.AddRule(kernel.Rule{Family: unix.AF_INET6, Priority: 7, Table: 103}))
	got := found(t, env, 3)
	if diff := cmp.Diff([]uint32{100, 102, 104}, got.Tables); diff != "" {
		t.Error(diff)
	}
	var routes []string
	for _, r := range got.Routes {
		routes = append(routes, fmt.Sprint(r, r.Source, r.Protocol))
	}
	want := []string{
		"the route to 10.1.0.0/16 10.1.0.5 2", "the route to fd00::/64 invalid IP 2",
		"the route to 0.0.0.0/0 via 10.1.0.1 invalid IP 0", "the route to 10.9.0.0/16 via 10.1.0.7 invalid IP 0",
		"the route to ::/0 via fd00::1 invalid IP 0",
	}
	if diff := cmp.Diff(want, routes); diff != "" {
		t.Error(diff)
	}
	for n, fired := 1, true; fired; n++ {
		faulty, has := faultModes[0].failing(env, n)
		_, err := FindSourceRouting{Link: "eth0", Tables: 1}.Find(context.Background(), faulty)
		if fired = has(); fired && err == nil {
			t.Errorf("call %d failed, and the fact is found", n)
		}
	}
	if _, err := (FindSourceRouting{Link: "eth9"}).Look(env); err == nil {
		t.Error("no error without the link")
	}
	f := FindSourceRouting{}
	if f.Lock() == "" || f.Lock() != (VRFTable{}).Lock() || f.Within() != Sandbox {
		t.Error("who chooses a VRF's table is not kept out")
	}
}

// Two networks' IPv6 routes become one route with two ways.
func TestFindSourceRoutingOfOneWayAmongTwo(t *testing.T) {
	t.Parallel()
	env := newEnv(t)
	withRoutes(t, env)
	other := withOther(t, env, "fd01::5/64", 0)
	noError(t, env.Container.AddRouteBeside(kernel.Route{
		Dst: netip.MustParsePrefix("::/0"), Gateway: netip.MustParseAddr("fd01::1"), Link: other.Index,
	}))
	var ways []string
	for _, r := range found(t, env, 1).Routes {
		if r.Dst == netip.MustParsePrefix("::/0") {
			ways = append(ways, r.String())
		}
	}
	if !slices.Equal(ways, []string{"the route to ::/0 via fd00::1"}) {
		t.Errorf("%q", ways)
	}
}

// testSourceRoutes has both families of withRoutes in tables 100 and 101.
func testSourceRoutes() *SourceRoutes {
	at := func(dst, gateway, source string) SourceRoute {
		r := SourceRoute{Dst: netip.MustParsePrefix(dst)}
		if gateway != "" {
			r.Gateway = netip.MustParseAddr(gateway)
		}
		if source != "" {
			r.Source = netip.MustParseAddr(source)
		}
		return r
	}
	four := at("10.1.0.0/16", "", "10.1.0.5")
	four.Protocol = unix.RTPROT_KERNEL
	six := at("fd00::/64", "", "")
	six.Protocol, six.Priority = unix.RTPROT_KERNEL, 256
	return &SourceRoutes{
		On: On{Side: Container, Link: "eth0", In: Sandbox},
		Tables: []SourceTable{
			{100, []SourceRoute{four, at("0.0.0.0/0", "10.1.0.1", ""), at("10.9.0.0/16", "10.1.0.7", "")}},
			{101, []SourceRoute{six, at("::/0", "fd00::1", "")}},
		},
		Moved: []SourceRoute{
			at("0.0.0.0/0", "10.1.0.1", ""), at("10.9.0.0/16", "10.1.0.7", ""), at("::/0", "fd00::1", ""), four, six,
		},
		Hints: []SourceRoute{at("10.1.0.0/16", "", "10.1.0.5")},
	}
}

func TestSourceRoutes(t *testing.T) {
	t.Parallel()
	testKind(t, kindTest{
		setup: withRoutes, fresh: func() Resource { return testSourceRoutes() }, gone: engine.IsDrifted,
	})
}

func TestSourceRoutesDrift(t *testing.T) {
	t.Parallel()
	env := newEnv(t)
	withRoutes(t, env)
	s := testSourceRoutes()
	made(t, env, s)
	wantState(t, env, journaled(t, s), engine.IsPresent)
	index := link(t, env.Container, "eth0").Index
	del := func(table uint32, r SourceRoute, want string) {
		t.Helper()
		_, err := env.Container.DelRoute(r.entry(index, table))
		noError(t, err)
		if state := observe(t, env, s); state.Is != engine.IsDrifted || state.Detail != want {
			t.Errorf("%+v, want %s", state, want)
		}
		noError(t, env.Container.AddRoute(r.route(index, table)))
		wantState(t, env, s, engine.IsPresent)
	}
	del(100, s.Tables[0].Routes[1], "the route to 0.0.0.0/0 via 10.1.0.1 is missing in table 100")
	del(101, s.Tables[1].Routes[0], "the route to fd00::/64 is missing in table 101")
	del(kernel.MainTable, s.Hints[0], "the route to 10.1.0.0/16 is missing in the main table")
}

// What stands in the way of the first route leaves everything as it was; what
// does later is undone.
func TestSourceRoutesInTheWay(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	env := newEnv(t)
	withRoutes(t, env)
	other := withOther(t, env, "10.2.0.5/16", 101)
	noError(t, env.Container.AddRoute(kernel.Route{Dst: netip.MustParsePrefix("fd00::/64"), Link: other.Index, Metric: 256, Table: 101}))
	before := picture(t, env)
	s := testSourceRoutes()
	err := s.Create(ctx, env)
	if !engine.IsPartial(err) || !strings.Contains(err.Error(), "the route to fd00::/64 in table 101") {
		t.Errorf("%v", err)
	}
	noError(t, journaled(t, s).Remove(ctx, env))
	wantPicture(t, env, before)
}

// The interface may be gone, be another one by now, have lost what its routes
// lead by, or have other routes: nothing of that keeps DEL from succeeding.
func TestSourceRoutesOfAnInterfaceThatChanged(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for name, change := range map[string]func(t *testing.T, env Env){
		"gone": func(t *testing.T, env Env) { t.Helper(); noError(t, testVeth().Remove(ctx, env)) },
		"down": func(t *testing.T, env Env) {
			t.Helper()
			set(t, env.Container, "eth0", kernel.LinkChange{Up: ptr(false)})
		},
		"without addresses": func(t *testing.T, env Env) {
			t.Helper()
			for _, p := range []string{"10.1.0.5/16", "fd00::5/64"} {
				_, err := env.Container.DelAddress(kernel.Address{Link: link(t, env.Container, "eth0").Index, Prefix: netip.MustParsePrefix(p)})
				noError(t, err)
			}
		},
		"other routes": func(t *testing.T, env Env) {
			t.Helper()
			r := kernel.Route{Dst: netip.MustParsePrefix("0.0.0.0/0"), Link: link(t, env.Container, "eth0").Index}
			noError(t, env.Container.AddRoute(r))
		},
		"another": func(t *testing.T, env Env) {
			t.Helper()
			noError(t, testVeth().Remove(ctx, env))
			withLink(t, env, "eth0", "10.1.0.6/16", 100)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := newEnv(t)
			withRoutes(t, env)
			s := testSourceRoutes()
			made(t, env, s)
			change(t, env)
			tables := func() []kernel.Route {
				all, err := env.Container.Routes(kernel.RouteFilter{Table: 100})
				noError(t, err)
				return all
			}
			before := tables()
			noError(t, journaled(t, s).Remove(ctx, env))
			if left := tables(); len(left) != 0 && name != "another" || name == "another" && len(left) != len(before) {
				t.Errorf("%v", left)
			}
		})
	}
}

// A hint that was there stays.
func TestSourceRoutesWithAHintThatWasThere(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	env := newEnv(t)
	withRoutes(t, env)
	before := picture(t, env)
	s := testSourceRoutes()
	s.Hints[0].Found, s.Moved = true, s.Moved[:3]
	made(t, env, s)
	wantState(t, env, s, engine.IsPresent)
	noError(t, journaled(t, s).Remove(ctx, env))
	wantPicture(t, env, before)
}

// A route that was there when the interface was looked at, and then not, is not
// put back.
func TestSourceRoutesMissed(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	env := newEnv(t)
	withRoutes(t, env)
	r := testRoute("10.9.0.0/16", "10.1.0.7")
	noError(t, r.Remove(ctx, env))
	before := picture(t, env)
	s := testSourceRoutes()
	made(t, env, s)
	noError(t, journaled(t, s).Remove(ctx, env))
	wantPicture(t, env, before)
}

// What made the routes looks for them where they are now.
func TestRule14SourceRoutesAmend(t *testing.T) {
	t.Parallel()
	env := newEnv(t)
	withRoutes(t, env)
	s := testSourceRoutes()
	made(t, env, s)
	for dst, c := range map[string]struct {
		gateway string
		table   uint32
	}{
		"0.0.0.0/0": {"10.1.0.1", 100}, "10.9.0.0/16": {"10.1.0.7", 100}, "::/0": {"fd00::1", 101},
		"10.8.0.0/16": {"10.1.0.1", 0}, "10.1.0.0/16": {"", 100},
	} {
		r := testRoute(dst, c.gateway)
		amended, ok := s.Amend(r).(*Route)
		if !ok || amended.Table != c.table || r.Table != 0 {
			t.Errorf("%s: %+v", dst, amended)
		}
		if c.table != 0 {
			wantState(t, env, amended, engine.IsPresent)
		}
	}
	elsewhere := testRoute("0.0.0.0/0", "10.1.0.1")
	elsewhere.Link = "net1"
	placed := testRoute("0.0.0.0/0", "10.1.0.1")
	placed.Table = 7
	for _, r := range []Resource{elsewhere, placed, testVeth()} {
		if s.Amend(r) != r {
			t.Errorf("%s was amended", engine.RefOf(r))
		}
	}
}

func testSourceRules() *SourceRules {
	return &SourceRules{On: On{Side: Container, Link: "eth0", In: Sandbox}, Rules: []SourceRule{
		{netip.MustParseAddr("10.1.0.5"), 100}, {netip.MustParseAddr("fd00::5"), 101},
	}}
}

// rulesOf are the container's rules, less the kernel's own.
func rulesOf(t *testing.T, env Env) []string {
	t.Helper()
	all, err := env.Container.Rules(0)
	noError(t, err)
	var list []string
	for _, r := range all {
		if !KernelTable(r.Table) {
			list = append(list, fmt.Sprintf("%s to %d by %d", r.From, r.Table, r.Protocol))
		}
	}
	slices.Sort(list)
	return list
}

func TestSourceRules(t *testing.T) {
	t.Parallel()
	testKind(t, kindTest{setup: withVeth, fresh: func() Resource { return testSourceRules() }})
	env := newEnv(t)
	s := testSourceRules()
	made(t, env, s)
	if got := rulesOf(t, env); !slices.Equal(got, []string{"10.1.0.5/32 to 100 by 102", "fd00::5/128 to 101 by 102"}) {
		t.Error(got)
	}
	_, err := env.Container.DelRule(s.Rules[1].rule())
	noError(t, err)
	if state := observe(t, env, s); state.Is != engine.IsDrifted || state.Detail != "the rule from fd00::5 to table 101 is missing" {
		t.Errorf("%+v", state)
	}
	// A rule that another call made is not taken away by the one that met it.
	met := testSourceRules()
	slices.Reverse(met.Rules)
	if err := met.Create(context.Background(), env); !engine.IsConflict(err) || engine.IsPartial(err) {
		t.Fatalf("%v", err)
	}
	if got := rulesOf(t, env); !slices.Equal(got, []string{"10.1.0.5/32 to 100 by 102"}) {
		t.Error(got)
	}
}

// Without a journal, only rules of the two suites go whose table is empty or
// leads by way of the interface alone, or which lead from one of its addresses
// to the table that the configuration names.
func TestRule13SourceRulesWithoutJournal(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	rule := func(from string, table uint32, protocol int) kernel.Rule {
		return kernel.Rule{From: netip.MustParsePrefix(from), Table: table, Protocol: protocol}
	}
	for name, c := range map[string]struct {
		unknown SourceRules
		rule    kernel.Rule
		gone    bool // the interface is
		removed bool
	}{
		"ours":                         {rule: rule("10.1.0.5/32", 100, sourceRuleProtocol), removed: true},
		"the reference suite's":        {rule: rule("10.1.0.5/32", 100, 0), removed: true},
		"IPv6":                         {rule: rule("fd00::5/128", 100, 0), removed: true},
		"someone's":                    {rule: rule("10.1.0.5/32", 100, unix.RTPROT_STATIC)},
		"a tool's":                     {rule: rule("10.1.0.5/32", 100, unix.RTPROT_BOOT)},
		"of a network":                 {rule: rule("10.1.0.0/16", 100, 0)},
		"with a condition":             {rule: kernel.Rule{From: netip.MustParsePrefix("10.1.0.5/32"), InLink: "eth0", Table: 100, Protocol: unix.RTPROT_UNSPEC}},
		"ours, with a condition":       {rule: kernel.Rule{From: netip.MustParsePrefix("10.1.0.5/32"), Mark: 7, Table: 100, Protocol: sourceRuleProtocol}, removed: true},
		"ours, of a network":           {rule: rule("10.1.0.0/30", 100, sourceRuleProtocol), removed: true},
		"ours, of a network of both":   {rule: rule("10.0.0.0/8", 100, sourceRuleProtocol)},
		"to the main table":            {rule: rule("10.1.0.5/32", kernel.MainTable, 0)},
		"to its own table":             {rule: rule("10.1.0.99/32", 102, 0), removed: true},
		"to a table of both":           {rule: rule("10.1.0.5/32", 103, 0)},
		"to another's table":           {rule: rule("10.1.0.5/32", 101, 0)},
		"configured":                   {unknown: SourceRules{Table: 101}, rule: rule("10.1.0.5/32", 101, 0), removed: true},
		"configured, other table":      {unknown: SourceRules{Table: 104}, rule: rule("10.1.0.5/32", 101, 0)},
		"another interface's":          {rule: rule("10.2.0.5/32", 101, 0)},
		"another interface's, empty":   {rule: rule("10.2.0.5/32", 105, 0)},
		"another interface's, by ours": {rule: rule("10.2.0.5/32", 102, 0)},
		"of our interface":             {unknown: SourceRules{Owner: testVeth().Owner}, rule: rule("10.1.0.5/32", 100, 0), removed: true},
		"of another owner's interface": {unknown: SourceRules{Owner: "another"}, rule: rule("10.1.0.5/32", 100, sourceRuleProtocol)},
		"gone":                         {gone: true, rule: rule("10.1.0.5/32", 100, 0), removed: true},
		"gone, another's table":        {gone: true, rule: rule("10.1.0.5/32", 101, 0)},
		"gone, told by prevResult": {gone: true, unknown: SourceRules{Table: 101, Addresses: []netip.Addr{netip.MustParseAddr("10.1.0.5")}},
			rule: rule("10.1.0.5/32", 101, 0), removed: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := newEnv(t)
			withAddresses(t, env)
			other := withOther(t, env, "10.2.0.5/16", 101)
			eth0 := link(t, env.Container, "eth0")
			for table, by := range map[uint32][]int{102: {eth0.Index}, 103: {eth0.Index, other.Index}} {
				for n, index := range by {
					noError(t, env.Container.AddRoute(kernel.Route{
						Dst: netip.MustParsePrefix(fmt.Sprintf("10.20.%d.0/24", n)), Link: index, Table: table,
					}))
				}
			}
			if c.rule.Protocol == 0 {
				addReferenceRule(t, env, c.rule)
			} else {
				noError(t, env.Container.AddRule(c.rule))
			}
			if c.gone {
				noError(t, testVeth().Remove(ctx, env))
			}
			before := rulesOf(t, env)
			s := c.unknown
			s.On = On{Side: Container, Link: "eth0", In: Sandbox}
			for range 2 {
				noError(t, journaled(t, &s).Remove(ctx, env))
			}
			if after := rulesOf(t, env); c.removed == slices.Equal(before, after) {
				t.Errorf("%q, was %q", after, before)
			}
		})
	}
}

func TestSourceRulesWithoutJournalEveryCallFails(t *testing.T) {
	t.Parallel()
	env := newEnv(t)
	withAddresses(t, env)
	for _, mode := range faultModes {
		for n, fired := 1, true; fired; n++ {
			made(t, env, testSourceRules())
			faulty, has := mode.failing(env, n)
			s := &SourceRules{On: testSourceRules().On, Owner: testVeth().Owner}
			err := s.Remove(context.Background(), faulty)
			if fired = has(); fired && err == nil {
				t.Errorf("%s: call %d failed, and Remove says success", mode.name, n)
			}
			noError(t, s.Remove(context.Background(), env))
			if got := rulesOf(t, env); len(got) != 0 {
				t.Fatalf("%s: call %d: %q", mode.name, n, got)
			}
		}
	}
}

// CHECK of what the reference suite made asks for a rule from each address.
func TestRule14SourceRulesOfAnySuite(t *testing.T) {
	t.Parallel()
	env := newEnv(t)
	s := &SourceRules{On: testSourceRules().On, Addresses: []netip.Addr{netip.MustParseAddr("10.1.0.5")}}
	wantState(t, env, s, engine.IsAbsent)
	addReferenceRule(t, env, kernel.Rule{From: netip.MustParsePrefix("10.1.0.5/32"), Table: 100})
	wantState(t, env, s, engine.IsPresent)
	s.Table = 101
	wantState(t, env, s, engine.IsAbsent)
}

// addReferenceRule adds a rule as the reference suite does, which says of
// nobody that they made it.
func addReferenceRule(t *testing.T, env Env, r kernel.Rule) {
	t.Helper()
	family := "-4"
	if r.From.Addr().Is6() {
		family = "-6"
	}
	args := []string{"ip", family, "rule", "add", "from", r.From.String(), "table", fmt.Sprint(r.Table), "protocol", "0"}
	if r.InLink != "" {
		args = append(args, "iif", r.InLink)
	}
	runIn(t, env.Container, "", args...)
}
