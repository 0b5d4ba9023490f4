package resource

import (
	"context"
	"strings"
	"testing"

	"github.com/fairlead-net/fairlead/attachment"
	"github.com/fairlead-net/fairlead/engine"
	"github.com/fairlead-net/fairlead/kernel"
)

var testID = attachment.ID{Network: "net", Container: "c1", IfName: "eth0"}

func testVeth() *Veth { return NewVeth(testID) }

func newBridge() *Bridge { return NewBridge("cni0", "machine") }

func TestVeth(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*Veth){
		"plain":     func(*Veth) {},
		"mtu":       func(v *Veth) { v.MTU = 1400 },
		"any MAC":   func(v *Veth) { v.MAC, v.HostMAC = "", "" },
		"host down": func(v *Veth) { v.HostDown = true },
		"port":      func(v *Veth) { v.Master = "cni0" },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			testKind(t, kindTest{
				setup: func(t *testing.T, env Env) { made(t, env, newBridge()) },
				fresh: func() Resource { v := testVeth(); change(v); return v },
				calm:  name != "port" && name != "host down",
			})
		})
	}
}

func link(t *testing.T, ns *kernel.Namespace, name string) kernel.Link {
	t.Helper()
	l, ok, err := ns.Link(name)
	noError(t, err)
	if !ok {
		t.Fatalf("there is no %s", name)
	}
	return l
}

func set(t *testing.T, ns *kernel.Namespace, name string, c kernel.LinkChange) {
	t.Helper()
	noError(t, ns.SetLink(link(t, ns, name).Index, c))
}

func ptr[T any](v T) *T { return &v }

func TestVethIsAsAsked(t *testing.T) {
	t.Parallel()
	env := newEnv(t)
	v := testVeth()
	v.MTU, v.Master, v.MAC = 1400, "cni0", "02:00:00:00:00:05"
	made(t, env, newBridge(), v)
	host, guest := link(t, env.Host, v.Host), link(t, env.Container, "eth0")
	if guest.Up || guest.MTU != 1400 || guest.MAC.String() != v.MAC {
		t.Errorf("guest: %+v", guest)
	}
	if !host.Up || host.MTU != 1400 || host.MAC.String() != v.HostMAC || host.Alias != testID.Alias() ||
		host.Master != link(t, env.Host, "cni0").Index || host.Index != v.HostIndex {
		t.Errorf("host: %+v", host)
	}
}

// An operator's bridge takes the lowest address of its ports.
func TestVethDoesNotLendItsAddressToABridge(t *testing.T) {
	t.Parallel()
	if mac := testVeth().HostMAC; !strings.HasPrefix(mac, "fe:") {
		t.Error(mac)
	}
}

func TestSpec27NameTakenInContainer(t *testing.T) {
	t.Parallel()
	env := newEnv(t)
	noError(t, env.Container.AddLink(kernel.LinkSpec{Name: "eth0", Kind: kernel.BridgeKind{}}))
	before := picture(t, env)
	err := testVeth().Create(context.Background(), env)
	if !engine.IsConflict(err) || engine.IsPartial(err) || !strings.Contains(err.Error(), "in the container") {
		t.Fatalf("%v", err)
	}
	wantPicture(t, env, before)
	// The DEL that follows must not take it either.
	noError(t, testVeth().Remove(context.Background(), env))
	wantPicture(t, env, before)
}

func TestVethDrift(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(t *testing.T, env Env, v *Veth)
		want   string
	}{
		"host down": {func(t *testing.T, e Env, v *Veth) { set(t, e.Host, v.Host, kernel.LinkChange{Up: ptr(false)}) }, "is down"},
		"guest mtu": {func(t *testing.T, e Env, v *Veth) { set(t, e.Container, v.Name, kernel.LinkChange{MTU: ptr(1300)}) }, "the mtu of eth0 is 1300, want 1400"},
		"host mtu":  {func(t *testing.T, e Env, v *Veth) { set(t, e.Host, v.Host, kernel.LinkChange{MTU: ptr(1300)}) }, "want 1400"},
		"guest MAC": {func(t *testing.T, e Env, v *Veth) {
			set(t, e.Container, v.Name, kernel.LinkChange{MAC: mac(t, "02:00:00:00:00:09")})
		}, "the MAC address of eth0 is 02:00:00:00:00:09"},
		"no port":    {func(t *testing.T, e Env, v *Veth) { set(t, e.Host, v.Host, kernel.LinkChange{Master: ptr(0)}) }, "is no port of cni0"},
		"moved":      {func(t *testing.T, e Env, v *Veth) { set(t, e.Container, v.Name, kernel.LinkChange{Netns: e.Host}) }, "eth0 is not in the container"},
		"prevResult": {func(_ *testing.T, _ Env, v *Veth) { v.ExpectLink("eth0", "02:00:00:00:00:0a", 1280) }, "want 1280; the MAC address of eth0 is " + testVeth().MAC + ", want 02:00:00:00:00:0a"},
		"prevHost":   {func(_ *testing.T, _ Env, v *Veth) { v.ExpectLink(v.Host, "", 1280) }, "want 1280"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := newEnv(t)
			v := testVeth()
			v.MTU, v.Master = 1400, "cni0"
			made(t, env, newBridge(), v)
			c.change(t, env, v)
			state := observe(t, env, v)
			if state.Is != engine.IsDrifted || !strings.Contains(state.Detail, c.want) {
				t.Errorf("%v %q, want %q", state.Is, state.Detail, c.want)
			}
		})
	}
}

// What the configuration leaves to the kernel must not change either.
func TestVethDriftOfTheKernelsMTU(t *testing.T) {
	t.Parallel()
	env := newEnv(t)
	v := testVeth()
	v.MTU = 0
	made(t, env, v)
	set(t, env.Container, "eth0", kernel.LinkChange{MTU: ptr(1300)})
	set(t, env.Host, v.Host, kernel.LinkChange{MTU: ptr(1301)})
	state := observe(t, env, v)
	for _, want := range []string{"the mtu of eth0 is 1300, want 1500", "the mtu of " + v.Host + " is 1301, want 1500"} {
		if !strings.Contains(state.Detail, want) {
			t.Errorf("%q, want %q", state.Detail, want)
		}
	}
}

// A later plugin's changes, which prevResult tells of, are no drift.
func TestRule14PrevResultWins(t *testing.T) {
	t.Parallel()
	env := newEnv(t)
	v := testVeth()
	v.MTU = 1400
	made(t, env, v)
	set(t, env.Container, "eth0", kernel.LinkChange{MTU: ptr(1300), MAC: mac(t, "02:00:00:00:00:09")})
	v.ExpectLink("eth0", "02:00:00:00:00:09", 1300)
	v.ExpectLink("cni0", "02:00:00:00:00:01", 9000)
	wantState(t, env, v, engine.IsPresent)
}

// A container must not be able to give the host a route.
func TestVethIgnoresRouterAdvertisements(t *testing.T) {
	t.Parallel()
	env := newEnv(t)
	v := testVeth()
	made(t, env, v)
	value, ok, err := env.Host.Sysctl("net/ipv6/conf/" + v.Host + "/accept_ra")
	noError(t, err)
	if !ok || value != "0" {
		t.Errorf("accept_ra is %q", value)
	}
}
