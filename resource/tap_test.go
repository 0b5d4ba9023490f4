package resource

import (
	"context"
	"errors"
	"testing"

	"github.com/fairlead-net/fairlead/attachment"
	"github.com/fairlead-net/fairlead/engine"
	"github.com/fairlead-net/fairlead/kernel"
)

func testTap() *Tap { return NewTap(testID) }

// withBridge puts a bridge into the container.
func withBridge(t *testing.T, env Env) {
	t.Helper()
	noError(t, env.Container.AddLink(kernel.LinkSpec{Name: "br0", Kind: kernel.BridgeKind{}, MAC: testTap().Owner.MAC("br0"), Up: true}))
}

func TestTap(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*Tap){
		"plain": func(*Tap) {},
		"all": func(p *Tap) {
			p.User, p.Group, p.MultiQueue = ptr(uint32(1000)), ptr(uint32(1001)), true
			p.MTU, p.MAC, p.Bridge = 1400, "02:00:00:00:00:05", "br0"
		},
		"any MAC": func(p *Tap) { p.MAC = "" },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			testKind(t, kindTest{
				setup: withBridge,
				fresh: func() Resource { p := testTap(); change(p); return p },
				calm:  name == "plain",
			})
		})
	}
}

func TestTapIsAsAsked(t *testing.T) {
	t.Parallel()
	env := newEnv(t)
	withBridge(t, env)
	// The host's having the name is no matter.
	noError(t, env.Host.AddTap(t.Context(), kernel.TapSpec{Name: "eth0"}))
	p := testTap()
	p.User, p.Group, p.MultiQueue = ptr(uint32(1000)), ptr(uint32(1001)), true
	p.MTU, p.MAC, p.Bridge = 1400, "02:00:00:00:00:05", "br0"
	made(t, env, p)
	l := link(t, env.Container, "eth0")
	if l.Kind != typeTun || l.Up || l.MTU != 1400 || l.MAC.String() != p.MAC || l.Alias != p.Alias || l.Index != p.Index ||
		l.Master != link(t, env.Container, "br0").Index {
		t.Errorf("%+v", l)
	}
	k, ok := l.Info.(kernel.TunKind)
	if !ok || !k.Tap || *k.Owner != 1000 || *k.Group != 1001 || !k.MultiQueue || !k.Persist {
		t.Errorf("%+v", l.Info)
	}
}

func TestTapWhoseNameIsTaken(t *testing.T) {
	t.Parallel()
	for name, make := range map[string]func(*testing.T, Env){
		"a tap": func(t *testing.T, env Env) {
			noError(t, env.Container.AddTap(t.Context(), kernel.TapSpec{Name: "eth0"}))
		},
		"another": func(t *testing.T, env Env) { made(t, env, testVeth()) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := newEnv(t)
			make(t, env)
			before := picture(t, env)
			err := testTap().Create(context.Background(), env)
			if !engine.IsConflict(err) || engine.IsPartial(err) {
				t.Fatalf("%v, want a conflict", err)
			}
			wantPicture(t, env, before)
		})
	}
}

func TestTapNeedsItsBridge(t *testing.T) {
	t.Parallel()
	env := newEnv(t)
	before := picture(t, env)
	p := testTap()
	p.Bridge = "br0"
	if err := p.Create(context.Background(), env); !errors.Is(err, errNoLink) || engine.IsPartial(err) {
		t.Errorf("%v", err)
	}
	wantPicture(t, env, before)
}

// TestTapWithoutSELinux: a context that can't be given is an error that says
// so, and nothing is made.
func TestTapWithoutSELinux(t *testing.T) {
	t.Parallel()
	env := newEnv(t)
	before := picture(t, env)
	p := testTap()
	p.SELinux = "system_u:system_r:container_t:s0"
	if err := p.Create(context.Background(), env); !errors.Is(err, kernel.ErrNoSELinux) || engine.IsPartial(err) {
		t.Errorf("%v", err)
	}
	wantPicture(t, env, before)
}

// TestCase15TapOfAnother: a link of the name that is not ours is left alone.
func TestCase15TapOfAnother(t *testing.T) {
	t.Parallel()
	other := attachment.ID{Network: "net", Container: "c2", IfName: "eth0"}
	for name, make := range map[string]func(*testing.T, Env){
		"another owner's tap": func(t *testing.T, env Env) { made(t, env, NewTap(other)) },
		"another kind":        func(t *testing.T, env Env) { made(t, env, testVeth()) },
		"an alternative name": func(t *testing.T, env Env) {
			noError(t, env.Container.AddTap(t.Context(), kernel.TapSpec{Name: "tap9"}))
			noError(t, env.Container.AddAltName(link(t, env.Container, "tap9").Index, "eth0"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := newEnv(t)
			make(t, env)
			before := picture(t, env)
			noError(t, testTap().Remove(context.Background(), env))
			wantState(t, env, testTap(), engine.IsAbsent)
			wantPicture(t, env, before)
		})
	}
}

// TestRule13TapOfTheReference has no mark, and goes all the same.
func TestRule13TapOfTheReference(t *testing.T) {
	t.Parallel()
	env := newEnv(t)
	noError(t, env.Container.AddTap(t.Context(), kernel.TapSpec{Name: "eth0", MultiQueue: true}))
	noError(t, testTap().Remove(context.Background(), env))
	if _, ok, err := env.Container.Link("eth0"); ok || err != nil {
		t.Error(ok, err)
	}
}

// TestTapRenamed: whoever is in the container can rename it, and forge its
// mark.
func TestTapRenamed(t *testing.T) {
	t.Parallel()
	env := newEnv(t)
	p := testTap()
	made(t, env, p)
	mark := attachment.ID{Network: "net", Container: "c2", IfName: "eth0"}.Alias()
	set(t, env.Container, "eth0", kernel.LinkChange{Name: ptr("other0"), Alias: &mark})
	wantState(t, env, p, engine.IsDrifted)
	noError(t, journaled(t, p).Remove(context.Background(), env))
	if _, ok, err := env.Container.Link("other0"); ok || err != nil {
		t.Error(ok, err)
	}
}

func TestTapDrift(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		change kernel.LinkChange
		want   string
	}{
		"mtu":    {kernel.LinkChange{MTU: ptr(1300)}, "the mtu of eth0 is 1300, want 1400"},
		"mac":    {kernel.LinkChange{MAC: testTap().Owner.MAC("x")}, "the MAC address of eth0 is " + testTap().Owner.MAC("x").String() + ", want " + testTap().MAC},
		"master": {kernel.LinkChange{Master: ptr(0)}, "eth0 is no port of br0"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := newEnv(t)
			withBridge(t, env)
			p := testTap()
			p.MTU, p.Bridge = 1400, "br0"
			made(t, env, p)
			wantState(t, env, p, engine.IsPresent)
			set(t, env.Container, "eth0", tc.change)
			if state := observe(t, env, p); state.Is != engine.IsDrifted || state.Detail != tc.want {
				t.Errorf("%v %q, want %q", state.Is, state.Detail, tc.want)
			}
			if tc.change.MTU != nil {
				p.ExpectLink("eth0", "", 1300) // a later plugin's doing
				wantState(t, env, p, engine.IsPresent)
			}
		})
	}
}
