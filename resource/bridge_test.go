package resource

import (
	"context"
	"net/netip"
	"strings"
	"testing"

	"github.com/fairlead-net/fairlead/engine"
	"github.com/fairlead-net/fairlead/kernel"
)

func TestBridge(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*Bridge){
		"plain":   func(*Bridge) {},
		"mtu":     func(b *Bridge) { b.MTU = 1400 },
		"promisc": func(b *Bridge) { b.Promisc = true },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			testEnsured(t, kindTest{fresh: func() Resource { b := newBridge(); change(b); return b }})
		})
	}
}

// foreign makes a bridge as an operator does.
func foreign(t *testing.T, env Env) {
	t.Helper()
	noError(t, env.Host.AddLink(kernel.LinkSpec{Name: "cni0", Kind: kernel.BridgeKind{}}))
}

// foreignWithMAC makes one that is the same each time.
func foreignWithMAC(t *testing.T, env Env) {
	t.Helper()
	noError(t, env.Host.AddLink(kernel.LinkSpec{Name: "cni0", MAC: mac(t, "02:00:00:00:00:77"), Kind: kernel.BridgeKind{}}))
}

func TestBridgeOfAnOperator(t *testing.T) {
	t.Parallel()
	testEnsured(t, kindTest{
		setup: foreignWithMAC,
		fresh: func() Resource { b := newBridge(); b.Pin, b.Promisc = true, true; return b },
	})
}

// A bridge without an address of its own changes it as ports come and go.
func TestRule10BridgeKeepsItsMAC(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		setup func(t *testing.T, env Env)
		pin   bool
	}{
		"ours":                  {func(*testing.T, Env) {}, false},
		"an operator's, pinned": {foreign, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := newEnv(t)
			c.setup(t, env)
			b, v := newBridge(), testVeth()
			b.Pin = c.pin
			v.Master, v.HostMAC = "cni0", "02:00:00:00:00:01" // the lowest
			made(t, env, b, v)
			wantState(t, env, b, engine.IsPresent)
			noError(t, v.Remove(context.Background(), env))
			wantState(t, env, b, engine.IsPresent)
			if got := link(t, env.Host, "cni0").MAC.String(); got != b.FoundMAC {
				t.Errorf("%s, had %s", got, b.FoundMAC)
			}
		})
	}
	if NewBridge("cni0", "a").MAC == NewBridge("cni0", "b").MAC {
		t.Error("two machines have one address")
	}
}

func TestBridgeNameOfAnotherKind(t *testing.T) {
	t.Parallel()
	env := newEnv(t)
	strange(t, env, "cni0")
	before := picture(t, env)
	err := newBridge().Create(context.Background(), env)
	if !engine.IsConflict(err) || !strings.Contains(err.Error(), "is no bridge (veth)") {
		t.Errorf("Create: %v", err)
	}
	noError(t, newBridge().Remove(context.Background(), env))
	wantPicture(t, env, before)
	wantState(t, env, newBridge(), engine.IsDrifted)
}

func TestBridgeIgnoresRouterAdvertisements(t *testing.T) {
	t.Parallel()
	env := newEnv(t)
	made(t, env, newBridge())
	value, ok, err := env.Host.Sysctl("net/ipv6/conf/cni0/accept_ra")
	noError(t, err)
	if !ok || value != "0" {
		t.Errorf("accept_ra is %q", value)
	}
}

// A bridge of the operator's may be how the host itself gets its routes.
func TestBridgeOfTheOperatorKeepsItsParameters(t *testing.T) {
	t.Parallel()
	env := newEnv(t)
	foreign(t, env)
	noError(t, env.Host.SetSysctl("net/ipv6/conf/cni0/accept_ra", "2"))
	made(t, env, newBridge())
	if value, _, err := env.Host.Sysctl("net/ipv6/conf/cni0/accept_ra"); err != nil || value != "2" {
		t.Errorf("accept_ra is %q, %v", value, err)
	}
}

func TestBridgeDrift(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(t *testing.T, env Env, b *Bridge)
		want   string
	}{
		"down":    {func(t *testing.T, e Env, _ *Bridge) { set(t, e.Host, "cni0", kernel.LinkChange{Up: ptr(false)}) }, "cni0 is down"},
		"promisc": {func(t *testing.T, e Env, _ *Bridge) { set(t, e.Host, "cni0", kernel.LinkChange{Promisc: ptr(false)}) }, "not promiscuous"},
		"MAC": {func(t *testing.T, e Env, _ *Bridge) {
			set(t, e.Host, "cni0", kernel.LinkChange{MAC: mac(t, "02:00:00:00:00:09")})
		}, "02:00:00:00:00:09"},
		"prevResult": {func(_ *testing.T, _ Env, b *Bridge) { b.ExpectLink("cni0", "02:00:00:00:00:0a", 0) }, "want 02:00:00:00:00:0a"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := newEnv(t)
			b := newBridge()
			b.Promisc = true
			made(t, env, b)
			b.ExpectLink("eth0", "02:00:00:00:00:0b", 0)
			wantState(t, env, b, engine.IsPresent)
			c.change(t, env, b)
			if s := observe(t, env, b); s.Is != engine.IsDrifted || !strings.Contains(s.Detail, c.want) {
				t.Errorf("%v %q, want %q", s.Is, s.Detail, c.want)
			}
		})
	}
}

func gateway(address string) *BridgeAddress {
	b := newBridge()
	return &BridgeAddress{Link: b.Name, In: b.Ref(), Address: netip.MustParsePrefix(address)}
}

func TestBridgeAddress(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"10.1.0.1/16", "fd00::1/64"} {
		t.Run(address, func(t *testing.T) {
			t.Parallel()
			testEnsured(t, kindTest{
				setup: func(t *testing.T, env Env) { made(t, env, newBridge()) },
				fresh: func() Resource { return gateway(address) },
			})
		})
	}
}

func TestBridgeAddressIsUsableAtOnce(t *testing.T) {
	t.Parallel()
	env := newEnv(t)
	made(t, env, newBridge(), gateway("10.1.0.1/16"), gateway("fd00::1/64"))
	all, err := env.Host.Addresses(link(t, env.Host, "cni0").Index)
	noError(t, err)
	found := 0
	for _, a := range all {
		switch a.Prefix.String() {
		case "10.1.0.1/16":
			found++
			if a.Broadcast.String() != "10.1.255.255" {
				t.Errorf("broadcast %s", a.Broadcast)
			}
		case "fd00::1/64":
			found++
			if a.Tentative {
				t.Error("tentative")
			}
		}
	}
	if found != 2 {
		t.Errorf("%v", all)
	}
}

// One IPv4 address, and as many of IPv6 as do not overlap, unless forced.
func TestBridgeAddressInTheWay(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		have, want string
		conflict   bool
	}{
		"IPv4":             {"10.1.0.1/16", "10.2.0.1/16", true},
		"IPv4 mask":        {"10.1.0.1/16", "10.1.0.1/24", true},
		"IPv6 overlapping": {"fd00::1/64", "fd00::2/64", true},
		"IPv6 beside":      {"fd00::1/64", "fd01::1/64", false},
		"the other family": {"10.1.0.1/16", "fd00::1/64", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := newEnv(t)
			made(t, env, newBridge(), gateway(c.have))
			before := picture(t, env)
			err := gateway(c.want).Create(context.Background(), env)
			if engine.IsConflict(err) != c.conflict {
				t.Fatalf("Create: %v", err)
			}
			if !c.conflict {
				wantState(t, env, gateway(c.have), engine.IsPresent)
				return
			}
			wantPicture(t, env, before)
			forced := gateway(c.want)
			forced.Force = true
			made(t, env, forced)
			wantState(t, env, forced, engine.IsPresent)
			wantState(t, env, gateway(c.have), engine.IsAbsent)
		})
	}
}

func TestRule9UnusedBridge(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for name, c := range map[string]struct {
		use  func(t *testing.T, env Env)
		want string
	}{
		"unused": {func(*testing.T, Env) {}, ""},
		"gateway addresses of ours": {func(t *testing.T, env Env) {
			made(t, env, gateway("10.1.0.1/16"), gateway("fd00::1/64"))
		}, ""},
		"port": {func(t *testing.T, env Env) {
			v := testVeth()
			v.Master = "cni0"
			made(t, env, v)
		}, "is a port of it"},
		"upper": {func(t *testing.T, env Env) {
			noError(t, env.Host.AddLink(kernel.LinkSpec{
				Name: "up0", Parent: link(t, env.Host, "cni0").Index, Kind: kernel.MacvlanKind{Mode: kernel.MacvlanBridge},
			}))
		}, "up0 is upon it"},
		"upper elsewhere": {func(t *testing.T, env Env) {
			made(t, env, on(NewMacvlan(testID, "bridge"), "cni0"))
			set(t, env.Container, testID.IfName, kernel.LinkChange{Up: ptr(true)})
		}, "listens on it"},
		"promiscuous by itself": {func(t *testing.T, env Env) {
			set(t, env.Host, "cni0", kernel.LinkChange{Promisc: ptr(true)})
		}, ""},
		"foreign address": {func(t *testing.T, env Env) {
			noError(t, env.Host.AddAddress(kernel.Address{
				Link: link(t, env.Host, "cni0").Index, Prefix: netip.MustParsePrefix("10.9.0.1/24"),
			}))
		}, "10.9.0.1/24"},
		"another's mark": {func(t *testing.T, env Env) {
			set(t, env.Host, "cni0", kernel.LinkChange{Alias: ptr("uplink")})
		}, "not made by fairlead"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := newEnv(t)
			empty := picture(t, env)
			made(t, env, newBridge())
			c.use(t, env)
			before := picture(t, env)
			unused, why, err := newBridge().Unused(ctx, env)
			noError(t, err)
			if unused != (c.want == "") || !strings.Contains(why, c.want) {
				t.Fatalf("unused %t, %q; want %q", unused, why, c.want)
			}
			bridges, err := MadeBridges(env)
			noError(t, err)
			if len(bridges) == 0 { // another's mark
				wantPicture(t, env, before)
				return
			}
			err = bridges[0].Remove(ctx, env)
			if (err == nil) != unused {
				t.Fatalf("Remove: %v", err)
			}
			if unused {
				before = empty
			}
			wantPicture(t, env, before)
		})
	}
}

func TestRule9UnusedBridgeEveryCallFails(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for _, mode := range faultModes {
		for n, fired := 1, true; fired; n++ {
			env := newEnv(t)
			before := picture(t, env)
			made(t, env, newBridge(), gateway("10.1.0.1/16"))
			faulty, has := failing(env, n, mode.after, mode.err)
			if err := newBridge().Remove(ctx, faulty); err == nil {
				wantPicture(t, env, before)
			}
			noError(t, newBridge().Remove(ctx, env))
			wantPicture(t, env, before)
			fired = has()
		}
	}
}

// An operator's bridge is no bridge of ours, though a call raised it.
func TestRule9OperatorsBridgeStays(t *testing.T) {
	t.Parallel()
	env := newEnv(t)
	foreign(t, env)
	b := newBridge()
	b.Pin = true
	made(t, env, b, gateway("10.1.0.1/16"))
	before := picture(t, env)
	bridges, err := MadeBridges(env)
	noError(t, err)
	noError(t, newBridge().Remove(context.Background(), env))
	if wantPicture(t, env, before); len(bridges) != 0 {
		t.Errorf("%v", bridges)
	}
}
