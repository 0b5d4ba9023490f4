//go:build vmtest

package resource

import (
	"context"
	"strings"
	"testing"

	"github.com/fairlead-net/fairlead/engine"
	"github.com/fairlead-net/fairlead/kernel"
)

func testVLAN() *ChildLink   { return on(NewVLAN(testID, 5), "host0") }
func testIPVlan() *ChildLink { return on(NewIPVlan(testID, "l2"), "host0") }

// TestRule12ChildLinks has the kinds that some kernels are built without, and
// once more those that none lacks: before Linux 6.15 they are made elsewhere.
func TestRule12ChildLinks(t *testing.T) {
	t.Parallel()
	with := func(l *ChildLink, change func(*ChildLink)) func() *ChildLink {
		return func() *ChildLink { c := *l; change(&c); return &c }
	}
	testChildLinks(t, []childCase{
		{"dummy", func() *ChildLink { return NewDummy(testID) }, true},
		{"vlan", testVLAN, true},
		{"vlan 0", with(testVLAN(), func(l *ChildLink) { l.VLAN = 0 }), false},
		{"vlan mtu", with(testVLAN(), func(l *ChildLink) { l.MTU = 1400 }), false},
		{"vlan in the container", func() *ChildLink { return on(NewVLAN(testID, 4094), "ctr0") }, true},
		{"ipvlan l2", testIPVlan, true},
		{"ipvlan l3", with(testIPVlan(), func(l *ChildLink) { l.Mode = "l3" }), false},
		{"ipvlan l3s", with(testIPVlan(), func(l *ChildLink) { l.Mode = "l3s" }), false},
		{"ipvlan mtu", with(testIPVlan(), func(l *ChildLink) { l.MTU = 1400 }), false},
		{"ipvlan in the container", func() *ChildLink { return on(NewIPVlan(testID, "l3"), "ctr0") }, true},
	})
}

func TestVLANAndIPVlanDrift(t *testing.T) {
	t.Parallel()
	t.Run("vlan", func(t *testing.T) {
		testDrift(t, testVLAN, map[string]driftCase{
			"number": {func(t *testing.T, e Env, l *ChildLink) {
				noError(t, l.Remove(context.Background(), e))
				other := testVLAN()
				other.VLAN = 6
				made(t, e, other)
			}, "the vlan of eth0 is 6, want 5"},
			"MAC": {func(t *testing.T, e Env, l *ChildLink) {
				set(t, e.Container, "eth0", kernel.LinkChange{MAC: mac(t, "02:00:00:00:00:09")})
			}, "the MAC address of eth0 is 02:00:00:00:00:09, want 02:00:00:00:01:00"},
		})
	})
	t.Run("ipvlan", func(t *testing.T) {
		testDrift(t, testIPVlan, map[string]driftCase{
			"mode": {func(t *testing.T, e Env, l *ChildLink) {
				noError(t, l.Remove(context.Background(), e))
				other := testIPVlan()
				other.Mode = "l3s"
				made(t, e, other)
			}, "the mode of eth0 is l3s, want l2"},
		})
	})
	t.Run("dummy", func(t *testing.T) {
		testDrift(t, func() *ChildLink { return NewDummy(testID) }, map[string]driftCase{
			"MAC": {func(t *testing.T, e Env, l *ChildLink) {
				set(t, e.Container, "eth0", kernel.LinkChange{MAC: mac(t, "02:00:00:00:00:09")})
			}, "the MAC address of eth0 is 02:00:00:00:00:09, want " + NewDummy(testID).MAC},
		})
	})
}

// TestRule12VLANTaken: EEXIST is about the VLAN, and what has it is named,
// where it can be seen.
func TestRule12VLANTaken(t *testing.T) {
	t.Parallel()
	env := newEnv(t)
	withMasters(t, env)
	created := func(l *ChildLink, want string) {
		t.Helper()
		before := picture(t, env)
		err := l.Create(context.Background(), env)
		if !engine.IsConflict(err) || engine.IsPartial(err) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
		wantPicture(t, env, before)
	}
	other := testVLAN()
	other.Name = "net1"
	made(t, env, other)
	created(testVLAN(), "vlan 5 of host0 is in use by a link of another namespace")
	noError(t, env.Host.AddLink(kernel.LinkSpec{Name: "v7", Kind: kernel.VLANKind{ID: 7}, Parent: link(t, env.Host, "host0").Index}))
	l := testVLAN()
	l.VLAN = 7
	created(l, "vlan 7 of host0 is in use by v7")
	inside := on(NewVLAN(testID, 9), "ctr0")
	inside.Name = "net2"
	made(t, env, inside)
	created(on(NewVLAN(testID, 9), "ctr0"), "vlan 9 of ctr0 is in use by net2")
}
