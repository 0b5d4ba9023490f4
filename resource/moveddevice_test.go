package resource

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/fairlead-net/fairlead/attachment"
	"github.com/fairlead-net/fairlead/engine"
	"github.com/fairlead-net/fairlead/kernel"
)

// deviceIndex is that of the device on the host.
const deviceIndex = 500

// testDevice is ens5, moved to eth0.
func testDevice() *MovedDevice {
	return NewMovedDevice(testID, DeviceSelector{Name: "ens5"}, HostDevice{Name: "ens5", Index: deviceIndex})
}

// withDevice puts a device on the host that has all that is to come back.
func withDevice(t *testing.T, env Env) {
	t.Helper()
	noError(t, env.Host.AddLink(kernel.LinkSpec{
		Name: "ens5", Index: deviceIndex, MTU: 1400, Up: true, Kind: kernel.VethKind{Peer: kernel.LinkSpec{Name: "switch0"}},
	}))
	set(t, env.Host, "ens5", kernel.LinkChange{Alias: ptr("uplink of the rack")})
	for _, alt := range []string{"enp3s0", "a-name-of-more-than-fifteen-letters"} {
		noError(t, env.Host.AddAltName(deviceIndex, alt))
	}
}

// occupy makes a link of that name.
func occupy(t *testing.T, ns *kernel.Namespace, name string) {
	t.Helper()
	noError(t, ns.AddLink(kernel.LinkSpec{Name: name, Kind: kernel.VethKind{Peer: kernel.LinkSpec{Name: "x" + name}}}))
}

func TestMovedDevice(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		setup  func(*testing.T, Env)
		change func(*MovedDevice)
		calm   bool // it may come back with another index, which fresh does not know
	}{
		"plain": {},
		"down":  {setup: func(t *testing.T, env Env) { set(t, env.Host, "ens5", kernel.LinkChange{Up: ptr(false)}) }},
		"without an alias": {setup: func(t *testing.T, env Env) {
			set(t, env.Host, "ens5", kernel.LinkChange{Alias: ptr("")})
		}},
		"under its own name":                     {change: func(m *MovedDevice) { m.Name = "ens5" }},
		"its name is taken in the container":     {setup: func(t *testing.T, env Env) { occupy(t, env.Container, "ens5") }},
		"its index is taken in the container":    {setup: func(t *testing.T, env Env) { occupyIndex(t, env.Container) }, calm: true},
		"the name is taken on the host":          {setup: func(t *testing.T, env Env) { occupy(t, env.Host, "eth0") }},
		"an alternative name is the container's": {change: func(m *MovedDevice) { m.Name = "enp3s0" }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			testKind(t, kindTest{
				calm: tc.calm,
				setup: func(t *testing.T, env Env) {
					withDevice(t, env)
					if tc.setup != nil {
						tc.setup(t, env)
					}
				},
				fresh: func() Resource {
					m := testDevice()
					if tc.change != nil {
						tc.change(m)
					}
					return m
				},
			})
		})
	}
}

func occupyIndex(t *testing.T, ns *kernel.Namespace) {
	t.Helper()
	noError(t, ns.AddLink(kernel.LinkSpec{
		Name: "other0", Index: deviceIndex, Kind: kernel.VethKind{Peer: kernel.LinkSpec{Name: "other1"}},
	}))
}

// moved is a device that is in the container.
func moved(t *testing.T, env Env) *MovedDevice {
	t.Helper()
	m := testDevice()
	noError(t, create(context.Background(), env, m))
	return m
}

// TestRule11DeviceAway: while it is away its alias is the bare name, which the
// reference's DEL reads, and the rest is as it was.
func TestRule11DeviceAway(t *testing.T) {
	t.Parallel()
	env := newEnv(t)
	withDevice(t, env)
	before := link(t, env.Host, "ens5")
	m := moved(t, env)
	if _, ok, err := env.Host.Link("ens5"); ok || err != nil {
		t.Error("it is on the host still", err)
	}
	l := link(t, env.Container, "eth0")
	if l.Alias != "ens5" || l.Up || l.MAC.String() != before.MAC.String() || l.MTU != 1400 || !slices.Equal(l.AltNames, before.AltNames) {
		t.Errorf("%+v", l)
	}
	if m.MAC != before.MAC.String() || m.Index != l.Index {
		t.Errorf("%+v", m)
	}
}

// watchNames hears every name that a link of the namespace has had.
func watchNames(t *testing.T, ns *kernel.Namespace, f func()) []string {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	names := map[string]bool{}
	ready, done := make(chan struct{}), make(chan error)
	go func() {
		first := true
		done <- ns.WatchLinks(ctx, func() (bool, error) {
			all, err := ns.Links()
			for _, l := range all {
				names[l.Name] = true
			}
			if first {
				first = false
				close(ready)
			}
			return false, err
		})
	}()
	<-ready
	f()
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	var list []string
	for name := range names {
		list = append(list, name)
	}
	slices.Sort(list)
	return list
}

// TestRule11NoRenameOnTheHost: udev would see it.
func TestRule11NoRenameOnTheHost(t *testing.T) {
	t.Parallel()
	env := newEnv(t)
	withDevice(t, env)
	var m *MovedDevice
	names := watchNames(t, env.Host, func() {
		for range 10 {
			m = moved(t, env)
			noError(t, m.Remove(context.Background(), env))
		}
	})
	if want := []string{"ens5", "lo", "switch0"}; !slices.Equal(names, want) {
		t.Errorf("names seen on the host: %q, want %q", names, want)
	}
}

func TestMovedDeviceRefusals(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		do   func(*testing.T, Env, *MovedDevice)
		want string
	}{
		"name taken": {func(t *testing.T, env Env, _ *MovedDevice) { occupy(t, env.Container, "eth0") }, "interface eth0 exists in the container already"},
		"gone":       {func(_ *testing.T, _ Env, m *MovedDevice) { m.HostDevice.Index = 9999 }, "moved or renamed meanwhile"},
		"renamed": {func(t *testing.T, env Env, _ *MovedDevice) {
			set(t, env.Host, "ens5", kernel.LinkChange{Up: ptr(false)})
			set(t, env.Host, "ens5", kernel.LinkChange{Name: ptr("ens6")})
		}, "moved or renamed meanwhile"},
		"not looked for": {func(_ *testing.T, _ Env, m *MovedDevice) { m.HostDevice = HostDevice{} }, "not looked for"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := newEnv(t)
			withDevice(t, env)
			m := testDevice()
			tc.do(t, env, m)
			before := picture(t, env)
			err := create(context.Background(), env, m)
			if err == nil || !strings.Contains(err.Error(), tc.want) || engine.IsPartial(err) {
				t.Errorf("%v, want %s", err, tc.want)
			}
			wantPicture(t, env, before)
		})
	}
	if testDevice().Inherit(testDevice()) == nil {
		t.Error("one holder inherits of another")
	}
}

// TestCase05Removals are DELs of a device that is not where it was left, each
// twice.
func TestCase05Removals(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		do   func(*testing.T, Env, *MovedDevice)
		away bool // it does not come back
	}{
		"as it was left": {do: func(*testing.T, Env, *MovedDevice) {}},
		"renamed": {do: func(t *testing.T, env Env, _ *MovedDevice) {
			set(t, env.Container, "eth0", kernel.LinkChange{Name: ptr("other0")})
		}},
		"up, and another alias": {do: func(t *testing.T, env Env, _ *MovedDevice) {
			set(t, env.Container, "eth0", kernel.LinkChange{Up: ptr(true), Alias: ptr("mine")})
		}},
		"without what Create learned":                           {do: func(_ *testing.T, _ Env, m *MovedDevice) { m.Index, m.MAC = 0, "" }},
		"its mark is gone, and a link of its kind is new there": {do: func(t *testing.T, env Env, _ *MovedDevice) { occupy(t, env.Container, "new0") }},
		"vanished": {away: true, do: func(t *testing.T, env Env, m *MovedDevice) {
			_, err := env.Container.DelLink(m.Index)
			noError(t, err)
		}},
		"replaced by another": {away: true, do: func(t *testing.T, env Env, m *MovedDevice) {
			_, err := env.Container.DelLink(m.Index)
			noError(t, err)
			made(t, env, testVeth())
		}},
		"brought back by hand": {away: true, do: func(t *testing.T, env Env, _ *MovedDevice) {
			set(t, env.Container, "eth0", kernel.LinkChange{Netns: env.Host, Name: ptr("ens5"), Alias: ptr("by hand")})
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := newEnv(t)
			withDevice(t, env)
			home := picture(t, env)
			m := moved(t, env)
			tc.do(t, env, m)
			want := picture(t, env)
			if !tc.away {
				want = home
				if strings.Contains(name, "new there") {
					want = nil
				}
			}
			for range 2 {
				noError(t, journaled(t, m).Remove(context.Background(), env))
				if want != nil {
					wantPicture(t, env, want)
				}
				if l, ok, err := env.Host.Link("ens5"); !tc.away && (err != nil || !ok || !l.Up || l.Alias != "uplink of the rack") {
					t.Errorf("%+v, %v", l, err)
				}
			}
		})
	}
}

// TestCase05WithoutNamespace: with the namespace a device that is no hardware
// is gone.
func TestCase05WithoutNamespace(t *testing.T) {
	t.Parallel()
	env := newEnv(t)
	withDevice(t, env)
	m := moved(t, env)
	env.Container = nil
	for range 2 {
		noError(t, m.Remove(context.Background(), env))
	}
}

// TestMovedDeviceNameTaken: another link has the name by now. The device is not
// left in the container, and whoever asks is told.
func TestMovedDeviceNameTaken(t *testing.T) {
	t.Parallel()
	env := newEnv(t)
	var said []string
	env.Warn = func(text string) { said = append(said, text) }
	withDevice(t, env)
	m := moved(t, env)
	occupy(t, env.Host, "ens5")
	noError(t, env.Host.AddAltName(link(t, env.Host, "ens5").Index, "enp3s0"))
	for range 2 {
		noError(t, m.Remove(context.Background(), env))
		wantState(t, env, m, engine.IsAbsent)
		l := link(t, env.Host, m.spareName())
		if l.Index != deviceIndex || !l.Up || l.Alias != "uplink of the rack" || len(l.AltNames) != 1 {
			t.Errorf("%+v", l)
		}
	}
	if len(said) != 1 || !strings.Contains(said[0], "ens5") || !strings.Contains(said[0], m.spareName()) {
		t.Errorf("%q", said)
	}
	if l := link(t, env.Host, "ens5"); l.Index == deviceIndex || l.Alias != "" {
		t.Errorf("%+v", l)
	}
}

// TestRule13DeviceOfTheReference: CNI_IFNAME with the name in its alias, and no
// journal.
func TestRule13DeviceOfTheReference(t *testing.T) {
	t.Parallel()
	env := newEnv(t)
	withDevice(t, env)
	set(t, env.Host, "ens5", kernel.LinkChange{Netns: env.Container, Name: ptr("eth0"), Alias: ptr("ens5"), Up: ptr(true)})
	m := NewMovedDevice(testID, DeviceSelector{Name: "ens5"}, HostDevice{})
	for range 2 {
		noError(t, m.Remove(context.Background(), env))
		l := link(t, env.Host, "ens5")
		if l.Up || l.Alias != "" || len(l.AltNames) != 2 || l.MTU != 1400 {
			t.Errorf("%+v", l)
		}
	}
	env.Container = nil
	noError(t, m.Remove(context.Background(), env))
}

// TestCase15DeviceOfAnother: without a journal only what has a host's name in
// its alias is taken for a moved device.
func TestCase15DeviceOfAnother(t *testing.T) {
	t.Parallel()
	for name, alias := range map[string]string{
		"no alias": "", "an owner's mark": attachment.ID{Network: "n", Container: "c", IfName: "eth0"}.Alias(),
		"a sentence": "the red cable", "a path": "a/b", "too long": "sixteen-letters-",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := newEnv(t)
			made(t, env, testVeth())
			set(t, env.Container, "eth0", kernel.LinkChange{Alias: &alias})
			noError(t, env.Container.AddAddress(kernel.Address{Link: link(t, env.Container, "eth0").Index, Prefix: netip.MustParsePrefix("192.0.2.1/24")}))
			before := picture(t, env)
			m := NewMovedDevice(testID, DeviceSelector{Name: "ens5"}, HostDevice{})
			noError(t, (&DeviceNetwork{Name: "eth0"}).Remove(context.Background(), env))
			noError(t, m.Remove(context.Background(), env))
			wantPicture(t, env, before)
		})
	}
}

// TestCase15DeviceClaimed: another attachment's device is left alone, and one of
// which nobody can say whose it is.
func TestCase15DeviceClaimed(t *testing.T) {
	t.Parallel()
	unread := errors.New("an entry is unread")
	for name, answer := range map[string]struct {
		claimed bool
		err     error
	}{"claimed": {true, nil}, "unknown": {false, unread}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := newEnv(t)
			withDevice(t, env)
			moved(t, env)
			noError(t, env.Container.AddAddress(kernel.Address{Link: link(t, env.Container, "eth0").Index, Prefix: netip.MustParsePrefix("192.0.2.1/24")}))
			before := picture(t, env)
			env.Claimed = func(string) (bool, error) { return answer.claimed, answer.err }
			for _, r := range []Resource{&DeviceNetwork{Name: "eth0"}, NewMovedDevice(testID, DeviceSelector{Name: "ens5"}, HostDevice{})} {
				if err := r.Remove(context.Background(), env); !errors.Is(err, answer.err) {
					t.Errorf("remove %s: %v", r.Kind(), err)
				}
				wantPicture(t, env, before)
				if state, err := r.Observe(context.Background(), env); !errors.Is(err, answer.err) || err == nil && state.Is != engine.IsAbsent {
					t.Errorf("observe %s: %v, %v", r.Kind(), state, err)
				}
			}
		})
	}
}

// TestMovedDeviceIdle: a userspace driver has it.
func TestMovedDeviceIdle(t *testing.T) {
	t.Parallel()
	m := NewMovedDevice(testID, DeviceSelector{PCI: "0000:03:00.0"}, HostDevice{Driver: "vfio-pci"})
	testKind(t, kindTest{fresh: func() Resource { return m }, gone: engine.IsPresent})
	testKind(t, kindTest{fresh: func() Resource { return &DeviceNetwork{Name: "eth0", Driver: "vfio-pci"} }, gone: engine.IsPresent})
}

func TestDeviceNetwork(t *testing.T) {
	t.Parallel()
	for _, knows := range []bool{true, false} {
		t.Run(fmt.Sprintf("knows=%t", knows), func(t *testing.T) {
			t.Parallel()
			env := newEnv(t)
			withDevice(t, env)
			m := moved(t, env)
			bare := picture(t, env)
			n := &DeviceNetwork{Name: "eth0"}
			wantState(t, env, n, engine.IsPresent)
			made(t, env, n)
			if !knows {
				n.Index = 0
			}
			wantState(t, env, n, engine.IsPresent)
			fill := func() {
				for _, p := range []string{"192.0.2.1/24", "192.0.2.2/24", "2001:db8::1/64"} {
					noError(t, env.Container.AddAddress(kernel.Address{Link: m.Index, Prefix: netip.MustParsePrefix(p), NoDAD: true}))
				}
			}
			for _, mode := range faultModes {
				for i := 1; ; i++ {
					fill()
					faulty, fired := mode.failing(env, i)
					err := journaled(t, n).Remove(context.Background(), faulty)
					if !fired() {
						noError(t, err)
						break
					}
					if err == nil {
						wantPicture(t, env, bare)
					}
					noError(t, n.Remove(context.Background(), env))
					wantPicture(t, env, bare)
				}
			}
			noError(t, m.Remove(context.Background(), env))
			wantState(t, env, n, engine.IsAbsent)
			noError(t, n.Remove(context.Background(), env))
		})
	}
}

func TestMovedDeviceDrift(t *testing.T) {
	t.Parallel()
	env := newEnv(t)
	withDevice(t, env)
	m := moved(t, env)
	wantState(t, env, m, engine.IsPresent)
	set(t, env.Container, "eth0", kernel.LinkChange{MTU: ptr(1300), MAC: m.Owner.MAC("x")})
	want := fmt.Sprintf("the mtu of eth0 is 1300, want 1400; the MAC address of eth0 is %s, want %s", m.Owner.MAC("x"), m.MAC)
	if state := observe(t, env, m); state.Is != engine.IsDrifted || state.Detail != want {
		t.Errorf("%+v, want %s", state, want)
	}
	m.ExpectLink("eth0", m.Owner.MAC("x").String(), 1300) // a later plugin's doing
	wantState(t, env, m, engine.IsPresent)
}

func TestMovedDeviceReady(t *testing.T) {
	t.Parallel()
	env := newEnv(t)
	withDevice(t, env)
	m := testDevice()
	noError(t, m.Ready(context.Background(), env))
	noError(t, create(context.Background(), env, m))
	if err := m.Ready(context.Background(), env); !errors.Is(err, errNoLink) {
		t.Errorf("ready while it is away: %v", err)
	}
	noError(t, NewMovedDevice(testID, DeviceSelector{}, HostDevice{}).Ready(context.Background(), env))
}
