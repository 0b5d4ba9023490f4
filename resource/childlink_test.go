package resource

import (
	"context"
	"errors"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/fairlead-net/fairlead/engine"
	"github.com/fairlead-net/fairlead/kernel"
)

var _ Expectant = (*ChildLink)(nil)

// withMasters makes two lower links in each namespace, alike, and takes
// the child's name on the host: kernels before Linux 6.15 look there first.
func withMasters(t *testing.T, env Env) {
	t.Helper()
	for side, ns := range map[string]*kernel.Namespace{"host": env.Host, "ctr": env.Container} {
		noError(t, ns.AddLink(kernel.LinkSpec{
			Name: side + "0", MTU: 9000, Up: true, MAC: mac(t, "02:00:00:00:01:00"),
			Kind: kernel.VethKind{Peer: kernel.LinkSpec{Name: side + "1", MTU: 9000, MAC: mac(t, "02:00:00:00:01:00")}},
		}))
		set(t, ns, side+"1", kernel.LinkChange{Up: ptr(true)})
	}
	noError(t, env.Host.AddLink(kernel.LinkSpec{Name: testID.IfName, Kind: kernel.IFBKind{}, MAC: mac(t, "02:00:00:00:01:02")}))
}

func on(l *ChildLink, master string) *ChildLink {
	l.Master = master
	if strings.HasPrefix(master, "ctr") {
		l.MasterSide = Container
	}
	return l
}

func testMacvlan() *ChildLink { return on(NewMacvlan(testID, "bridge"), "host0") }

// A childCase is one kind of link of a container's own.
type childCase struct {
	name  string
	fresh func() *ChildLink
	// wholly has every call fail in turn.
	wholly bool
}

func macvlans() []childCase {
	with := func(change func(*ChildLink)) func() *ChildLink {
		return func() *ChildLink { l := testMacvlan(); change(l); return l }
	}
	return []childCase{
		{"macvlan", testMacvlan, true},
		{"macvlan values", with(func(l *ChildLink) { l.MTU, l.MAC, l.BCQueueLen = 1400, "02:00:00:00:00:05", 1234 }), false},
		{"macvlan private", with(func(l *ChildLink) { l.Mode = "private" }), false},
		{"macvlan vepa", with(func(l *ChildLink) { l.Mode = "vepa" }), false},
		{"macvlan passthru", func() *ChildLink { return on(NewMacvlan(testID, Passthru), "host0") }, false},
		{"macvlan in the container", func() *ChildLink { return on(NewMacvlan(testID, "bridge"), "ctr0") }, true},
	}
}

func TestMacvlan(t *testing.T) {
	t.Parallel()
	testChildLinks(t, macvlans())
}

func testChildLinks(t *testing.T, cases []childCase) {
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			testKind(t, kindTest{setup: withMasters, fresh: func() Resource { return c.fresh() }, calm: !c.wholly})
			t.Run("is as asked", func(t *testing.T) { t.Parallel(); isAsAsked(t, c.fresh()) })
			t.Run("goes without its master", func(t *testing.T) { t.Parallel(); withoutMaster(t, c.fresh()) })
			t.Run("late DEL", func(t *testing.T) { t.Parallel(); sparesReplacements(t, c.fresh) })
			t.Run("name taken", func(t *testing.T) { t.Parallel(); nameTaken(t, c.fresh) })
			t.Run("drift", func(t *testing.T) { t.Parallel(); commonDrift(t, c.fresh) })
		})
	}
}

// isAsAsked is rule 12: the link has all that was asked for, and nothing was made on the
// host.
func isAsAsked(t *testing.T, l *ChildLink) {
	env := newEnv(t)
	withMasters(t, env)
	host, err := env.Host.Links()
	noError(t, err)
	made(t, env, l)
	found := link(t, env.Container, "eth0")
	if found.Kind != l.Type || found.Up || found.Alias != testID.Alias() || found.Index != l.Index ||
		found.MAC.String() != l.FoundMAC || found.MTU != l.FoundMTU || found.Parent != l.Parent {
		t.Errorf("%+v, of %+v", found, l)
	}
	if l.MAC != "" && found.MAC.String() != l.MAC || l.MTU != 0 && found.MTU != l.MTU {
		t.Errorf("%+v, of %+v", found, l)
	}
	if want, err := l.kernelKind(); err != nil || !sameKind(want, found.Info) {
		t.Errorf("%+v, want %+v, %v", found.Info, want, err)
	}
	after, err := env.Host.Links()
	noError(t, err)
	if len(after) != len(host) {
		t.Errorf("%d links on the host, before %d", len(after), len(host))
	}
	if l.Type == typeDummy {
		return
	}
	ns, err := env.At(l.MasterSide)
	noError(t, err)
	master := link(t, ns, l.Master)
	if found.Parent != master.Index || (found.ParentNetnsID == nil) != (l.MasterSide == Container) {
		t.Errorf("%+v is not on %+v", found, master)
	}
	if l.MTU == 0 && found.MTU != 9000 || l.MAC == "" && found.MAC.String() != master.MAC.String() {
		t.Errorf("%+v is not like its master %+v", found, master)
	}
}

// sameKind lets the kernel fill in what was left to it.
func sameKind(want, got kernel.LinkKind) bool {
	if m, ok := want.(kernel.MacvlanKind); ok && m.BCQueueLen == 0 {
		g, ok := got.(kernel.MacvlanKind)
		return ok && g.Mode == m.Mode
	}
	if _, ok := want.(kernel.VLANKind); ok {
		g, ok := got.(kernel.VLANKind)
		return ok && g.ID == want.(kernel.VLANKind).ID
	}
	return got == want
}

// withoutMaster is case 8: a DEL whose configuration, or node, does not tell
// the master any more, with a record of the link and without one.
func withoutMaster(t *testing.T, l *ChildLink) {
	ctx := context.Background()
	env := newEnv(t)
	withMasters(t, env)
	before := picture(t, env)
	for _, unknown := range []func(*ChildLink){
		func(l *ChildLink) { l.Master, l.Mode, l.MTU, l.VLAN, l.MAC = "", "", 0, 0, "" },
		func(l *ChildLink) { l.Master = "nowhere0" },
	} {
		for _, recorded := range []bool{true, false} {
			made(t, env, l)
			gone := *l
			unknown(&gone)
			if !recorded {
				gone.Index, gone.Parent, gone.ParentNetnsID = 0, 0, nil
			}
			noError(t, gone.Remove(ctx, Env{Host: env.Host.WithFaults(kernel.FailNth("", 1, false, unix.EPERM)), Container: env.Container}))
			wantPicture(t, env, before)
		}
	}
}

// sparesReplacements is case 15: the name belongs to another by now.
func sparesReplacements(t *testing.T, fresh func() *ChildLink) {
	ctx := context.Background()
	for name, replace := range map[string]func(env Env){
		"another owner's": func(env Env) {
			other := fresh()
			other.Owner, other.Alias = otherID.Owner(), otherID.Alias()
			made(t, env, other)
		},
		"of another kind": func(env Env) {
			noError(t, env.Container.AddLink(kernel.LinkSpec{Name: "eth0", Kind: kernel.IFBKind{}}))
		},
	} {
		env := newEnv(t)
		withMasters(t, env)
		old := fresh()
		made(t, env, old)
		noError(t, old.Remove(ctx, env))
		replace(env)
		before := picture(t, env)
		for _, late := range []*ChildLink{old, fresh()} {
			if s := observe(t, env, late); s.Is != engine.IsAbsent {
				t.Errorf("%s: %v", name, s)
			}
			noError(t, late.Remove(ctx, env))
			wantPicture(t, env, before)
		}
	}
}

// nameTaken: EEXIST is about the name in the container. What has it is left
// alone, and the answer says whose it is.
func nameTaken(t *testing.T, fresh func() *ChildLink) {
	env := newEnv(t)
	withMasters(t, env)
	noError(t, env.Container.AddLink(kernel.LinkSpec{Name: "eth0", Kind: kernel.IFBKind{}, MAC: mac(t, "02:00:00:00:00:09")}))
	for _, alias := range []string{"", otherID.Alias()} {
		set(t, env.Container, "eth0", kernel.LinkChange{Alias: &alias})
		before := picture(t, env)
		err := fresh().Create(context.Background(), env)
		if !engine.IsConflict(err) || engine.IsPartial(err) || !strings.Contains(err.Error(), "exists in the container already") ||
			!strings.Contains(err.Error(), alias) {
			t.Errorf("%v", err)
		}
		noError(t, fresh().Remove(context.Background(), env))
		wantPicture(t, env, before)
	}
}

// driftCase is one thing that is changed by hand, or by a later plugin.
type driftCase struct {
	change func(t *testing.T, env Env, l *ChildLink)
	want   string // "" is healthy
}

func commonDrift(t *testing.T, fresh func() *ChildLink) {
	cases := map[string]driftCase{
		"nothing": {func(*testing.T, Env, *ChildLink) {}, ""},
		"mtu": {func(t *testing.T, e Env, l *ChildLink) {
			set(t, e.Container, "eth0", kernel.LinkChange{MTU: ptr(1300)})
		}, "the mtu of eth0 is 1300, want "},
		"renamed": {func(t *testing.T, e Env, l *ChildLink) {
			set(t, e.Container, "eth0", kernel.LinkChange{Name: ptr("mine0")})
		}, "eth0 is called mine0"},
		"forged mark": {func(t *testing.T, e Env, l *ChildLink) {
			set(t, e.Container, "eth0", kernel.LinkChange{Alias: ptr(otherID.Alias())})
		}, ""},
		"prevResult's mtu": {func(_ *testing.T, _ Env, l *ChildLink) { l.ExpectLink("eth0", "", 1280) }, "want 1280"},
		"prevResult's MAC": {func(_ *testing.T, _ Env, l *ChildLink) { l.ExpectLink("eth0", "02:00:00:00:00:0a", 0) }, "want 02:00:00:00:00:0a"},
		"a later plugin's": {func(t *testing.T, e Env, l *ChildLink) {
			set(t, e.Container, "eth0", kernel.LinkChange{MTU: ptr(1280)})
			l.ExpectLink("eth0", "", 1280)
			l.ExpectLink("eth0", l.FoundMAC, 0)
			l.ExpectLink("eth1", "02:00:00:00:00:0b", 9000)
		}, ""},
		"deleted": {func(t *testing.T, e Env, l *ChildLink) {
			_, err := e.Container.DelLink(l.Index)
			noError(t, err)
		}, "absent"},
		"remade": {func(t *testing.T, e Env, l *ChildLink) {
			_, err := e.Container.DelLink(l.Index)
			noError(t, err)
			again := fresh()
			made(t, e, again)
		}, ""},
	}
	if l := fresh(); l.Type != typeDummy {
		cases["master follows"] = driftCase{func(t *testing.T, e Env, l *ChildLink) {
			ns, err := e.At(l.MasterSide)
			noError(t, err)
			set(t, ns, l.Master, kernel.LinkChange{MTU: ptr(1450), MAC: mac(t, "02:00:00:00:00:77")})
		}, ""}
		cases["master renamed"] = driftCase{func(t *testing.T, e Env, l *ChildLink) {
			ns, err := e.At(l.MasterSide)
			noError(t, err)
			set(t, ns, l.Master, kernel.LinkChange{Up: ptr(false)})
			set(t, ns, l.Master, kernel.LinkChange{Name: ptr("renamed0")})
		}, ""}
		cases["another master"] = driftCase{func(t *testing.T, e Env, l *ChildLink) {
			noError(t, l.Remove(context.Background(), e))
			other := fresh()
			other.Master = strings.TrimSuffix(other.Master, "0") + "1"
			made(t, e, other)
		}, "the master of eth0 is "}
	}
	testDrift(t, fresh, cases)
}

// testDrift changes one thing at a time, and holds against each other what
// Observe says and what is wanted. Whatever was changed, Remove takes the link.
func testDrift(t *testing.T, fresh func() *ChildLink, cases map[string]driftCase) {
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := newEnv(t)
			withMasters(t, env)
			l := fresh()
			made(t, env, l)
			c.change(t, env, l)
			state := observe(t, env, l)
			want := map[bool]engine.Presence{true: engine.IsPresent, false: engine.IsDrifted}[c.want == ""]
			if c.want == "absent" {
				want, state.Detail = engine.IsAbsent, c.want
			}
			if state.Is != want || !strings.Contains(state.Detail, c.want) || strings.Contains(state.Detail, ";") {
				t.Errorf("%v %q, want %v %q", state.Is, state.Detail, want, c.want)
			}
			noError(t, journaled(t, l).Remove(context.Background(), env))
			links, err := env.Container.Links()
			noError(t, err)
			for _, left := range links {
				if left.Kind == l.Type {
					t.Errorf("%s is left", left.Name)
				}
			}
		})
	}
}

func TestMacvlanDrift(t *testing.T) {
	t.Parallel()
	remade := func(change func(*ChildLink)) func(*testing.T, Env, *ChildLink) {
		return func(t *testing.T, e Env, l *ChildLink) {
			noError(t, l.Remove(context.Background(), e))
			other := testMacvlan()
			change(other)
			made(t, e, other)
		}
	}
	long := func() *ChildLink { l := testMacvlan(); l.BCQueueLen = 1234; return l }
	testDrift(t, long, map[string]driftCase{
		"mode":  {remade(func(l *ChildLink) { l.Mode, l.BCQueueLen = "private", 1234 }), "the mode of eth0 is private, want bridge"},
		"queue": {remade(func(*ChildLink) {}), "the bcqueuelen of eth0 is 1000, want 1234"},
		"MAC": {func(t *testing.T, e Env, l *ChildLink) {
			set(t, e.Container, "eth0", kernel.LinkChange{MAC: mac(t, "02:00:00:00:00:09")})
		}, "the MAC address of eth0 is 02:00:00:00:00:09, want " + testMacvlan().MAC},
	})
}

func TestChildLinkMasterIsMissing(t *testing.T) {
	t.Parallel()
	env := newEnv(t)
	err := testMacvlan().Create(context.Background(), env)
	if !errors.Is(err, errNoLink) || engine.IsPartial(err) || !strings.Contains(err.Error(), "host0") {
		t.Error(err)
	}
}

// The container can't be looked into: nothing is known of the link.
func TestRule7ChildLinkWithoutContainer(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	env := newEnv(t)
	env.Container = nil
	if err := testMacvlan().Create(ctx, env); err == nil || engine.IsPartial(err) {
		t.Error(err)
	}
	if _, err := testMacvlan().Observe(ctx, env); err == nil {
		t.Error("Observe knows")
	}
	if err := testMacvlan().Remove(ctx, env); err == nil {
		t.Error("Remove knows")
	}
}

// TestRule6PassingName: a crash came between the kernel's making of the link
// and its renaming.
func TestRule6PassingName(t *testing.T) {
	t.Parallel()
	env := newEnv(t)
	withMasters(t, env)
	before := picture(t, env)
	l := testMacvlan()
	l.Name = l.Owner.PassingLink()
	made(t, env, l)
	set(t, env.Container, l.Name, kernel.LinkChange{Alias: ptr("")})
	noError(t, testMacvlan().Remove(context.Background(), env))
	wantPicture(t, env, before)
}

// TestRule13AnotherSuitesChild: without a record, and without a mark.
func TestRule13AnotherSuitesChild(t *testing.T) {
	t.Parallel()
	env := newEnv(t)
	withMasters(t, env)
	before := picture(t, env)
	made(t, env, testMacvlan())
	set(t, env.Container, "eth0", kernel.LinkChange{Alias: ptr(""), MAC: mac(t, "02:00:00:00:00:09")})
	noError(t, testMacvlan().Remove(context.Background(), env))
	wantPicture(t, env, before)
}
