//go:build vmtest

package resource

import (
	"context"
	"errors"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/fairlead-net/fairlead/attachment"
	"github.com/fairlead-net/fairlead/engine"
	"github.com/fairlead-net/fairlead/kernel"
)

func testVPC() *VRF { return &VRF{Name: "vpc-blue", VPC: "blue", Table: 5000} }

func withVPC(t *testing.T, env Env) {
	t.Helper()
	made(t, env, testVPC(), StrictVRFs())
}

func testSegment() *VRFRoute {
	return &VRFRoute{VPC: "blue", VRF: "vpc-blue", Use: LocalSegment, Dst: netip.MustParsePrefix("fc00:0:1::7/128"), IPv4: true}
}

func testWay() *VRFRoute {
	return &VRFRoute{VPC: "blue", VRF: "vpc-blue", Use: SegmentWay, Dst: netip.MustParsePrefix("fc00:0:2::7/128")}
}

func testRemote(prefix string) *VRFRoute {
	return &VRFRoute{
		VPC: "blue", VRF: "vpc-blue", Use: RemoteRoute, Dst: netip.MustParsePrefix(prefix), SID: netip.MustParseAddr("fc00:0:2::7"),
	}
}

func TestVPC(t *testing.T) {
	t.Parallel()
	testKind(t, kindTest{fresh: func() Resource { return testVPC() }})
}

func TestVPCRoutes(t *testing.T) {
	t.Parallel()
	for name, fresh := range map[string]func() *VRFRoute{
		"segment":     testSegment,
		"way":         testWay,
		"remote":      func() *VRFRoute { return testRemote("10.1.1.0/24") },
		"remote IPv6": func() *VRFRoute { return testRemote("fd00:2::/64") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			testKind(t, kindTest{setup: withVPC, fresh: func() Resource { return fresh() }})
		})
	}
}

// TestVPCIsClosed: nothing that the table has no route for is looked for
// elsewhere, and nobody else's VRF is taken for the VPC's.
func TestVPCIsClosed(t *testing.T) {
	t.Parallel()
	ctx, env := context.Background(), newEnv(t)
	v := testVPC()
	made(t, env, v)
	l := link(t, env.Host, v.Name)
	if l.Alias != "fairlead:vpc blue" || !l.Up {
		t.Errorf("%+v", l)
	}
	noError(t, env.Host.AddLink(kernel.LinkSpec{Name: "uplink", Kind: kernel.DummyKind{}, Up: true}))
	uplink := link(t, env.Host, "uplink").Index
	// out tells whether a packet to an address finds a way.
	out := func(destination string, in ...string) bool {
		t.Helper()
		var err error
		noError(t, env.Host.Do(func() error {
			err = exec.Command("ip", append([]string{"route", "get", destination}, in...)...).Run()
			return nil
		}))
		return err == nil
	}
	for anywhere, destination := range map[string]string{"0.0.0.0/0": "198.51.100.1", "::/0": "2001:db8:ffff::1"} {
		dst := netip.MustParsePrefix(anywhere)
		noError(t, env.Host.AddRoute(kernel.Route{Dst: dst, Link: uplink}))
		if !out(destination) || out(destination, "vrf", v.Name) {
			t.Errorf("to %s: the host's way %v, the VPC's %v", destination, out(destination), out(destination, "vrf", v.Name))
		}
		if ok, err := env.Host.DelRoute(kernel.Route{Dst: dst, Table: 5000, Type: kernel.RouteUnreachable}); !ok || err != nil {
			t.Fatal(ok, err)
		}
		if !out(destination, "vrf", v.Name) {
			t.Errorf("to %s: it is closed by something else", destination)
		}
		if state := observe(t, env, v); state.Is != engine.IsDrifted || !strings.Contains(state.Detail, "open") || !strings.Contains(state.Detail, anywhere) {
			t.Errorf("%+v", state)
		}
		made(t, env, testVPC()) // the next ADD closes it again
		wantState(t, env, v, engine.IsPresent)
		if out(destination, "vrf", v.Name) {
			t.Errorf("to %s: still open", destination)
		}
	}
	if err := (&VRF{Name: v.Name, VPC: "green", Table: 5000}).Create(ctx, env); !engine.IsConflict(err) {
		t.Errorf("another VPC's: %v", err)
	}
	if _, err := (VRFTable{VRF: v.Name, VPC: "green", First: 1, Last: 9}).Look(env); !engine.IsConflict(err) {
		t.Errorf("another VPC's: %v", err)
	}
	if used, err := (&VRF{Name: v.Name, VPC: "green"}).InUse(ctx, env); !used || err != nil {
		t.Errorf("another VPC's: in use: %v, %v", used, err)
	}
	noError(t, (&VRF{Name: v.Name, VPC: "green"}).Remove(ctx, env))
	wantState(t, env, v, engine.IsPresent)
	if err := (&VRF{Name: v.Name, VPC: "blue", Table: 5001}).Create(ctx, env); !engine.IsConflict(err) {
		t.Errorf("another table: %v", err)
	}
}

// TestVPCThatCantBeClosed is not made: that the kernel has no such route is
// believed of one without IPv6 alone.
func TestVPCThatCantBeClosed(t *testing.T) {
	t.Parallel()
	ctx, env := context.Background(), newEnv(t)
	for n := range len(testVPC().walls()) {
		v := testVPC()
		refusing := Env{Host: env.Host.WithFaults(kernel.FailNth("route.add", n+1, false, unix.EOPNOTSUPP)), Container: env.Container}
		if err := v.Create(ctx, refusing); !errors.Is(err, unix.EOPNOTSUPP) || !engine.IsPartial(err) {
			t.Errorf("wall %d: %v", n, err)
		}
		noError(t, v.Remove(ctx, env))
		wantState(t, env, v, engine.IsAbsent)
	}
}

// TestVPCOfACrash: a crash between the making of the VRF and its mark leaves one
// that is known by its address; and what is in the table of another that is gone
// is flushed first. Strangers' routes stay.
func TestVPCOfACrash(t *testing.T) {
	t.Parallel()
	ctx, env := context.Background(), newEnv(t)
	stranger := kernel.Route{Dst: netip.MustParsePrefix("192.0.2.0/24"), Type: kernel.RouteUnreachable, Table: 5000}
	noError(t, env.Host.AddRoute(stranger))
	for _, dst := range []string{"fc00:9::1/128", "198.51.100.0/24"} {
		noError(t, env.Host.AddRoute(kernel.Route{Dst: netip.MustParsePrefix(dst), Type: kernel.RouteThrow, Table: 5000, Protocol: RouteProtocol, Metric: 5}))
	}
	noError(t, env.Host.AddLink(kernel.LinkSpec{Name: "vpc-red", Kind: kernel.VRFKind{Table: 5001}, MAC: vrfMAC("vpc-red")}))
	red := &VRF{Name: "vpc-red", VPC: "red", Table: 5001}
	wantState(t, env, red, engine.IsDrifted)
	made(t, env, testVPC(), red)
	wantState(t, env, red, engine.IsPresent)
	ours, err := env.Host.Routes(kernel.RouteFilter{Table: 5000, Protocol: RouteProtocol})
	if err != nil || len(ours) != 2 {
		t.Errorf("%+v, %v", ours, err)
	}
	noError(t, testVPC().Remove(ctx, env))
	noError(t, red.Remove(ctx, env))
	left, err := env.Host.Routes(kernel.RouteFilter{Table: 5000})
	if err != nil || len(left) != 1 || left[0].Dst != stranger.Dst {
		t.Errorf("%+v, %v", left, err)
	}
}

// TestVPCWhoseVRFSomeoneDeleted: the routes that no link took along go, but
// those of the VPC that has the table by then stay.
func TestVPCWhoseVRFSomeoneDeleted(t *testing.T) {
	t.Parallel()
	ctx, env := context.Background(), newEnv(t)
	before := picture(t, env)
	v, way, remote, segment := testVPC(), testWay(), testRemote("10.1.1.0/24"), testSegment()
	made(t, env, v, StrictVRFs(), way, remote, segment)
	if ok, err := env.Host.DelLink(link(t, env.Host, v.Name).Index); !ok || err != nil {
		t.Fatal(ok, err)
	}
	green := &VRF{Name: "vpc-green", VPC: "green", Table: 5000}
	noError(t, env.Host.AddLink(kernel.LinkSpec{Name: green.Name, Kind: kernel.VRFKind{Table: 5000}, MAC: vrfMAC(green.Name), Up: true}))
	made(t, env, green)
	for _, r := range []Resource{segment, remote, way, v} {
		wantState(t, env, r, engine.IsAbsent)
		noError(t, journaled(t, r).Remove(ctx, env))
	}
	wantState(t, env, green, engine.IsPresent)
	noError(t, green.Remove(ctx, env))
	wantPicture(t, env, before)
}

// TestSegmentOfAnotherVPC: two VPCs can't have one number.
func TestSegmentOfAnotherVPC(t *testing.T) {
	t.Parallel()
	ctx, env := context.Background(), newEnv(t)
	withVPC(t, env)
	made(t, env, &VRF{Name: "vpc-red", VPC: "red", Table: 5001}, testSegment())
	other := testSegment()
	other.VPC, other.VRF = "red", "vpc-red"
	if err := other.Create(ctx, env); !engine.IsConflict(err) {
		t.Errorf("%v", err)
	}
	noError(t, other.Remove(ctx, env))
	wantState(t, env, testSegment(), engine.IsPresent)
	if got, ok, err := env.Host.Route(kernel.Route{Dst: testSegment().Dst}); err != nil || !ok || got.Encap != (kernel.SRv6Local{Action: kernel.SRv6EndDT46, VRFTable: 5000}) {
		t.Errorf("%+v, %v", got, err)
	}
}

// TestSegmentWithoutEndDT46: a kernel that refuses it gets End.DT6, where that is
// enough.
func TestSegmentWithoutEndDT46(t *testing.T) {
	t.Parallel()
	ctx, env := context.Background(), newEnv(t)
	withVPC(t, env)
	old := func() Env {
		return Env{Host: env.Host.WithFaults(kernel.FailNth("route.add", 1, false, unix.EINVAL)), Container: env.Container}
	}
	if err := testSegment().Create(ctx, old()); err == nil || !strings.Contains(err.Error(), "IPv4") || engine.IsPartial(err) {
		t.Errorf("%v", err)
	}
	s := testSegment()
	s.IPv4 = false
	noError(t, s.Create(ctx, old()))
	if s.Action != "End.DT6" {
		t.Errorf("%+v", s)
	}
	wantState(t, env, journaled(t, s), engine.IsPresent)
}

// TestRemoteElsewhere: the newest word counts; a stranger's route is left alone.
func TestRemoteElsewhere(t *testing.T) {
	t.Parallel()
	ctx, env := context.Background(), newEnv(t)
	withVPC(t, env)
	for _, prefix := range []string{"10.1.1.0/24", "fd00:2::/64"} {
		old, moved := testRemote(prefix), testRemote(prefix)
		moved.SID = netip.MustParseAddr("fc00:0:3::7")
		made(t, env, old, moved)
		wantState(t, env, moved, engine.IsPresent)
		wantState(t, env, old, engine.IsDrifted)
		noError(t, moved.Remove(ctx, env))
		wantState(t, env, moved, engine.IsAbsent)
		vrf := link(t, env.Host, "vpc-blue")
		noError(t, env.Host.AddRoute(kernel.Route{Dst: old.Dst, Link: vrf.Index, Table: 5000}))
		if err := old.Create(ctx, env); !engine.IsConflict(err) {
			t.Errorf("%s: %v", prefix, err)
		}
		noError(t, old.Remove(ctx, env))
		if _, ok, err := env.Host.Route(kernel.Route{Dst: old.Dst, Table: 5000}); !ok || err != nil {
			t.Errorf("%s: a stranger's route is gone: %v", prefix, err)
		}
	}
}

// TestStrictModeThatIsRefused: STATUS names the VRFs that share a table.
func TestStrictModeThatIsRefused(t *testing.T) {
	t.Parallel()
	env := newEnv(t)
	for _, name := range []string{"one", "two"} {
		noError(t, env.Host.AddLink(kernel.LinkSpec{Name: name, Kind: kernel.VRFKind{Table: 7}}))
	}
	if err := StrictVRFsReady(env); err == nil || !strings.Contains(err.Error(), "one") || !strings.Contains(err.Error(), "two") {
		t.Errorf("%v", err)
	}
	if err := StrictVRFs().Create(context.Background(), env); err == nil {
		t.Error("the kernel took it")
	}
	if ok, err := env.Host.DelLink(link(t, env.Host, "two").Index); !ok || err != nil {
		t.Fatal(ok, err)
	}
	noError(t, StrictVRFsReady(env))
	made(t, env, StrictVRFs())
	noError(t, StrictVRFsReady(env))
}

func testVPCTap(container string) *Tap {
	return NewVPCTap(attachment.ID{Network: "net", Container: container, IfName: "eth0"}, "blue", "vm-1")
}

func TestVPCTap(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*Tap){
		"plain": func(*Tap) {},
		"all":   func(p *Tap) { p.User, p.Group, p.MultiQueue, p.MTU = ptr(uint32(107)), ptr(uint32(108)), true, 1400 },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			testKind(t, kindTest{
				setup: withVPC,
				fresh: func() Resource { p := testVPCTap("c1"); change(p); return p },
			})
		})
	}
}

func claimOf(p *Tap, keep ...string) *TapClaim {
	c := &TapClaim{On: p.On(), Owner: p.Owner, Alias: p.Alias}
	for _, k := range keep {
		c.Keep = append(c.Keep, netip.MustParsePrefix(k))
	}
	return c
}

// TestCase15ReattachedTap: a machine keeps its device open while its sandbox is
// replaced. Until the new ADD is done the device is the old container's, whose
// late DEL then leaves it alone.
func TestCase15ReattachedTap(t *testing.T) {
	t.Parallel()
	ctx, env := context.Background(), newEnv(t)
	withVPC(t, env)
	old := testVPCTap("c1")
	on := old.On()
	made(t, env, old, &LinkUp{On: on}, claimOf(old),
		&Address{On: on, Address: netip.MustParsePrefix("10.1.0.1/32")},
		&Route{On: on, Dst: netip.MustParsePrefix("10.1.0.5/32"), Table: 5000},
		&Route{On: on, N: 1, Dst: netip.MustParsePrefix("10.9.0.0/16"), Table: 5000})
	index := link(t, env.Host, old.Name).Index

	failed := testVPCTap("c2")
	made(t, env, failed)
	noError(t, failed.Remove(ctx, env)) // rolled back before its claim
	wantState(t, env, old, engine.IsPresent)

	next := testVPCTap("c3")
	next.MTU = 1400
	made(t, env, next,
		&Address{On: on, Address: netip.MustParsePrefix("10.1.0.1/32")},
		&Route{On: on, Dst: netip.MustParsePrefix("10.1.0.6/32"), Table: 5000})
	wantState(t, env, claimOf(next), engine.IsDrifted)
	made(t, env, claimOf(next, "10.1.0.1/32", "10.1.0.6/32"))
	wantState(t, env, next, engine.IsPresent)
	wantState(t, env, old, engine.IsAbsent)
	for _, r := range []Resource{journaled(t, old), testVPCTap("c1")} {
		noError(t, r.Remove(ctx, env))
	}
	l := link(t, env.Host, next.Name)
	if l.Index != index || l.MTU != 1400 || l.Alias != next.Alias {
		t.Errorf("%+v", l)
	}
	routes, err := env.Host.Routes(kernel.RouteFilter{Table: 5000, Link: index, Type: kernel.RouteUnicast, Family: unix.AF_INET})
	if err != nil || len(routes) != 1 || routes[0].Dst != netip.MustParsePrefix("10.1.0.6/32") {
		t.Errorf("%+v, %v", routes, err)
	}
	noError(t, journaled(t, next).Remove(ctx, env))
	if _, ok, err := env.Host.Link(next.Name); ok || err != nil {
		t.Error("it is there after DEL", err)
	}
}

// TestTapOfOthers: neither a stranger's link nor one that is not as asked for is
// taken.
func TestTapOfOthers(t *testing.T) {
	t.Parallel()
	ctx, env := context.Background(), newEnv(t)
	withVPC(t, env)
	p := testVPCTap("c1")
	noError(t, env.Host.AddTap(t.Context(), kernel.TapSpec{Name: p.Name, Owner: ptr(uint32(5))}))
	if err := testVPCTap("c1").Create(ctx, env); !engine.IsConflict(err) {
		t.Errorf("another user's: %v", err)
	}
	alias := "someone's"
	noError(t, env.Host.SetLink(link(t, env.Host, p.Name).Index, kernel.LinkChange{Alias: &alias}))
	p.User = ptr(uint32(5))
	if err := p.Create(ctx, env); !engine.IsConflict(err) {
		t.Errorf("someone's: %v", err)
	}
	noError(t, p.Remove(ctx, env))
	link(t, env.Host, p.Name)
	alias = ""
	noError(t, env.Host.SetLink(link(t, env.Host, p.Name).Index, kernel.LinkChange{Alias: &alias}))
	made(t, env, p) // a crash left it unmarked
	wantState(t, env, p, engine.IsPresent)
	wantState(t, env, claimOf(p), engine.IsPresent)
}

// TestRouteOfAnEarlierContainer: a replaced container's route is taken over by
// the same attachment, and is another's conflict.
func TestRouteOfAnEarlierContainer(t *testing.T) {
	t.Parallel()
	ctx, env := context.Background(), newEnv(t)
	withVPC(t, env)
	pair := func(container, name string) *Veth {
		id := attachment.ID{Network: "net", Container: container, IfName: "eth0"}
		v := NewVeth(id)
		v.Alias, v.VRF, v.Passing = id.AliasIn("blue", name), "vpc-blue", id.Owner().GuestVeth()
		made(t, env, v)
		up := true
		noError(t, env.Host.SetLink(link(t, env.Host, v.Passing).Index, kernel.LinkChange{Up: &up}))
		return v
	}
	for _, dst := range []string{"10.1.0.5/32", "fd00:1::5/128"} {
		route := func(v *Veth, name string) *Route {
			return &Route{On: v.HostEnd(), Dst: netip.MustParsePrefix(dst), Table: 5000, Over: "blue/" + name}
		}
		suffix := strings.NewReplacer(".", "", "/", "", ":", "").Replace(dst)
		old, next, other := pair("old"+suffix, "web"), pair("new"+suffix, "web"), pair("other"+suffix, "db")
		made(t, env, route(old, "web"))
		if err := route(other, "db").Create(ctx, env); !engine.IsConflict(err) {
			t.Errorf("%s: another's: %v", dst, err)
		}
		made(t, env, route(next, "web"))
		wantState(t, env, route(next, "web"), engine.IsPresent)
		noError(t, old.Remove(ctx, env))
		wantState(t, env, route(next, "web"), engine.IsPresent)
	}
}

// TestTapIsOpenedAgain: what ADD leaves is for a monitor to open, as many times
// as it wants.
func TestTapIsOpenedAgain(t *testing.T) {
	t.Parallel()
	env := newEnv(t)
	withVPC(t, env)
	p := testVPCTap("c1")
	p.MultiQueue = true
	made(t, env, p)
	for range 3 {
		noError(t, env.Host.Do(func() error {
			f, err := os.OpenFile("/dev/net/tun", os.O_RDWR, 0)
			if err != nil {
				return err
			}
			t.Cleanup(func() { _ = f.Close() })
			req, err := unix.NewIfreq(p.Name)
			if err != nil {
				return err
			}
			req.SetUint16(unix.IFF_TAP | unix.IFF_NO_PI | unix.IFF_MULTI_QUEUE | unix.IFF_VNET_HDR)
			return unix.IoctlIfreq(int(f.Fd()), unix.TUNSETIFF, req)
		}))
	}
}
