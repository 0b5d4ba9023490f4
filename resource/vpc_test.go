package resource

import (
	"context"
	"net/netip"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/fairlead-net/fairlead/engine"
	"github.com/fairlead-net/fairlead/kernel"
)

// passingVeth has its guest's end on the host, until another moves it.
func passingVeth() *Veth {
	v := testVeth()
	v.Passing = testID.Owner().GuestVeth()
	return v
}

// moveGuest is what host-device does.
func moveGuest(t *testing.T, env Env, v *Veth) {
	t.Helper()
	end := link(t, env.Host, v.Passing)
	noError(t, env.Host.SetLink(end.Index, kernel.LinkChange{Netns: env.Container, Name: &v.Name, Alias: &v.Passing}))
}

// TestPassingVeth: both ends are on the host at first; it is as it should be
// once the guest's is in the container.
func TestPassingVeth(t *testing.T) {
	t.Parallel()
	ctx, env := context.Background(), newEnv(t)
	before := picture(t, env)
	v := passingVeth()
	made(t, env, v)
	wantState(t, env, v, engine.IsDrifted)
	if err := passingVeth().Create(ctx, env); !engine.IsConflict(err) {
		t.Errorf("made twice: %v", err)
	}
	gone := func(want bool) {
		t.Helper()
		if got, err := v.GuestGone(env); got != want || err != nil {
			t.Errorf("the guest's end is gone: %v, %v; want %v", got, err, want)
		}
	}
	gone(false)
	home := func(want bool) {
		t.Helper()
		if got, err := v.GuestHome(env); got != want || err != nil {
			t.Errorf("the guest's end is at home: %v, %v; want %v", got, err, want)
		}
	}
	home(true)
	moveGuest(t, env, v)
	home(false)
	wantState(t, env, journaled(t, v), engine.IsPresent)
	gone(false)
	without := Env{Host: env.Host}
	if got, err := v.GuestGone(without); !got || err != nil {
		t.Errorf("its namespace is gone: %v, %v", got, err)
	}
	without.Unknown = context.DeadlineExceeded
	if got, err := v.GuestGone(without); got || err == nil {
		t.Errorf("whether its namespace is gone is unknown: %v, %v", got, err)
	}
	for _, mode := range faultModes {
		faulty, _ := mode.failing(env, 1)
		if got, err := v.GuestGone(faulty); got || err == nil {
			t.Errorf("%s: %v, %v", mode.name, got, err)
		}
	}
	noError(t, v.Remove(ctx, env))
	gone(true)
	home(false)
	wantPicture(t, env, before)
}

// TestCase15PassingVethOfAnother: in the container is another attachment's
// interface of the same name, whoever made it.
func TestCase15PassingVethOfAnother(t *testing.T) {
	t.Parallel()
	env := newEnv(t)
	noError(t, env.Host.AddLink(kernel.LinkSpec{Name: "x", Kind: kernel.VethKind{Peer: kernel.LinkSpec{Name: "eth0", Netns: env.Container}}}))
	before := picture(t, env)
	v := passingVeth()
	wantState(t, env, v, engine.IsAbsent)
	noError(t, v.Remove(context.Background(), env))
	wantPicture(t, env, before)
}

func TestNeighbour(t *testing.T) {
	t.Parallel()
	for name, address := range map[string]string{"IPv4": "10.1.0.5", "IPv6": "fd00::5"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			testKind(t, kindTest{
				setup: func(t *testing.T, env Env) { made(t, env, testVeth()) },
				fresh: func() Resource {
					return &Neighbour{On: testVeth().HostEnd(), Address: netip.MustParseAddr(address), MAC: "02:00:00:00:00:05"}
				},
				gone: engine.IsPresent, // it tells nothing
			})
		})
	}
}

// TestNeighbourThatMoved: an entry is as if it had been learned, so that another
// can take its place.
func TestNeighbourThatMoved(t *testing.T) {
	t.Parallel()
	env := newEnv(t)
	made(t, env, testVeth())
	n := &Neighbour{On: testVeth().HostEnd(), Address: netip.MustParseAddr("10.1.0.5"), MAC: "02:00:00:00:00:05"}
	old := *n
	old.MAC = "02:00:00:00:00:06"
	made(t, env, &old, n)
	entry, ok, err := env.Host.Neighbour(kernel.Neighbour{Link: link(t, env.Host, n.Link).Index, Addr: n.Address})
	if err != nil || !ok || entry.MAC.String() != n.MAC || entry.State != unix.NUD_STALE {
		t.Errorf("%+v, %v, %v", entry, ok, err)
	}
}

// TestSegmentSource: raised if it is not set; another's is left as it is, and is
// an error only where a certain one is wanted.
func TestSegmentSource(t *testing.T) {
	t.Parallel()
	ctx, env := context.Background(), newEnv(t)
	one, two := netip.MustParseAddr("2001:db8::1"), netip.MustParseAddr("2001:db8::2")
	if err := (&SRv6Source{}).Create(ctx, env); err == nil || !strings.Contains(err.Error(), "source") {
		t.Errorf("no address is known: %v", err)
	}
	wantState(t, env, &SRv6Source{}, engine.IsAbsent)
	s := &SRv6Source{Address: one}
	made(t, env, s, &SRv6Source{Address: two}, &SRv6Source{}, &SRv6Source{Address: one, Asked: true})
	wantState(t, env, s, engine.IsPresent)
	wantState(t, env, &SRv6Source{Address: two, Asked: true}, engine.IsDrifted)
	if err := (&SRv6Source{Address: two, Asked: true}).Create(ctx, env); !engine.IsConflict(err) {
		t.Errorf("another is set: %v", err)
	}
	noError(t, s.Remove(ctx, env))
	if got, ok, err := env.Host.SRv6Source(); got != one || !ok || err != nil {
		t.Errorf("%s, %v, %v", got, ok, err)
	}
	for _, mode := range faultModes {
		for n := 1; ; n++ {
			env := newEnv(t)
			faulty, fired := mode.failing(env, n)
			err := (&SRv6Source{Address: one}).Create(ctx, faulty)
			if !fired() {
				break
			}
			if err == nil {
				t.Errorf("%s: call %d failed, and Create says success", mode.name, n)
			}
		}
	}
}

// TestWay: how the host sends to an address, and that it does not.
func TestWay(t *testing.T) {
	t.Parallel()
	env := newEnv(t)
	made(t, env, testVeth())
	find := func() Way {
		t.Helper()
		way, err := FindWay{To: netip.MustParseAddr("fc00:0:2::1")}.Find(context.Background(), env)
		noError(t, err)
		return way.(Way)
	}
	if got := find(); got != (Way{}) {
		t.Errorf("%+v", got)
	}
	v := testVeth()
	made(t, env, &LinkUp{On: v.Guest()}, &Address{On: v.HostEnd(), Address: netip.MustParsePrefix("2001:db8::1/64"), NoDAD: true},
		&Route{On: v.HostEnd(), Dst: netip.MustParsePrefix("fc00:0:2::/48"), Gateway: netip.MustParseAddr("2001:db8::2")})
	if got := find(); got != (Way{Link: v.Host, MTU: 1500, Source: netip.MustParseAddr("2001:db8::1")}) {
		t.Errorf("%+v", got)
	}
}

// TestVPCTableIsOneThatNobodyUses: a stranger's route or rule rules a table out;
// what is left of a VPC does not.
func TestVPCTableIsOneThatNobodyUses(t *testing.T) {
	t.Parallel()
	env := newEnv(t)
	ns := env.Host
	fact := VRFTable{VRF: "vpc-blue", VPC: "blue", First: 252, Last: 270}
	look := func(f VRFTable) uint32 {
		t.Helper()
		table, err := f.Look(env)
		noError(t, err)
		return table
	}
	if got := look(fact); got != 252 {
		t.Errorf("table %d, want 252", got)
	}
	anywhere := func(table uint32, protocol int) kernel.Route {
		return kernel.Route{Dst: netip.MustParsePrefix("::/0"), Type: kernel.RouteUnreachable, Table: table, Protocol: protocol}
	}
	noError(t, ns.AddRule(kernel.Rule{Family: 10, Table: 252, Priority: 100}))
	if got := look(fact); got != 256 {
		t.Errorf("table %d, want 256: 253 to 255 are the kernel's", got)
	}
	noError(t, ns.AddRoute(anywhere(256, 0)))
	noError(t, ns.AddRoute(anywhere(257, RouteProtocol)))
	if got := look(fact); got != 257 {
		t.Errorf("table %d, want 257, which has what is left of a VPC", got)
	}
	noError(t, ns.AddRoute(kernel.Route{Dst: netip.MustParsePrefix("10.0.0.0/8"), Type: kernel.RouteUnreachable, Table: 257}))
	if got := look(fact); got != 258 {
		t.Errorf("table %d, want 258", got)
	}
	fact.Table = 5000
	if got := look(fact); got != 5000 {
		t.Errorf("table %d, want 5000", got)
	}
	fact.Table = 257
	if _, err := fact.Look(env); !engine.IsConflict(err) {
		t.Errorf("a table in use by others: %v", err)
	}
	fact.Table, fact.Last = 0, 257
	if table, err := fact.Look(env); err == nil {
		t.Errorf("table %d, though all of the range are in use", table)
	}
	noError(t, ns.AddLink(kernel.LinkSpec{Name: "vpc-blue", Kind: kernel.BridgeKind{}}))
	if err := (&VRF{Name: "vpc-blue", VPC: "blue", Table: 5000}).Create(context.Background(), env); err == nil {
		t.Error("a bridge is in the place of the VRF")
	}
	if fact.Within() != "" || fact.Lock() == "" {
		t.Errorf("%q, %q", fact.Within(), fact.Lock())
	}
}

func TestVPCTableThatCannotBeFoundOut(t *testing.T) {
	t.Parallel()
	for _, mode := range faultModes {
		env := newEnv(t)
		for n := 1; ; n++ {
			faulty, fired := mode.failing(env, n)
			table, err := VRFTable{VRF: "vpc-blue", VPC: "blue", First: 1000, Last: 1010}.Look(faulty)
			if !fired() {
				noError(t, err)
				break
			}
			if err == nil {
				t.Errorf("%s: call %d failed, and table %d is taken for free", mode.name, n, table)
			}
		}
	}
}

// TestReadySaysWhatTheKernelHas: STATUS asks before anything is made.
func TestReadySaysWhatTheKernelHas(t *testing.T) {
	t.Parallel()
	env := newEnv(t)
	before := picture(t, env)
	err := (&VRF{Name: "vpc-blue", VPC: "blue"}).Ready(context.Background(), env)
	noError(t, StrictVRFsReady(env))
	noError(t, (&VRFRoute{Use: LocalSegment}).Ready(context.Background(), env))
	wantPicture(t, env, before)
	made := env.Host.AddLink(kernel.LinkSpec{Name: "x", Kind: kernel.VRFKind{Table: 7}})
	if (err == nil) != (made == nil) {
		t.Errorf("ready: %v; made: %v", err, made)
	}
}
