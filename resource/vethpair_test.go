package resource

import (
	"context"
	"errors"
	"net"
	"testing"

	"github.com/fairlead-net/fairlead/attachment"
	"github.com/fairlead-net/fairlead/engine"
	"github.com/fairlead-net/fairlead/kernel"
)

var otherID = attachment.ID{Network: "net", Container: "c2", IfName: "eth0"}

func mac(t *testing.T, s string) net.HardwareAddr {
	t.Helper()
	m, err := net.ParseMAC(s)
	noError(t, err)
	return m
}

// strange makes a pair as another suite does: under a random name.
func strange(t *testing.T, env Env, host string) {
	t.Helper()
	noError(t, env.Host.AddLink(kernel.LinkSpec{
		Name: host, Up: true,
		Kind: kernel.VethKind{Peer: kernel.LinkSpec{Name: "eth0", Netns: env.Container}},
	}))
}

func TestRule6UnmarkedDerivedNameIsOurs(t *testing.T) {
	t.Parallel()
	env := newEnv(t)
	before := picture(t, env)
	strange(t, env, testVeth().Host)
	noError(t, testVeth().Remove(context.Background(), env))
	wantPicture(t, env, before)
}

func TestRule6AnotherOwnersLinkIsLeftAlone(t *testing.T) {
	t.Parallel()
	env := newEnv(t)
	strange(t, env, testVeth().Host)
	set(t, env.Host, testVeth().Host, kernel.LinkChange{Alias: ptr(otherID.Alias())})
	before := picture(t, env)
	wantState(t, env, testVeth(), engine.IsAbsent)
	noError(t, testVeth().Remove(context.Background(), env))
	wantPicture(t, env, before)
	if err := testVeth().Create(context.Background(), env); !engine.IsConflict(err) {
		t.Errorf("Create: %v", err)
	}
	wantPicture(t, env, before)
}

// Someone renamed it: it is found by its index, and by its mark for sure.
func TestRule6RenamedHostEnd(t *testing.T) {
	t.Parallel()
	env := newEnv(t)
	before := picture(t, env)
	v := testVeth()
	made(t, env, v)
	set(t, env.Host, v.Host, kernel.LinkChange{Up: ptr(false)})
	set(t, env.Host, v.Host, kernel.LinkChange{Name: ptr("renamed")})
	env.Container = nil
	noError(t, journaled(t, v).Remove(context.Background(), env))
	links, err := env.Host.Links()
	noError(t, err)
	if len(links) != 1 {
		t.Errorf("%d links, want lo alone; before: %v", len(links), before)
	}
}

// The index that Create saw may be another link's by now: it is left alone, and
// ours is not taken for gone.
func TestRule6IndexIsAHint(t *testing.T) {
	t.Parallel()
	env := newEnv(t)
	strange(t, env, "veth0")
	v := testVeth()
	v.HostIndex = link(t, env.Host, "veth0").Index
	env.Container = nil
	if err := v.Remove(context.Background(), env); !errors.Is(err, errUnproven) {
		t.Errorf("Remove: %v", err)
	}
	link(t, env.Host, "veth0")
}

// Another suite's pair is this attachment's, as it is what CNI_IFNAME is.
func TestRule13AnotherSuitesPair(t *testing.T) {
	t.Parallel()
	env := newEnv(t)
	before := picture(t, env)
	strange(t, env, "veth1a2b3c4d")
	v := testVeth()
	v.ExpectLink("eth0", link(t, env.Container, "eth0").MAC.String(), 1500)
	wantState(t, env, v, engine.IsPresent)
	v.ExpectLink("eth0", "02:00:00:00:00:09", 1500)
	wantState(t, env, v, engine.IsDrifted)
	noError(t, v.Remove(context.Background(), env))
	wantPicture(t, env, before)
}

func TestRule13AnotherSuitesPairEveryCallFails(t *testing.T) {
	t.Parallel()
	for _, mode := range faultModes {
		for n, fired := 1, true; fired; n++ {
			env := newEnv(t)
			before := picture(t, env)
			strange(t, env, "veth1a2b3c4d")
			faulty, has := failing(env, n, mode.after, mode.err)
			if err := testVeth().Remove(context.Background(), faulty); err == nil {
				wantPicture(t, env, before)
			}
			noError(t, testVeth().Remove(context.Background(), env))
			wantPicture(t, env, before)
			fired = has()
		}
	}
}

// A late DEL, when the path leads to another container by now: the interface
// of that name belongs to the attachment that took its place.
func TestCase15LateDELSparesTheReplacement(t *testing.T) {
	t.Parallel()
	for name, replace := range map[string]func(t *testing.T, env Env){
		"marked on the host": func(t *testing.T, env Env) { made(t, env, NewVeth(otherID)) },
		"marked in the container": func(t *testing.T, env Env) {
			strange(t, env, "veth1a2b3c4d")
			set(t, env.Container, "eth0", kernel.LinkChange{Alias: ptr(otherID.Alias())})
		},
		"no veth": func(t *testing.T, env Env) {
			noError(t, env.Container.AddLink(kernel.LinkSpec{Name: "eth0", Kind: kernel.BridgeKind{}}))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := newEnv(t)
			replace(t, env)
			before := picture(t, env)
			wantState(t, env, testVeth(), engine.IsAbsent)
			noError(t, testVeth().Remove(context.Background(), env))
			wantPicture(t, env, before)
		})
	}
}

// With the container gone the host's end is all that is looked at.
func TestRule7WithoutContainer(t *testing.T) {
	t.Parallel()
	env := newEnv(t)
	v := testVeth()
	made(t, env, v)
	host := Env{Host: env.Host}
	wantState(t, host, v, engine.IsPresent)
	for range 2 {
		noError(t, v.Remove(context.Background(), host))
		wantState(t, host, v, engine.IsAbsent)
	}
	if err := v.Create(context.Background(), host); err == nil || engine.IsPartial(err) {
		t.Errorf("Create: %v", err)
	}
}

func TestCase17VethWithoutContainerEveryCallFails(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	env := newEnv(t)
	before := picture(t, env)
	for _, mode := range faultModes {
		for n, fired := 1, true; fired; n++ {
			v := testVeth()
			made(t, env, v)
			faulty, has := mode.failing(env, n)
			faulty.Container = nil
			if err := v.Remove(ctx, faulty); err == nil {
				wantPicture(t, env, before)
			}
			noError(t, v.Remove(ctx, Env{Host: env.Host}))
			wantPicture(t, env, before)
			fired = has()
		}
	}
}

// TestRule7UnknownContainer: nobody could look there. What Create saw of the
// host's end tells whether the pair is gone; else nothing does.
func TestRule7UnknownContainer(t *testing.T) {
	t.Parallel()
	env := newEnv(t)
	ctx := context.Background()
	blind := Env{Host: env.Host, Unknown: errors.New("too many open files")}
	if err := testVeth().Remove(ctx, blind); !errors.Is(err, blind.Unknown) {
		t.Errorf("Remove of what may be there: %v", err)
	}
	if err := testDevice().Remove(ctx, blind); !errors.Is(err, blind.Unknown) {
		t.Errorf("Remove of a device that may be there: %v", err)
	}
	v := testVeth()
	made(t, env, v)
	for range 2 {
		noError(t, v.Remove(ctx, blind))
	}
	if _, err := blind.At(Container); !errors.Is(err, blind.Unknown) {
		t.Errorf("At: %v", err)
	}
}

// TestRule06RecordedPairIsNotAdopted: an ADD that died before it came to make its
// pair, for the name was taken, must not take away what took it.
func TestRule06RecordedPairIsNotAdopted(t *testing.T) {
	t.Parallel()
	env := newEnv(t)
	strange(t, env, "veth1a2b3c4d")
	before := picture(t, env)
	env.Recorded = true
	noError(t, testVeth().Remove(t.Context(), env))
	wantPicture(t, env, before)
	env.Recorded = false
	noError(t, testVeth().Remove(t.Context(), env))
	wantState(t, env, testVeth(), engine.IsAbsent)
}
