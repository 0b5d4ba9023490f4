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

// One that another suite made is taken as it is.
func TestVLANGatewayOfAnotherSuite(t *testing.T) {
	t.Parallel()
	env := newEnv(t)
	made(t, env, filtering())
	noError(t, env.Host.AddLink(kernel.LinkSpec{
		Name: "veth0", Master: link(t, env.Host, "cni0").Index,
		Kind: kernel.VethKind{Peer: kernel.LinkSpec{Name: "cni0.100", MAC: mac(t, "02:00:00:00:00:09")}},
	}))
	g := testGateway()
	made(t, env, g)
	before := picture(t, env)
	if g.FoundMAC != "02:00:00:00:00:09" || !link(t, env.Host, "cni0.100").Up {
		t.Errorf("%+v", g)
	}
	noError(t, g.Remove(context.Background(), env))
	wantPicture(t, env, before)
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
