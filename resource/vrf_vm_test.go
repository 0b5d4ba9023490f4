//go:build vmtest

package resource

import (
	"context"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/fairlead-net/fairlead/attachment"
	"github.com/fairlead-net/fairlead/engine"
	"github.com/fairlead-net/fairlead/kernel"
)

// withGuest has the container's interface up, with an IPv4 address.
func withGuest(t *testing.T, env Env) {
	t.Helper()
	withVeth(t, env)
	made(t, env, testAddress("10.1.0.5/16"), &LinkUp{On: testVeth().Guest()})
}

func withVRF(t *testing.T, env Env) {
	t.Helper()
	withGuest(t, env)
	made(t, env, testVRF())
}

func TestVRF(t *testing.T) {
	t.Parallel()
	testKind(t, kindTest{fresh: func() Resource { return testVRF() }})
}

func TestVRFMember(t *testing.T) {
	t.Parallel()
	testKind(t, kindTest{setup: withVRF, fresh: func() Resource { return testMember() }, gone: engine.IsDrifted})
}

func TestVRFIsJoined(t *testing.T) {
	t.Parallel()
	env := newEnv(t)
	made(t, env, testVRF())
	l := link(t, env.Container, "red")
	if kind, ok := l.Info.(kernel.VRFKind); !ok || kind.Table != 1001 || !l.Up {
		t.Fatalf("%+v", l)
	}
	noError(t, setUp(env.Container, l, false))
	v := testVRF()
	wantState(t, env, v, engine.IsDrifted)
	made(t, env, v)
	wantState(t, env, v, engine.IsPresent)
	if v.Foreign {
		t.Error("our own VRF, still empty, is taken for another's")
	}
	if table, err := (VRFTable{VRF: "red"}).Look(env); err != nil || table != 1001 {
		t.Errorf("table %d, %v", table, err)
	}
	if table, err := (VRFTable{VRF: "blue"}).Look(env); err != nil || table != 1 {
		t.Errorf("table %d, %v", table, err)
	}
	other := &VRF{Name: "red", Table: 7}
	if err := other.Create(t.Context(), env); !engine.IsConflict(err) || !strings.Contains(err.Error(), "table 1001, want 7") {
		t.Errorf("another table: %v", err)
	}
	if _, err := (VRFTable{VRF: "red", Table: 7}).Look(env); !engine.IsConflict(err) {
		t.Errorf("another table: %v", err)
	}
	if s := observe(t, env, other); s.Is != engine.IsDrifted || !strings.Contains(s.Detail, "is 1001, want 7") {
		t.Errorf("%+v", s)
	}
}

func TestVRFOfAnother(t *testing.T) {
	t.Parallel()
	env := newEnv(t)
	withGuest(t, env)
	noError(t, env.Container.AddLink(kernel.LinkSpec{Name: "red", Kind: kernel.VRFKind{Table: 1001}}))
	before := picture(t, env)
	v, m := testVRF(), testMember()
	made(t, env, v, m)
	if !v.Foreign || !link(t, env.Container, "red").Up {
		t.Errorf("%+v", v)
	}
	noError(t, removeAll(t, env, v, m))
	noError(t, setUp(env.Container, link(t, env.Container, "red"), false))
	wantPicture(t, env, before)

	made(t, env, testMember())
	v = testVRF()
	made(t, env, v)
	if v.Foreign {
		t.Error("a VRF in use is whose who uses it last")
	}
	noError(t, removeAll(t, env, v, testMember()))
	wantState(t, env, v, engine.IsAbsent)
}

func TestVRFNameIsTaken(t *testing.T) {
	t.Parallel()
	env := newEnv(t)
	noError(t, env.Container.AddLink(kernel.LinkSpec{Name: "red", Kind: kernel.DummyKind{}}))
	before := picture(t, env)
	if err := testVRF().Create(t.Context(), env); !engine.IsConflict(err) || engine.IsPartial(err) {
		t.Errorf("%v", err)
	}
	wantState(t, env, testVRF(), engine.IsAbsent)
	wantPicture(t, env, before)
}

func TestVRFMemberOfAnotherMaster(t *testing.T) {
	t.Parallel()
	env := newEnv(t)
	withVRF(t, env)
	made(t, env, &VRF{Name: "blue", Table: 1002})
	blue := testMember()
	blue.VRF = "blue"
	made(t, env, blue)
	before := picture(t, env)
	m := testMember()
	if err := m.Create(t.Context(), env); !engine.IsConflict(err) || !strings.Contains(err.Error(), "blue") {
		t.Errorf("%v", err)
	}
	wantState(t, env, m, engine.IsDrifted)
	noError(t, m.Remove(t.Context(), env))
	wantPicture(t, env, before)
}

// removeAll is a DEL that has no journal.
func removeAll(t *testing.T, env Env, list ...Resource) error {
	t.Helper()
	var e engine.Engine[Env]
	return e.RemovePlan(t.Context(), env, engine.Scope{Ref: Sandbox, ID: "1", Gone: env.Container == nil}, list)
}

// TestVRFGoesWithItsLastMember: with two interfaces in it, by hand or by ADD,
// the first to leave leaves it.
func TestVRFGoesWithItsLastMember(t *testing.T) {
	t.Parallel()
	env := newEnv(t)
	withVRF(t, env)
	made(t, env, testMember())
	noError(t, env.Container.AddLink(kernel.LinkSpec{Name: "net9", Kind: kernel.DummyKind{}}))
	other := testMember()
	other.Link, other.Owner = "net9", attachment.ID{Container: "c9"}.Owner()
	made(t, env, other)
	noError(t, removeAll(t, env, testVRF(), testMember()))
	wantState(t, env, testVRF(), engine.IsPresent)
	wantState(t, env, other, engine.IsPresent)
	noError(t, removeAll(t, env, testVRF(), other))
	wantState(t, env, testVRF(), engine.IsAbsent)
}

// once calls f, the first time that the call is about to be made.
func once(env Env, op string, f func()) Env {
	var done atomic.Bool
	return Env{Host: env.Host, Container: env.Container.WithFaults(func(o kernel.Op) error {
		if o.Name == op && !o.After && done.CompareAndSwap(false, true) {
			f()
		}
		return nil
	})}
}

// TestCases01And02And03VRFStates: DEL succeeds in each state that a VRF and its
// member can be found in, or get into between a look-up and what follows it;
// and nothing is left of either.
func TestCases01And02And03VRFStates(t *testing.T) {
	t.Parallel()
	remove := func(t *testing.T, env Env, name string) {
		t.Helper()
		l, ok, err := env.Container.Link(name)
		noError(t, err)
		if ok {
			_, err = env.Container.DelLink(l.Index)
			noError(t, err)
		}
	}
	const member = "eth0"
	both := func(t *testing.T, env Env) { t.Helper(); remove(t, env, member); remove(t, env, "red") }
	states := map[string]struct {
		before func(t *testing.T, env Env)
		// between is done just before the call op.
		op      string
		between func(t *testing.T, env Env)
	}{
		"as made":     {},
		"VRF gone":    {before: func(t *testing.T, env Env) { t.Helper(); remove(t, env, "red") }},
		"member gone": {before: func(t *testing.T, env Env) { t.Helper(); remove(t, env, member) }},
		"both gone":   {before: both},
		"member out already": {before: func(t *testing.T, env Env) {
			t.Helper()
			noError(t, testMember().Remove(context.Background(), env))
		}},
		"VRF removed before its delete":      {op: "link.del", between: func(t *testing.T, env Env) { t.Helper(); remove(t, env, "red") }},
		"member removed before VRF's delete": {op: "link.del", between: func(t *testing.T, env Env) { t.Helper(); remove(t, env, member) }},
		"both removed before VRF's delete":   {op: "link.del", between: both},
		"member removed before its release":  {op: "link.set", between: func(t *testing.T, env Env) { t.Helper(); remove(t, env, member) }},
		"VRF removed before the release":     {op: "link.set", between: func(t *testing.T, env Env) { t.Helper(); remove(t, env, "red") }},
		"both removed before the release":    {op: "link.set", between: both},
		"both removed before a look-up":      {op: "link.get", between: both},
		"both removed before the list":       {op: "link.list", between: both},
	}
	for name, s := range states {
		for _, remembered := range []bool{true, false} {
			t.Run(name+map[bool]string{true: ", journaled", false: ""}[remembered], func(t *testing.T) {
				t.Parallel()
				env := newEnv(t)
				withGuest(t, env)
				list := []Resource{testVRF(), testMember()}
				made(t, env, list...)
				if remembered {
					list = []Resource{journaled(t, list[0]), journaled(t, list[1])}
				} else {
					list = []Resource{&VRF{Name: "red"}, testMember()}
				}
				if s.before != nil {
					s.before(t, env)
				}
				forced := env
				reached := s.op == ""
				if !reached {
					forced = once(env, s.op, func() { reached = true; s.between(t, env) })
				}
				if err := removeAll(t, forced, list...); err != nil {
					t.Errorf("DEL: %v", err)
				}
				if !reached {
					t.Errorf("DEL does no %s", s.op)
				}
				wantState(t, env, testVRF(), engine.IsAbsent)
				if l, ok, err := env.Container.Link(member); err != nil || ok && l.Master != 0 {
					t.Errorf("%+v, %v", l, err)
				}
				noError(t, removeAll(t, env, list...))
			})
		}
	}
}

// TestCase03VRFIsOfAnotherKind: what has the VRF's name and is none stays, with
// the interface in it.
func TestCase03VRFIsOfAnotherKind(t *testing.T) {
	t.Parallel()
	env := newEnv(t)
	withGuest(t, env)
	noError(t, env.Container.AddLink(kernel.LinkSpec{Name: "red", Kind: kernel.BridgeKind{}}))
	master := link(t, env.Container, "red").Index
	noError(t, env.Container.SetLink(link(t, env.Container, "eth0").Index, kernel.LinkChange{Master: &master}))
	before := picture(t, env)
	for _, index := range []int{0, link(t, env.Container, "eth0").Index} {
		m := testMember()
		m.Index = index
		noError(t, removeAll(t, env, testVRF(), m))
		wantPicture(t, env, before)
	}
}

func TestVRFNamespaceIsGone(t *testing.T) {
	t.Parallel()
	env := newEnv(t)
	env.Container = nil
	noError(t, removeAll(t, env, testVRF(), testMember()))
}

// TestCase17VRFRefusals: another's failure is DEL's, and what rests on what
// failed is kept.
func TestCase17VRFRefusals(t *testing.T) {
	t.Parallel()
	for _, errno := range []unix.Errno{unix.EBUSY, unix.EPERM} {
		for _, op := range []string{"link.set", "link.del", "link.get", "link.list"} {
			env := newEnv(t)
			withVRF(t, env)
			made(t, env, testMember())
			faulty := Env{Host: env.Host, Container: env.Container.WithFaults(kernel.FailNth(op, 1, false, errno))}
			if err := removeAll(t, faulty, testVRF(), testMember()); err == nil {
				t.Errorf("%s was refused with %v, and DEL says success", op, errno)
			}
			wantState(t, env, testVRF(), engine.IsPresent)
			noError(t, removeAll(t, env, testVRF(), testMember()))
			wantState(t, env, testVRF(), engine.IsAbsent)
		}
	}
}

// TestRule06VRFMemberOfAnotherOwner: an interface of our name that is marked as
// another's stays where it is; one of ours is found under another name.
func TestRule06VRFMemberOfAnotherOwner(t *testing.T) {
	t.Parallel()
	env := newEnv(t)
	withVRF(t, env)
	m := testMember()
	made(t, env, m)
	index := link(t, env.Container, "eth0").Index
	alias := attachment.ID{Network: "other", Container: "c9", IfName: "eth0"}.Alias()
	noError(t, env.Container.SetLink(index, kernel.LinkChange{Alias: &alias}))
	noError(t, removeAll(t, env, testVRF(), testMember()))
	wantState(t, env, testMember(), engine.IsPresent)

	none, name, down := "", "renamed", false
	noError(t, env.Container.SetLink(index, kernel.LinkChange{Up: &down}))
	noError(t, env.Container.SetLink(index, kernel.LinkChange{Alias: &none, Name: &name}))
	noError(t, removeAll(t, env, testVRF(), journaled(t, m)))
	wantState(t, env, testVRF(), engine.IsAbsent)
}

// TestVRFMemberKeepsWhatItHas: addresses and routes of every sort survive, with
// the kernel keeping IPv6 addresses or not.
func TestVRFMemberKeepsWhatItHas(t *testing.T) {
	t.Parallel()
	for _, keep := range []string{"0", "1"} {
		t.Run("keep_addr_on_down "+keep, func(t *testing.T) {
			t.Parallel()
			env := newEnv(t)
			withVeth(t, env)
			guest := testVeth().Guest()
			noError(t, env.Container.SetSysctl("net/ipv6/conf/eth0/keep_addr_on_down", keep))
			hostEnd := link(t, env.Host, testVeth().Host)
			noError(t, setUp(env.Host, hostEnd, true))
			eth0 := link(t, env.Container, "eth0")
			noError(t, setUp(env.Container, eth0, true))
			settled := prefixes("fd00::5/64", "fd01::5/64")
			for _, a := range []kernel.Address{
				{Prefix: netip.MustParsePrefix("10.1.0.5/16")},
				{Prefix: netip.MustParsePrefix("10.2.0.5/16"), NoPrefixRoute: true},
				{Prefix: settled[0]},
				{Prefix: settled[1], NoDAD: true, NoPrefixRoute: true},
			} {
				a.Link = eth0.Index
				noError(t, env.Container.AddAddress(a))
			}
			made(t, env, &Settled{On: guest, Addresses: []netip.Addr{settled[0].Addr()}})
			for _, r := range vrfTestRoutes() {
				r.Link = eth0.Index
				noError(t, env.Container.AddRoute(r))
			}
			made(t, env, testVRF())
			before := belongings1001(t, env, eth0.Index)
			made(t, env, testMember())
			after := belongings1001(t, env, eth0.Index)
			if !slices.Equal(before, after) {
				t.Errorf("before:\n%s\nafter:\n%s", strings.Join(before, "\n"), strings.Join(after, "\n"))
			}
			main, err := env.Container.Routes(kernel.RouteFilter{Link: eth0.Index})
			noError(t, err)
			if len(main) > 0 {
				t.Errorf("left in the main table: %v", main)
			}
			made(t, env, &Settled{On: guest, Addresses: []netip.Addr{settled[0].Addr(), settled[1].Addr()}})
		})
	}
}

func vrfTestRoutes() []kernel.Route {
	p, a := netip.MustParsePrefix, netip.MustParseAddr
	return []kernel.Route{
		{Dst: p("10.2.0.0/16"), Source: a("10.2.0.5")},
		{Dst: p("0.0.0.0/0"), Gateway: a("10.2.0.1")},
		{Dst: p("10.9.0.0/16"), Gateway: a("10.1.0.1"), Metric: 70, MTU: 1300, AdvMSS: 1200, Source: a("10.1.0.5")},
		{Dst: p("10.9.1.0/24"), Gateway: a("192.0.2.1"), OnLink: true},
		{Dst: p("10.8.0.0/16"), Gateway: a("10.1.0.1"), Table: 100, Source: a("10.1.0.5")},
		{Dst: p("fd01::/64"), Metric: 5},
		{Dst: p("::/0"), Gateway: a("fd01::1")},
		{Dst: p("fd09::/64"), Gateway: a("fd00::1"), Metric: 70, Source: a("fd00::5")},
		{Dst: p("fd08::/64"), Gateway: a("fd00::1"), Table: 100, Source: a("fd00::5")},
	}
}

// belongings1001 tells addresses and routes of a link, with the main table
// called 1001.
func belongings1001(t *testing.T, env Env, link int) []string {
	t.Helper()
	var lines []string
	addresses, err := env.Container.Addresses(link)
	noError(t, err)
	for _, a := range addresses {
		if a.Scope < kernel.ScopeLink {
			lines = append(lines, "address "+a.Prefix.String()+map[bool]string{true: " tentative"}[a.Tentative]+map[bool]string{true: " no route"}[a.NoPrefixRoute])
		}
	}
	routes, err := env.Container.Routes(kernel.RouteFilter{Link: link, AllTables: true, Type: kernel.RouteUnicast})
	noError(t, err)
	for _, r := range routes {
		if r.Dst.Addr().IsLinkLocalUnicast() || r.Dst.Addr().IsMulticast() {
			continue
		}
		if r.Table == kernel.MainTable {
			r.Table = 1001
		}
		if r.Table == 100 && r.Dst.Addr().Is4() {
			r.Source = netip.Addr{}
		}
		lines = append(lines, strings.Join([]string{"route", r.String(), "src", r.Source.String(), "metric", strconv.Itoa(r.Metric), "mtu", strconv.Itoa(r.MTU), "advmss", strconv.Itoa(r.AdvMSS), "proto", strconv.Itoa(r.Protocol), "onlink", map[bool]string{true: "yes"}[r.OnLink]}, " "))
	}
	slices.Sort(lines)
	return lines
}

// TestVRFMembersWithTheSameRoutes: the routes of the first stay.
func TestVRFMembersWithTheSameRoutes(t *testing.T) {
	t.Parallel()
	env := newEnv(t)
	made(t, env, testVRF())
	var all []*VRFMember
	for i, name := range []string{"net1", "net2"} {
		noError(t, env.Container.AddLink(kernel.LinkSpec{Name: name, Kind: kernel.DummyKind{}, Up: true}))
		on := On{Side: Container, Link: name}
		gw4, gw6 := []string{"10.1.0.1", "10.2.0.1"}[i], []string{"fd01::1", "fd02::1"}[i]
		a4, a6 := []string{"10.1.0.5/16", "10.2.0.5/16"}[i], []string{"fd01::5/64", "fd02::5/64"}[i]
		made(t, env,
			&Address{On: on, Address: netip.MustParsePrefix(a4)},
			&Address{On: on, N: 1, Address: netip.MustParsePrefix(a6), NoDAD: true},
			&Route{On: on, Dst: netip.MustParsePrefix("0.0.0.0/0"), Gateway: netip.MustParseAddr(gw4)},
			&Route{On: on, N: 1, Dst: netip.MustParsePrefix("::/0"), Gateway: netip.MustParseAddr(gw6)})
		m := testMember()
		m.Link = name
		made(t, env, m)
		all = append(all, m)
	}
	for i, m := range all {
		wantState(t, env, m, engine.IsPresent)
		l := link(t, env.Container, m.Link).Index
		for _, r := range []kernel.Route{
			{Dst: netip.MustParsePrefix("0.0.0.0/0"), Gateway: netip.MustParseAddr([]string{"10.1.0.1", "10.2.0.1"}[i]), Table: 1001},
			{Dst: netip.MustParsePrefix("::/0"), Gateway: netip.MustParseAddr([]string{"fd01::1", "fd02::1"}[i]), Table: 1001},
		} {
			routes, err := env.Container.Routes(kernel.RouteFilter{Table: 1001})
			noError(t, err)
			there := slices.ContainsFunc(routes, func(f kernel.Route) bool {
				return f.Dst == r.Dst && (f.Gateway == r.Gateway && f.Link == l ||
					slices.ContainsFunc(f.NextHops, func(h kernel.NextHop) bool { return h.Gateway == r.Gateway && h.Link == l }))
			})
			if !there {
				t.Errorf("%s has lost its route %s: %v", m.Link, r, routes)
			}
		}
	}
}
