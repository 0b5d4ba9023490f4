package resource

import (
	"context"
	"testing"

	"github.com/fairlead-net/fairlead/attachment"
	"github.com/fairlead-net/fairlead/engine"
	"github.com/fairlead-net/fairlead/kernel"
)

// estrange gives a link of the host a new name, and another alias.
func estrange(t *testing.T, ns *kernel.Namespace, index int, change kernel.LinkChange) {
	t.Helper()
	noError(t, ns.SetLink(index, kernel.LinkChange{Up: ptr(false)}))
	noError(t, ns.SetLink(index, change))
}

// wantEmpty has nothing in the two namespaces but lo.
func wantEmpty(t *testing.T, env Env) {
	t.Helper()
	for side, ns := range map[Side]*kernel.Namespace{Host: env.Host, Container: env.Container} {
		links, err := ns.Links()
		noError(t, err)
		for _, l := range links {
			if !l.Loopback {
				t.Errorf("%s: %s (%s) is left", side, l.Name, l.Kind)
			}
		}
	}
}

// TestCase29PairIsKnownByItsRecord: whatever was done to the host's end, the
// pair goes, or it is said that it is not known to be gone.
func TestCase29PairIsKnownByItsRecord(t *testing.T) {
	t.Parallel()
	elsewhere := func(t *testing.T) *kernel.Namespace {
		ns, err := kernel.Create("")
		noError(t, err)
		t.Cleanup(func() { _ = ns.Close() })
		return ns
	}
	foreign := kernel.LinkChange{Alias: ptr("an operator's")}
	for name, tc := range map[string]struct {
		change  func(t *testing.T, env Env, v *Veth)
		unknown bool
		another bool
	}{
		"renamed": {change: func(t *testing.T, env Env, v *Veth) {
			estrange(t, env.Host, v.HostIndex, kernel.LinkChange{Name: ptr("renamed")})
		}},
		"another alias": {change: func(t *testing.T, env Env, v *Veth) { estrange(t, env.Host, v.HostIndex, foreign) }},
		"renamed, another alias": {change: func(t *testing.T, env Env, v *Veth) {
			estrange(t, env.Host, v.HostIndex, kernel.LinkChange{Name: ptr("renamed"), Alias: foreign.Alias})
		}},
		"renamed, no alias, another MAC": {change: func(t *testing.T, env Env, v *Veth) {
			estrange(t, env.Host, v.HostIndex, kernel.LinkChange{Name: ptr("renamed"), Alias: ptr(""), MAC: mac(t, "02:00:00:00:00:09")})
		}},
		"renamed, another alias, MAC changed inside": {change: func(t *testing.T, env Env, v *Veth) {
			estrange(t, env.Host, v.HostIndex, kernel.LinkChange{Name: ptr("renamed"), Alias: foreign.Alias})
			set(t, env.Container, "eth0", kernel.LinkChange{MAC: mac(t, "02:00:00:00:00:0a"), Alias: ptr(otherID.Alias())})
			set(t, env.Container, "eth0", kernel.LinkChange{Name: ptr("mine0")})
		}},
		"renamed, another alias, the guest's end moved on": {change: func(t *testing.T, env Env, v *Veth) {
			estrange(t, env.Host, v.HostIndex, kernel.LinkChange{Name: ptr("renamed"), Alias: foreign.Alias})
			set(t, env.Container, "eth0", kernel.LinkChange{Netns: elsewhere(t)})
		}},
		"the host's end moved away": {change: func(t *testing.T, env Env, v *Veth) {
			set(t, env.Host, v.Host, kernel.LinkChange{Netns: elsewhere(t)})
		}},
		"the host's end moved away, the guest's renamed": {change: func(t *testing.T, env Env, v *Veth) {
			set(t, env.Host, v.Host, kernel.LinkChange{Netns: elsewhere(t)})
			set(t, env.Container, "eth0", kernel.LinkChange{Name: ptr("mine0"), Alias: ptr("mine")})
		}},
		"nothing but the index is left of it": {unknown: true, change: func(t *testing.T, env Env, v *Veth) {
			estrange(t, env.Host, v.HostIndex, kernel.LinkChange{Name: ptr("renamed"), Alias: foreign.Alias, MAC: mac(t, "02:00:00:00:00:09")})
			set(t, env.Container, "eth0", kernel.LinkChange{Netns: elsewhere(t)})
		}},
		"it passed to another owner": {another: true, change: func(t *testing.T, env Env, v *Veth) {
			set(t, env.Host, v.Host, kernel.LinkChange{Alias: ptr(otherID.Alias())})
		}},
	} {
		for _, container := range []string{"alive", "not looked at"} {
			if container != "alive" && (name == "the host's end moved away" || name == "the host's end moved away, the guest's renamed") {
				continue
			}
			t.Run(name+", container "+container, func(t *testing.T) {
				t.Parallel()
				env := newEnv(t)
				v := testVeth()
				made(t, env, v)
				tc.change(t, env, v)
				before := picture(t, env)
				recorded := Env{Host: env.Host, Container: env.Container, Recorded: true}
				if container != "alive" {
					recorded.Container = nil
				}
				err := journaled(t, v).Remove(context.Background(), recorded)
				if (err != nil) != tc.unknown {
					t.Fatalf("Remove: %v, want an error: %t", err, tc.unknown)
				}
				if tc.unknown || tc.another {
					wantPicture(t, env, before)
					return
				}
				wantEmpty(t, env)
			})
		}
	}
}

// TestCase29NameOfThePairIsAnothers: the names of two pairs were swapped, and a
// stranger has the name of one that is gone.
func TestCase29NameOfThePairIsAnothers(t *testing.T) {
	t.Parallel()
	env := newEnv(t)
	ctx := context.Background()
	env.Recorded = true
	one, two := testVeth(), NewVeth(attachment.ID{Network: "net", Container: "c1", IfName: "eth1"})
	made(t, env, one, two)
	estrange(t, env.Host, one.HostIndex, kernel.LinkChange{Name: ptr("swap")})
	estrange(t, env.Host, two.HostIndex, kernel.LinkChange{Name: &one.Host, Alias: ptr("")})
	estrange(t, env.Host, one.HostIndex, kernel.LinkChange{Name: &two.Host, Alias: ptr("")})
	if state := observe(t, env, one); state.Is != engine.IsDrifted {
		t.Errorf("%+v", state)
	}
	noError(t, journaled(t, one).Remove(ctx, env))
	if l := link(t, env.Host, one.Host); l.Index != two.HostIndex {
		t.Fatalf("index %d has the name, want %d", l.Index, two.HostIndex)
	}
	noError(t, journaled(t, two).Remove(ctx, env))
	wantEmpty(t, env)

	strange(t, env, one.Host)
	before := picture(t, env)
	noError(t, journaled(t, one).Remove(ctx, env))
	wantPicture(t, env, before)
}

// TestCase29TapOfAVPCIsKnownByItsRecord is the same for a device of the host.
func TestCase29TapOfAVPCIsKnownByItsRecord(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		change           kernel.LinkChange
		unknown, another bool
	}{
		"renamed":                             {change: kernel.LinkChange{Name: ptr("renamed")}},
		"renamed, another alias":              {change: kernel.LinkChange{Name: ptr("renamed"), Alias: ptr("an operator's")}},
		"another MAC":                         {change: kernel.LinkChange{Name: ptr("renamed"), MAC: mac(t, "02:00:00:00:00:09")}},
		"renamed, another alias, another MAC": {unknown: true, change: kernel.LinkChange{Name: ptr("renamed"), Alias: ptr("x"), MAC: mac(t, "02:00:00:00:00:09")}},
		"the next container's":                {another: true, change: kernel.LinkChange{Alias: ptr(otherID.Alias())}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := newEnv(t)
			tap := NewVPCTap(testID, "v", "a")
			noError(t, env.Host.AddLink(kernel.LinkSpec{Name: tap.VRF, Kind: kernel.BridgeKind{}, MAC: mac(t, "02:00:00:00:00:01")}))
			before := picture(t, env)
			made(t, env, tap)
			estrange(t, env.Host, tap.Index, tc.change)
			after := picture(t, env)
			err := journaled(t, tap).Remove(context.Background(), env)
			if (err != nil) != tc.unknown {
				t.Fatalf("Remove: %v, want an error: %t", err, tc.unknown)
			}
			if tc.unknown || tc.another {
				before = after
			}
			wantPicture(t, env, before)
		})
	}
}

// TestCase29HardwareIsKnownByItsPlace: a driver gives an interface another
// burnt-in address when its function is reset.
func TestCase29HardwareIsKnownByItsPlace(t *testing.T) {
	t.Parallel()
	const path = "/sys/devices/pci0000:00/0000:03:00.0"
	one, two := mac(t, "02:00:00:00:00:01"), mac(t, "02:00:00:00:00:02")
	device := Device{Name: "ens5", Index: 7, Path: path, PermMAC: one.String()}
	for name, tc := range map[string]struct {
		device Device
		link   kernel.Link
		want   likeness
	}{
		"all agrees":                   {device, kernel.Link{Index: 7, ParentDev: "0000:03:00.0", PermMAC: one}, same},
		"another index":                {device, kernel.Link{Index: 9, ParentDev: "0000:03:00.0", PermMAC: one}, same},
		"another address":              {device, kernel.Link{Index: 7, ParentDev: "0000:03:00.0", PermMAC: two}, same},
		"no address":                   {device, kernel.Link{Index: 9, ParentDev: "0000:03:00.0"}, same},
		"another index and address":    {device, kernel.Link{Index: 9, ParentDev: "0000:03:00.0", PermMAC: two}, doubted},
		"another place":                {device, kernel.Link{Index: 7, ParentDev: "0000:04:00.0", PermMAC: one}, another},
		"another kind":                 {device, kernel.Link{Index: 7, Kind: "veth"}, another},
		"its place is unknown":         {device, kernel.Link{Index: 7, PermMAC: one}, same},
		"and the address another":      {device, kernel.Link{Index: 7, PermMAC: two}, another},
		"a record of the address only": {Device{Index: 7, PermMAC: one.String()}, kernel.Link{Index: 9, ParentDev: "0000:03:00.0", PermMAC: one}, same},
		"software":                     {Device{Index: 7, Type: "dummy"}, kernel.Link{Index: 7, Kind: "dummy"}, another},
	} {
		if got := tc.device.compare(tc.link, 7); got != tc.want {
			t.Errorf("%s: %d, want %d", name, got, tc.want)
		}
	}
}

// TestCase29LinkThatWasMovedOn: whoever is in the container moved it into a
// namespace of their own, which lives. Software of ours is removed there; a
// device of the host's is not taken for gone.
func TestCase29LinkThatWasMovedOn(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for name, change := range map[string]kernel.LinkChange{
		"as it was":                {},
		"renamed":                  {Name: ptr("mine0")},
		"renamed, without a mark":  {Name: ptr("mine0"), Alias: ptr("mine")},
		"renamed, with a mark yet": {Name: ptr("mine0"), MAC: mac(t, "02:00:00:00:00:09")},
	} {
		for _, kind := range []string{"macvlan", "tap", "device"} {
			if kind == "device" && change.Alias != nil {
				continue
			}
			t.Run(kind+" "+name, func(t *testing.T) {
				t.Parallel()
				env, nested := newEnv(t), newEnv(t).Container
				noError(t, env.Host.AddLink(kernel.LinkSpec{Name: "uplink", Kind: kernel.VethKind{Peer: kernel.LinkSpec{Name: "switch1"}}}))
				// A stranger of the same kind, which must stay.
				noError(t, nested.AddLink(kernel.LinkSpec{Name: "eth1", Kind: kernel.VethKind{Peer: kernel.LinkSpec{Name: "eth2"}}}))
				var r Resource
				index := 0
				switch kind {
				case "macvlan":
					l := NewMacvlan(testID, "bridge")
					l.Master = "uplink"
					made(t, env, l)
					r, index = l, l.Index
				case "tap":
					l := NewTap(testID)
					made(t, env, l)
					r, index = l, l.Index
				case "device":
					withDevice(t, env)
					r, index = moved(t, env), deviceIndex
				}
				noError(t, env.Container.SetLink(index, kernel.LinkChange{Netns: nested}))
				set(t, nested, "eth0", change)
				env.Recorded = true
				err := journaled(t, r).Remove(ctx, env)
				left, listErr := nested.Links()
				noError(t, listErr)
				if kind == "device" {
					if !kernel.Busy(err) || len(left) != 4 {
						t.Errorf("Remove: %v, %d links", err, len(left))
					}
					return
				}
				noError(t, err)
				if len(left) != 3 {
					t.Errorf("%d links are in the third namespace, want lo, eth1 and eth2", len(left))
				}
			})
		}
	}
}

// TestCase29LinkThatMadeTheCallFail: a call died between its intent and the
// kernel's answer that the name is taken. What took it is another's.
func TestCase29LinkThatMadeTheCallFail(t *testing.T) {
	t.Parallel()
	env := newEnv(t)
	env.Recorded = true
	noError(t, env.Host.AddLink(kernel.LinkSpec{Name: "uplink", Kind: kernel.VethKind{Peer: kernel.LinkSpec{Name: "switch1"}}}))
	tried := NewMacvlan(testID, "bridge")
	tried.Master = "uplink"
	theirs := *tried
	theirs.Alias, theirs.MAC = "", "02:00:00:00:00:09"
	made(t, env, &theirs)
	noError(t, journaled(t, tried).Remove(t.Context(), env))
	link(t, env.Container, "eth0")
	// One that was made, and not marked yet.
	set(t, env.Container, "eth0", kernel.LinkChange{MAC: mac(t, tried.MAC)})
	noError(t, journaled(t, tried).Remove(t.Context(), env))
	wantState(t, env, tried, engine.IsAbsent)
}
