//go:build vmtest

package resource

import (
	"context"
	"strconv"
	"strings"
	"testing"

	"github.com/fairlead-net/fairlead/engine"
	"github.com/fairlead-net/fairlead/kernel"
)

func filtering() *Bridge {
	b := newBridge()
	b.VLANFiltering = true
	return b
}

func withVLANPort(t *testing.T, env Env) {
	t.Helper()
	v := testVeth()
	v.Master, v.HostDown = "cni0", true
	made(t, env, filtering(), v)
}

func TestBridgeFiltersVLANs(t *testing.T) {
	t.Parallel()
	testEnsured(t, kindTest{fresh: func() Resource { return filtering() }})
	t.Run("is asked", func(t *testing.T) {
		env := newEnv(t)
		made(t, env, filtering())
		if k, ok := link(t, env.Host, "cni0").Info.(kernel.BridgeKind); !ok || !k.VLANFiltering {
			t.Errorf("%+v", k)
		}
	})
}

func TestBridgePortVLANs(t *testing.T) {
	t.Parallel()
	trunk := []VLANRange{{5, 5}, {100, 104}}
	for name, c := range map[string]struct {
		port BridgePort
		want string
	}{
		"vlan":              {BridgePort{VLAN: 100}, "100pu"},
		"trunk":             {BridgePort{Trunk: trunk}, "1pu 5 100 101 102 103 104"},
		"both":              {BridgePort{VLAN: 7, Trunk: trunk}, "5 7pu 100 101 102 103 104"},
		"in its own trunk":  {BridgePort{VLAN: 102, Trunk: trunk}, "5 100 101 102pu 103 104"},
		"default preserved": {BridgePort{VLAN: 100, PreserveDefaultVLAN: true}, "1u 100pu"},
		"isolated":          {BridgePort{VLAN: 100, Isolated: true, Hairpin: true}, "100pu"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fresh := func() *BridgePort { p := c.port; p.On = testVeth().HostEnd(); return &p }
			testKind(t, kindTest{
				setup: withVLANPort, fresh: func() Resource { return fresh() },
				gone: engine.IsDrifted, calm: name != "isolated" && name != "both",
			})
			t.Run("is asked", func(t *testing.T) {
				t.Parallel()
				env := newEnv(t)
				withVLANPort(t, env)
				made(t, env, fresh())
				if got := vlansOf(t, env, testVeth().Host); got != c.want {
					t.Errorf("%s, want %s", got, c.want)
				}
			})
		})
	}
}

func TestBridgePortVLANDrift(t *testing.T) {
	t.Parallel()
	env := newEnv(t)
	withVLANPort(t, env)
	p := &BridgePort{On: testVeth().HostEnd(), VLAN: 100}
	made(t, env, p)
	index := link(t, env.Host, testVeth().Host).Index
	noError(t, env.Host.AddBridgeVLAN(index, 200, kernel.VLANFlags{}))
	if s := observe(t, env, p); s.Is != engine.IsDrifted || !strings.Contains(s.Detail, "is in VLAN 200 too") {
		t.Errorf("%+v", s)
	}
	noError(t, env.Host.AddBridgeVLAN(index, 100, kernel.VLANFlags{}))
	if s := observe(t, env, p); s.Is != engine.IsDrifted || !strings.Contains(s.Detail, "as it should be in VLAN 100") {
		t.Errorf("%+v", s)
	}
}

func testGateway() *VLANGateway { return NewVLANGateway("cni0", 100, "machine") }

func TestVLANGateway(t *testing.T) {
	t.Parallel()
	testEnsured(t, kindTest{
		setup: func(t *testing.T, env Env) { made(t, env, filtering()) },
		fresh: func() Resource { return testGateway() },
	})
}

func TestVLANGatewayIsAsAsked(t *testing.T) {
	t.Parallel()
	env := newEnv(t)
	b, g := filtering(), testGateway()
	b.MTU = 1400
	address := gateway("10.1.0.1/16")
	address.Link, address.In = g.On().Link, g.On().In
	made(t, env, b, g, address)
	l := link(t, env.Host, "cni0.100")
	name, _ := g.port()
	port := link(t, env.Host, name)
	if !l.Up || !port.Up || l.MTU != 1400 || l.MAC.String() != g.MAC || g.FoundMAC != g.MAC || port.Master == 0 {
		t.Errorf("%+v, %+v", l, port)
	}
	if got := vlansOf(t, env, name); got != "100pu" {
		t.Error(got)
	}
	g.ExpectLink("cni0.100", "02:00:00:00:00:09", 0)
	wantState(t, env, g, engine.IsDrifted)
}

// otherSuites makes a gateway as the reference suite does.
func otherSuites(t *testing.T, env Env) {
	t.Helper()
	noError(t, env.Host.AddLink(kernel.LinkSpec{
		Name: "veth0", Master: link(t, env.Host, "cni0").Index, Up: true,
		Kind: kernel.VethKind{Peer: kernel.LinkSpec{Name: "cni0.100", MAC: mac(t, "02:00:00:00:00:09")}},
	}))
	noError(t, env.Host.AddBridgeVLAN(link(t, env.Host, "veth0").Index, 100, kernel.VLANFlags{PVID: true, Untagged: true}))
}

// One that another suite made is taken as it is.
func TestVLANGatewayOfAnotherSuite(t *testing.T) {
	t.Parallel()
	env := newEnv(t)
	made(t, env, filtering())
	otherSuites(t, env)
	g := testGateway()
	made(t, env, g)
	wantState(t, env, g, engine.IsPresent)
	before := picture(t, env)
	if g.FoundMAC != "02:00:00:00:00:09" || !link(t, env.Host, "cni0.100").Up {
		t.Errorf("%+v", g)
	}
	noError(t, g.Remove(context.Background(), env))
	wantPicture(t, env, before)
}

// TestCase31BridgeThatDoesNotFilter: ours is made to; an operator's is refused,
// and left as it is.
func TestCase31BridgeThatDoesNotFilter(t *testing.T) {
	t.Parallel()
	env := newEnv(t)
	made(t, env, newBridge())
	b := filtering()
	noError(t, b.Ready(context.Background(), env))
	if s := observe(t, env, b); s.Is != engine.IsDrifted || s.Detail != "cni0 does not filter VLANs" {
		t.Errorf("%+v", s)
	}
	made(t, env, b)
	wantState(t, env, b, engine.IsPresent)

	env = newEnv(t)
	noError(t, env.Host.AddLink(kernel.LinkSpec{Name: "cni0", Kind: kernel.BridgeKind{}}))
	before := picture(t, env)
	for verb, err := range map[string]error{
		"STATUS": b.Ready(context.Background(), env), "ADD": filtering().Create(context.Background(), env),
	} {
		if !engine.IsConflict(err) || engine.IsPartial(err) || !strings.Contains(err.Error(), "vlan_filtering 1") {
			t.Errorf("%s: %v", verb, err)
		}
	}
	wantPicture(t, env, before)
	noError(t, newBridge().Ready(context.Background(), env))
	made(t, env, newBridge())
}

// TestCase31VLANGatewayLeadsNowhere: ours is put right, another's is refused.
func TestCase31VLANGatewayLeadsNowhere(t *testing.T) {
	t.Parallel()
	port, _ := testGateway().port()
	for name, c := range map[string]struct {
		lose func(t *testing.T, env Env, port int)
		says string
	}{
		"bridge made anew": {func(t *testing.T, env Env, _ int) {
			_, err := env.Host.DelLink(link(t, env.Host, "cni0").Index)
			noError(t, err)
			made(t, env, filtering())
		}, "is no port of cni0"},
		"taken out": {func(t *testing.T, env Env, port int) {
			none := 0
			noError(t, env.Host.SetLink(port, kernel.LinkChange{Master: &none}))
		}, "is no port of cni0"},
		"another bridge's": {func(t *testing.T, env Env, port int) {
			noError(t, env.Host.AddLink(kernel.LinkSpec{Name: "other", Kind: kernel.BridgeKind{}}))
			other := link(t, env.Host, "other").Index
			noError(t, env.Host.SetLink(port, kernel.LinkChange{Master: &other}))
		}, "is no port of cni0"},
		"not in the VLAN": {func(t *testing.T, env Env, port int) {
			_, err := env.Host.DelBridgeVLAN(port, 100, kernel.VLANFlags{})
			noError(t, err)
		}, "is not in VLAN 100"},
		"with a tag": {func(t *testing.T, env Env, port int) {
			noError(t, env.Host.AddBridgeVLAN(port, 100, kernel.VLANFlags{}))
		}, "is not in VLAN 100"},
		"down": {func(t *testing.T, env Env, port int) {
			down := false
			noError(t, env.Host.SetLink(port, kernel.LinkChange{Up: &down}))
		}, "is down"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := newEnv(t)
			g := testGateway()
			made(t, env, filtering(), g)
			before := picture(t, env)
			c.lose(t, env, link(t, env.Host, port).Index)
			if s := observe(t, env, g); s.Is != engine.IsDrifted || !strings.Contains(s.Detail, c.says) {
				t.Errorf("CHECK: %+v, want %q", s, c.says)
			}
			noError(t, testGateway().Ready(context.Background(), env))
			made(t, env, testGateway())
			wantState(t, env, g, engine.IsPresent)
			if got := vlansOf(t, env, port); got != "100pu" {
				t.Error(got)
			}
			if name != "another bridge's" {
				wantPicture(t, env, before)
			}
		})
		t.Run(name+", another suite's", func(t *testing.T) {
			t.Parallel()
			env := newEnv(t)
			made(t, env, filtering())
			otherSuites(t, env)
			g := testGateway()
			made(t, env, g)
			c.lose(t, env, link(t, env.Host, "veth0").Index)
			before := picture(t, env)
			for verb, err := range map[string]error{
				"STATUS": g.Ready(context.Background(), env), "ADD": testGateway().Create(context.Background(), env),
			} {
				if !engine.IsConflict(err) || !strings.Contains(err.Error(), c.says) {
					t.Errorf("%s: %v, want %q", verb, err, c.says)
				}
			}
			wantPicture(t, env, before)
		})
	}
}

// TestCase31VLANGatewayLedAway: whose port was moved to another namespace. Ours is
// refused, for whoever moved it had a reason; another's may lead back from there.
func TestCase31VLANGatewayLedAway(t *testing.T) {
	t.Parallel()
	env := newEnv(t)
	made(t, env, filtering(), testGateway())
	port, _ := testGateway().port()
	set(t, env.Host, port, kernel.LinkChange{Netns: newEnv(t).Container})
	g, says := testGateway(), "its other end is in another namespace"
	if s := observe(t, env, g); s.Is != engine.IsDrifted || !strings.Contains(s.Detail, says) {
		t.Errorf("CHECK: %+v", s)
	}
	before := picture(t, env)
	for verb, err := range map[string]error{
		"STATUS": g.Ready(context.Background(), env), "ADD": g.Create(context.Background(), env),
	} {
		if !engine.IsConflict(err) || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", verb, err)
		}
	}
	wantPicture(t, env, before)

	env = newEnv(t)
	made(t, env, filtering())
	otherSuites(t, env)
	set(t, env.Host, "veth0", kernel.LinkChange{Netns: newEnv(t).Container})
	made(t, env, testGateway())
}

// TestCase31BridgeThatPutsPortsInNoVLAN: an operator's with default_pvid 0. Its
// ports are his to put into VLANs, and CHECK says no until he has.
func TestCase31BridgeThatPutsPortsInNoVLAN(t *testing.T) {
	t.Parallel()
	env := newEnv(t)
	noError(t, env.Host.AddLink(kernel.LinkSpec{Name: "cni0", Kind: kernel.BridgeKind{VLANFiltering: true}}))
	index := link(t, env.Host, "cni0").Index
	_, err := env.Host.DelBridgeVLAN(index, 1, kernel.VLANFlags{Self: true})
	noError(t, err)
	b, v := newBridge(), testVeth()
	b.Pin, v.Master = true, "cni0"
	made(t, env, b, v)
	_, err = env.Host.DelBridgeVLAN(link(t, env.Host, v.Host).Index, 1, kernel.VLANFlags{})
	noError(t, err)
	for name, r := range map[string]Resource{"cni0": b, v.Host: v} {
		if s := observe(t, env, r); s.Is != engine.IsDrifted || s.Detail != name+" is in no VLAN, and cni0 filters them" {
			t.Errorf("%s: %+v", name, s)
		}
	}
	noError(t, env.Host.AddBridgeVLAN(index, 7, kernel.VLANFlags{Self: true, PVID: true, Untagged: true}))
	noError(t, env.Host.AddBridgeVLAN(link(t, env.Host, v.Host).Index, 7, kernel.VLANFlags{PVID: true, Untagged: true}))
	wantState(t, env, b, engine.IsPresent)
	wantState(t, env, v, engine.IsPresent)
}

// TestCase31LinksUnderTheGatewaysName: what is of use is taken, and no more.
func TestCase31LinksUnderTheGatewaysName(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		spec kernel.LinkSpec
		self bool // the bridge itself is in the VLAN
		says string
	}{
		"dummy":               {kernel.LinkSpec{Kind: kernel.DummyKind{}}, true, "leads nowhere"},
		"VLAN link":           {kernel.LinkSpec{Kind: kernel.VLANKind{ID: 100}}, true, ""},
		"another VLAN":        {kernel.LinkSpec{Kind: kernel.VLANKind{ID: 101}}, true, "VLAN 101"},
		"bridge not in VLAN":  {kernel.LinkSpec{Kind: kernel.VLANKind{ID: 100}}, false, "no frames of VLAN 100"},
		"pair without bridge": {kernel.LinkSpec{Kind: kernel.VethKind{Peer: kernel.LinkSpec{Name: "x"}}}, true, "no port of cni0"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := newEnv(t)
			made(t, env, filtering())
			index := link(t, env.Host, "cni0").Index
			c.spec.Name = "cni0.100"
			if c.spec.Kind.Kind() == "vlan" {
				c.spec.Parent = index
			}
			noError(t, env.Host.AddLink(c.spec))
			if c.self {
				noError(t, env.Host.AddBridgeVLAN(index, 100, kernel.VLANFlags{Self: true}))
			}
			err := testGateway().Create(context.Background(), env)
			if c.says == "" && err != nil || c.says != "" && (!engine.IsConflict(err) || !strings.Contains(err.Error(), c.says)) {
				t.Errorf("%v, want %q", err, c.says)
			}
		})
	}
}

// TestCase31GatewaysOfALostBridge: they go by gc --unused, unless they are used.
func TestCase31GatewaysOfALostBridge(t *testing.T) {
	t.Parallel()
	env := newEnv(t)
	empty := picture(t, env)
	g := testGateway()
	address := gateway("10.1.0.1/16")
	address.Link, address.In = g.On().Link, g.On().In
	made(t, env, filtering(), g, address)
	sweep := func(uppers Uppers) Unused {
		t.Helper()
		report, err := RemoveLostGateways(env, uppers)
		noError(t, err)
		return report
	}
	if r := sweep(nil); len(r.Removed)+len(r.Kept) > 0 {
		t.Errorf("the bridge is there: %+v", r)
	}
	_, err := env.Host.DelLink(link(t, env.Host, "cni0").Index)
	noError(t, err)
	index := link(t, env.Host, "cni0.100").Index
	foreign := kernel.Address{Link: index, Prefix: gateway("10.2.0.1/16").Address}
	noError(t, env.Host.AddAddress(foreign))
	if r := sweep(nil); len(r.Removed) > 0 || len(r.Kept) != 1 || !strings.Contains(r.Kept[0], "10.2.0.1/16") {
		t.Errorf("%+v", r)
	}
	_, err = env.Host.DelAddress(foreign)
	noError(t, err)
	if r := sweep(Uppers{"cni0.100": "c1"}); len(r.Removed) > 0 || len(r.Kept) != 1 || !strings.Contains(r.Kept[0], "c1") {
		t.Errorf("%+v", r)
	}
	noError(t, env.Host.AddLink(kernel.LinkSpec{Name: "upper", Kind: kernel.VLANKind{ID: 7}, Parent: index}))
	if r := sweep(nil); len(r.Removed) > 0 || len(r.Kept) != 1 || !strings.Contains(r.Kept[0], "upper is upon it") {
		t.Errorf("%+v", r)
	}
	_, err = env.Host.DelLink(link(t, env.Host, "upper").Index)
	noError(t, err)
	if r := sweep(nil); len(r.Removed) != 1 || len(r.Kept) > 0 {
		t.Errorf("%+v", r)
	}
	wantPicture(t, env, empty)
}

func TestRule9BridgeGoesWithItsGateways(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	env := newEnv(t)
	empty := picture(t, env)
	g := testGateway()
	address := gateway("10.1.0.1/16")
	address.Link, address.In = g.On().Link, g.On().In
	made(t, env, filtering(), g, address)
	bridges, err := MadeBridges(env)
	noError(t, err)
	if len(bridges) != 1 {
		t.Fatalf("%v", bridges)
	}
	foreignAddress := gateway("10.2.0.1/16").Address
	index := link(t, env.Host, "cni0.100").Index
	noError(t, env.Host.AddAddress(kernel.Address{Link: index, Prefix: foreignAddress}))
	if unused, why, err := bridges[0].Unused(ctx, env); err != nil || unused || !strings.Contains(why, "10.2.0.1/16") {
		t.Errorf("%t, %s, %v", unused, why, err)
	}
	_, err = env.Host.DelAddress(kernel.Address{Link: index, Prefix: foreignAddress})
	noError(t, err)
	noError(t, bridges[0].Remove(ctx, env))
	wantPicture(t, env, empty)

	made(t, env, filtering())
	bare := picture(t, env)
	made(t, env, g)
	noError(t, g.Remove(ctx, env))
	wantPicture(t, env, bare)
}

// vlansOf is a port's VLANs in short: p for PVID, u for untagged.
func vlansOf(t *testing.T, env Env, name string) string {
	t.Helper()
	all, err := env.Host.BridgeVLANs(link(t, env.Host, name).Index)
	noError(t, err)
	has := flatten(all)
	var parts []string
	for id := range 4095 {
		v, ok := has[uint16(id)]
		if !ok {
			continue
		}
		part := strconv.Itoa(id)
		if v.PVID {
			part += "p"
		}
		if v.Untagged {
			part += "u"
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, " ")
}
