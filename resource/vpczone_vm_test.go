//go:build vmtest

package resource

import (
	"context"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/fairlead-net/fairlead/engine"
	"github.com/fairlead-net/fairlead/kernel"
)

func testZone() *VPCZone { return &VPCZone{VPC: "blue", VRF: "vpc-blue", Zone: 20001} }

func wantNoZones(t *testing.T, env Env) {
	t.Helper()
	if _, there, err := env.Host.NftTable(zoneTable()); there || err != nil {
		t.Errorf("the table is there: %v, %v", there, err)
	}
}

func TestVPCZone(t *testing.T) {
	t.Parallel()
	testKind(t, kindTest{setup: withVPC, fresh: func() Resource { return testZone() }})
}

// TestVPCZonesOfTwo: the table goes with the last, and what is made in a VRF is
// in its zone.
func TestVPCZonesOfTwo(t *testing.T) {
	t.Parallel()
	ctx, env := context.Background(), newEnv(t)
	red := &VPCZone{VPC: "red", VRF: "vpc-red", Zone: 20002}
	withVPC(t, env)
	made(t, env, &VRF{Name: "vpc-red", VPC: "red", Table: 5001}, testZone(), red)
	v, tap := testVeth(), testVPCTap("c1")
	v.VRF, tap.VRF = "vpc-blue", "vpc-blue"
	made(t, env, v, tap)
	for _, name := range []string{v.Host, tap.Name, "vpc-blue"} {
		if l := link(t, env.Host, name); zoneOf(l.Group) != 20001 {
			t.Errorf("%s is in group %#x", name, l.Group)
		}
	}
	none := uint32(0)
	noError(t, env.Host.SetLink(link(t, env.Host, tap.Name).Index, kernel.LinkChange{Group: &none}))
	if s := observe(t, env, tap); s.Is != engine.IsDrifted || !strings.Contains(s.Detail, "zone") {
		t.Errorf("out of its zone: %+v", s)
	}
	noError(t, testZone().Remove(ctx, env))
	wantState(t, env, red, engine.IsPresent)
	noError(t, journaled(t, red).Remove(ctx, env))
	wantNoZones(t, env)
}

// TestVPCZoneOfTheVersionBefore: a VRF and its members that are in no zone are
// put into one.
func TestVPCZoneOfTheVersionBefore(t *testing.T) {
	t.Parallel()
	env := newEnv(t)
	withVPC(t, env)
	v := testVeth()
	v.VRF = "vpc-blue"
	made(t, env, v)
	wantState(t, env, testZone(), engine.IsAbsent)
	made(t, env, testZone())
	wantState(t, env, v, engine.IsPresent)
	wantState(t, env, testZone(), engine.IsPresent)
	if l := link(t, env.Host, v.Host); zoneOf(l.Group) != 20001 {
		t.Errorf("%+v", l)
	}
}

// TestVPCZoneIsMended: whatever is wrong in the table is told, and put right.
func TestVPCZoneIsMended(t *testing.T) {
	t.Parallel()
	chains := zoneChains()
	for name, c := range map[string]struct {
		wrong func(tx *kernel.NftTx)
		is    engine.Presence
	}{
		"no rule": {func(tx *kernel.NftTx) { tx.FlushChain(chains[0].chain.NftChainID) }, engine.IsDrifted},
		"one more": {func(tx *kernel.NftTx) {
			tx.AddRule(chains[1].chain.NftChainID, &kernel.NftRule{Action: chains[0].action()})
		}, engine.IsDrifted},
		"no chain": {func(tx *kernel.NftTx) { tx.DeleteChain(chains[1].chain.NftChainID) }, engine.IsDrifted},
		"no zone":  {func(tx *kernel.NftTx) { tx.DeleteZone(zoneMap(), groupOf(20001)) }, engine.IsAbsent},
		"other zones": {func(tx *kernel.NftTx) {
			tx.DeleteZone(zoneMap(), groupOf(20001))
			tx.AddZone(zoneMap(), groupOf(20001), 5)
		}, engine.IsDrifted},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := newEnv(t)
			withVPC(t, env)
			made(t, env, testZone())
			var tx kernel.NftTx
			c.wrong(&tx)
			noError(t, env.Host.NftCommit("test", &tx))
			wantState(t, env, testZone(), c.is)
			made(t, env, testZone())
			wantState(t, env, testZone(), engine.IsPresent)
		})
	}
}

// TestVPCZoneWhoseVRFSomeoneDeleted goes, unless another VPC has it by then.
func TestVPCZoneWhoseVRFSomeoneDeleted(t *testing.T) {
	t.Parallel()
	ctx, env := context.Background(), newEnv(t)
	withVPC(t, env)
	made(t, env, testZone())
	if ok, err := env.Host.DelLink(link(t, env.Host, "vpc-blue").Index); !ok || err != nil {
		t.Fatal(ok, err)
	}
	red := &VPCZone{VPC: "red", VRF: "vpc-red", Zone: 20001}
	made(t, env, &VRF{Name: "vpc-red", VPC: "red", Table: 5001}, red)
	noError(t, journaled(t, testZone()).Remove(ctx, env))
	wantState(t, env, red, engine.IsPresent)
	if report, err := RemoveUnusedZones(env); err != nil || len(report.Removed) > 0 {
		t.Errorf("%+v, %v", report, err)
	}
	if ok, err := env.Host.DelLink(link(t, env.Host, "vpc-red").Index); !ok || err != nil {
		t.Fatal(ok, err)
	}
	noError(t, (&VPCZone{VPC: "red", VRF: "vpc-red"}).Remove(ctx, env)) // without a record
	if report, err := RemoveUnusedZones(env); err != nil || len(report.Removed) != 1 {
		t.Errorf("%+v, %v", report, err)
	}
	wantNoZones(t, env)
	noError(t, journaled(t, testZone()).Remove(ctx, env))
}

// TestVPCZoneThatTheKernelLacks is no obstacle: without such rules there is none.
func TestVPCZoneThatTheKernelLacks(t *testing.T) {
	t.Parallel()
	ctx, env := context.Background(), newEnv(t)
	withVPC(t, env)
	for op, errno := range map[string]unix.Errno{"nft.zone": unix.EOPNOTSUPP, "nft.commit": unix.ENOENT} {
		z := testZone()
		lacking := Env{Host: env.Host.WithFaults(func(o kernel.Op) error {
			if o.Name == op && !o.After {
				return errno
			}
			return nil
		})}
		noError(t, z.Create(ctx, lacking))
		if op == "nft.zone" {
			wantState(t, lacking, z, engine.IsPresent)
		}
		noError(t, z.Remove(ctx, lacking))
	}
}

// TestVPCZoneIsOneThatNoneHas: it follows from the VPC's ID, and is the next where
// another VRF has that one.
func TestVPCZoneIsOneThatNoneHas(t *testing.T) {
	t.Parallel()
	ctx, env := context.Background(), newEnv(t)
	find := func(vpc string) uint16 {
		t.Helper()
		zone, err := FindVPCZone{VPC: vpc, VRF: "vpc-" + vpc}.Find(ctx, env)
		noError(t, err)
		return zone.(uint16)
	}
	first := find("blue")
	if first < firstZone || first > lastZone || find("blue") != first || find("red") == first {
		t.Errorf("%d, then %d, and red %d", first, find("blue"), find("red"))
	}
	made(t, env, &VRF{Name: "vpc-red", VPC: "red", Table: 5001}, &VPCZone{VPC: "red", VRF: "vpc-red", Zone: first})
	if got := find("blue"); got != first+1 {
		t.Errorf("%d, want %d", got, first+1)
	}
	if got := find("red"); got != first {
		t.Errorf("%d, want %d, which the VRF has", got, first)
	}
	for _, mode := range faultModes {
		for n := 1; ; n++ {
			faulty, fired := mode.failing(env, n)
			zone, err := FindVPCZone{VPC: "blue", VRF: "vpc-blue"}.Find(ctx, faulty)
			if !fired() {
				break
			}
			if err == nil {
				t.Errorf("%s: call %d failed, and zone %d is taken for free", mode.name, n, zone)
			}
		}
	}
}
