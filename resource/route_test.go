package resource

import (
	"context"
	"net/netip"
	"strings"
	"testing"

	"github.com/fairlead-net/fairlead/engine"
	"github.com/fairlead-net/fairlead/kernel"
)

// withAddresses has the pair up on both ends, and the guest's addressed.
func withAddresses(t *testing.T, env Env) {
	t.Helper()
	withVeth(t, env)
	six := testAddress("fd00::5/64")
	six.N = 1
	made(t, env, testAddress("10.1.0.5/16"), six, &LinkUp{On: testVeth().Guest()})
}

func testRoute(dst, gateway string) *Route {
	r := &Route{On: testVeth().Guest(), Dst: netip.MustParsePrefix(dst)}
	if gateway != "" {
		r.Gateway = netip.MustParseAddr(gateway)
	}
	return r
}

func TestRoute(t *testing.T) {
	t.Parallel()
	for name, fresh := range map[string]func() *Route{
		"IPv4":     func() *Route { return testRoute("10.9.0.0/16", "10.1.0.1") },
		"default":  func() *Route { return testRoute("0.0.0.0/0", "10.1.0.1") },
		"IPv6":     func() *Route { return testRoute("fd09::/64", "fd00::1") },
		"default6": func() *Route { return testRoute("::/0", "fd00::1") },
		"direct":   func() *Route { return testRoute("10.9.0.1/32", "") },
		"metrics": func() *Route {
			r := testRoute("10.9.0.0/16", "10.1.0.1")
			r.MTU, r.AdvMSS, r.Priority, r.Table = 1300, 1200, 70, 300
			return r
		},
		"on link": func() *Route { r := testRoute("10.9.0.0/16", "192.0.2.1"); r.OnLink = true; return r },
		"to the container": func() *Route {
			r := testRoute("10.1.0.5/32", "")
			r.On, r.Scope = testVeth().HostEnd(), ptr(uint8(kernel.ScopeHost))
			return r
		},
		"source": func() *Route {
			r := testRoute("10.9.0.0/16", "10.1.0.1")
			r.Source = netip.MustParseAddr("10.1.0.5")
			return r
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			testKind(t, kindTest{
				setup: withAddresses, fresh: func() Resource { return fresh() },
				calm: name != "IPv4" && name != "IPv6",
			})
		})
	}
}

// ptp's: no route to the network, but one to the gateway, and by it the rest.
func TestRoutesOfPointToPoint(t *testing.T) {
	t.Parallel()
	env := newEnv(t)
	v := testVeth()
	made(t, env, v)
	a := testAddress("10.1.0.5/16")
	a.NoPrefixRoute = true
	toGateway, toNet, dflt := testRoute("10.1.0.1/32", ""), testRoute("10.1.0.0/16", "10.1.0.1"), testRoute("0.0.0.0/0", "10.1.0.1")
	toGateway.Source, toNet.Source, toNet.N, dflt.N = a.Address.Addr(), a.Address.Addr(), 1, 2
	host := &Address{On: v.HostEnd(), Address: netip.MustParsePrefix("10.1.0.1/32")}
	back := &Route{On: v.HostEnd(), Dst: netip.MustParsePrefix("10.1.0.5/32"), Scope: ptr(uint8(kernel.ScopeHost))}
	all := []Resource{a, &LinkUp{On: v.Guest()}, toGateway, toNet, dflt, host, back}
	made(t, env, all...)
	for _, r := range all {
		wantState(t, env, journaled(t, r), engine.IsPresent)
	}
	routes, err := env.Container.Routes(kernel.RouteFilter{Family: 2})
	noError(t, err)
	if len(routes) != 3 {
		t.Errorf("%v", routes)
	}
}

func TestRouteDrift(t *testing.T) {
	t.Parallel()
	env := newEnv(t)
	withAddresses(t, env)
	r := testRoute("10.9.0.0/16", "10.1.0.1")
	r.MTU, r.AdvMSS = 1300, 1200
	made(t, env, r)
	k := r.route(link(t, env.Container, "eth0").Index)
	k.MTU, k.AdvMSS = 1280, 1100
	noError(t, env.Container.ReplaceRoute(k))
	if s := observe(t, env, r); s.Is != engine.IsDrifted || !strings.Contains(s.Detail, "want 1300") || !strings.Contains(s.Detail, "want 1200") {
		t.Errorf("%+v", s)
	}
}

// A later plugin (sbr) moves routes to a table of its own.
func TestRule14RouteInAnotherTable(t *testing.T) {
	t.Parallel()
	env := newEnv(t)
	withAddresses(t, env)
	r := testRoute("10.9.0.0/16", "10.1.0.1")
	made(t, env, r)
	k := r.route(link(t, env.Container, "eth0").Index)
	k.Table = 100
	noError(t, env.Container.AddRoute(k))
	noError(t, r.Remove(context.Background(), env))
	wantState(t, env, r, engine.IsPresent)
	_, err := env.Container.DelRoute(k)
	noError(t, err)
	wantState(t, env, r, engine.IsAbsent)
}

// A route to the same network by another link is another's: on the host it is in
// the way, in a container ours stands beside it.
func TestRouteInTheWay(t *testing.T) {
	t.Parallel()
	for _, side := range []Side{Host, Container} {
		env := newEnv(t)
		withAddresses(t, env)
		r := testRoute("10.9.0.0/16", "10.1.0.1")
		ns := env.Container
		if side == Host {
			v := testVeth()
			made(t, env, &Address{On: v.HostEnd(), Address: netip.MustParsePrefix("10.1.0.1/24")})
			ns, r.On, r.Gateway = env.Host, v.HostEnd(), netip.MustParseAddr("10.1.0.2")
		}
		noError(t, ns.AddLink(kernel.LinkSpec{Name: "br0", Kind: kernel.BridgeKind{}, Up: true}))
		other := kernel.Route{Dst: netip.MustParsePrefix("10.9.0.0/16"), Link: link(t, ns, "br0").Index}
		noError(t, ns.AddRoute(other))
		before := picture(t, env)
		err := r.Create(context.Background(), env)
		if side == Host && !engine.IsConflict(err) {
			t.Errorf("Create on the host: %v", err)
		}
		if side == Container {
			noError(t, err)
			wantState(t, env, r, engine.IsPresent)
		}
		noError(t, r.Remove(context.Background(), env))
		wantPicture(t, env, before)
	}
}

func TestRule3UnknownRoute(t *testing.T) {
	t.Parallel()
	env := newEnv(t)
	ctx := context.Background()
	r := &Route{On: testVeth().Guest()}
	if r.Key() != testRoute("10.9.0.0/16", "").Key() {
		t.Error(r.Key())
	}
	noError(t, r.Remove(ctx, env))
	withVeth(t, env)
	if err := r.Remove(ctx, env); err == nil {
		t.Error("removed")
	}
	if err := r.Create(ctx, env); err == nil {
		t.Error("created")
	}
	if _, err := r.Observe(ctx, env); err == nil {
		t.Error("observed")
	}
}
