package resource

import (
	"context"
	"net/netip"
	"slices"
	"testing"

	"github.com/fairlead-net/fairlead/engine"
	"github.com/fairlead-net/fairlead/kernel"
)

// withVeth makes the pair that things are put on.
func withVeth(t *testing.T, env Env) { t.Helper(); made(t, env, testVeth()) }

func testAddress(address string) *Address {
	return &Address{On: testVeth().Guest(), Address: netip.MustParsePrefix(address), NoDAD: true}
}

func TestAddress(t *testing.T) {
	t.Parallel()
	for name, fresh := range map[string]func() Resource{
		"IPv4":            func() Resource { return testAddress("10.1.0.5/16") },
		"IPv4 alone":      func() Resource { return testAddress("10.1.0.5/32") },
		"IPv6":            func() Resource { return testAddress("fd00::5/64") },
		"no prefix route": func() Resource { a := testAddress("10.1.0.5/16"); a.NoPrefixRoute = true; return a },
		"on the host": func() Resource {
			a := testAddress("10.1.0.1/32")
			a.On = testVeth().HostEnd()
			return a
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			testKind(t, kindTest{setup: withVeth, fresh: fresh, calm: name != "IPv4" && name != "IPv6"})
		})
	}
}

func TestAddressIsAsAsked(t *testing.T) {
	t.Parallel()
	env := newEnv(t)
	withVeth(t, env)
	plain, bare := testAddress("10.1.0.5/16"), testAddress("fd00::5/64")
	bare.N, bare.NoPrefixRoute = 1, true
	made(t, env, plain, bare, &LinkUp{On: testVeth().Guest()})
	all, err := env.Container.Addresses(link(t, env.Container, "eth0").Index)
	noError(t, err)
	for _, a := range all {
		switch a.Prefix {
		case plain.Address:
			if a.Broadcast != netip.MustParseAddr("10.1.255.255") || a.NoPrefixRoute {
				t.Errorf("%+v", a)
			}
		case bare.Address:
			if a.Tentative || !a.NoDAD || !a.NoPrefixRoute {
				t.Errorf("%+v", a)
			}
		}
	}
}

// An address that is unknown at DEL has the same key, goes with its link, and
// says which leases wait for that.
func TestRule3UnknownAddress(t *testing.T) {
	t.Parallel()
	env := newEnv(t)
	leases := []engine.Ref{"lease 0"}
	known := testAddress("10.1.0.5/16")
	unknown := &Address{On: testVeth().Guest(), Leases: leases}
	if known.Key() != unknown.Key() || known.Within() != testVeth().Ref() || !slices.Equal(unknown.Needs(), leases) {
		t.Errorf("%q in %q, %q in %q", known.Key(), known.Within(), unknown.Key(), unknown.Within())
	}
	ctx := context.Background()
	noError(t, unknown.Remove(ctx, env)) // the link is gone, and so is what was on it
	withVeth(t, env)
	if err := unknown.Remove(ctx, env); err == nil {
		t.Error("an unknown address of a living link was called gone")
	}
	if err := unknown.Create(ctx, env); err == nil || engine.IsPartial(err) {
		t.Errorf("Create: %v", err)
	}
	if _, err := unknown.Observe(ctx, env); err == nil {
		t.Error("observed")
	}
}

// The container's namespace not being at hand is not its being gone.
func TestCase17NamespaceNotAtHand(t *testing.T) {
	t.Parallel()
	env := Env{Host: newEnv(t).Host}
	ctx := context.Background()
	on := testVeth().Guest()
	for _, r := range []Resource{
		testAddress("10.1.0.5/16"), testRoute("10.9.0.0/16", "10.1.0.1"), &LinkUp{On: on}, &Loopback{Saved: true}, &BridgePort{On: on},
	} {
		if err := r.Remove(ctx, env); err == nil {
			t.Errorf("%s: removed", engine.RefOf(r))
		}
		if _, err := r.Observe(ctx, env); err == nil {
			t.Errorf("%s: observed", engine.RefOf(r))
		}
		if err := r.Create(ctx, env); err == nil || engine.IsPartial(err) {
			t.Errorf("%s: Create: %v", engine.RefOf(r), err)
		}
	}
}

func TestSettled(t *testing.T) {
	t.Parallel()
	for name, noDAD := range map[string]bool{"with DAD": false, "at once": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := newEnv(t)
			withVeth(t, env)
			a := testAddress("fd00::5/64")
			a.NoDAD = noDAD
			on := testVeth().Guest()
			settled := &Settled{On: on, Addresses: []netip.Addr{a.Address.Addr()}}
			made(t, env, a, &LinkUp{On: on}, settled)
			all, err := env.Container.Addresses(link(t, env.Container, "eth0").Index)
			noError(t, err)
			if !slices.ContainsFunc(all, func(b kernel.Address) bool { return b.Prefix == a.Address && !b.Tentative }) {
				t.Errorf("%+v", all)
			}
			wantState(t, env, journaled(t, settled), engine.IsPresent)
			noError(t, settled.Remove(context.Background(), env))
		})
	}
}

// Another machine on the link has the address.
func TestSettledDuplicate(t *testing.T) {
	t.Parallel()
	env := newEnv(t)
	withVeth(t, env)
	guest, host := testAddress("fd00::5/64"), testAddress("fd00::5/64")
	guest.NoDAD, host.On = false, testVeth().HostEnd()
	on := testVeth().Guest()
	made(t, env, host, guest, &LinkUp{On: on})
	err := (&Settled{On: on, Addresses: []netip.Addr{guest.Address.Addr()}}).Create(context.Background(), env)
	if err == nil {
		t.Error("settled")
	}
	if s := observe(t, env, guest); s.Is != engine.IsDrifted {
		t.Errorf("%+v", s)
	}
}

// Without a carrier nobody can be asked: that is no failure, but it takes the
// whole time; the context ends it sooner, and that is one.
func TestSettledWithoutCarrier(t *testing.T) {
	t.Parallel()
	env := newEnv(t)
	v := testVeth()
	v.HostDown = true
	a := testAddress("fd00::5/64")
	a.NoDAD = false
	on := v.Guest()
	made(t, env, v, a, &LinkUp{On: on})
	settled := &Settled{On: on, Addresses: []netip.Addr{a.Address.Addr()}}
	noError(t, settled.Create(context.Background(), env))
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := settled.Create(ctx, env); err == nil {
		t.Error("settled in no time")
	}
}
