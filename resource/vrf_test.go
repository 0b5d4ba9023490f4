package resource

import (
	"net/netip"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/fairlead-net/fairlead/engine"
	"github.com/fairlead-net/fairlead/kernel"
)

func testVRF() *VRF { return &VRF{Name: "red", Table: 1001} }

func testMember() *VRFMember {
	return &VRFMember{
		On:  On{Side: Container, Link: testID.IfName, In: Sandbox},
		VRF: "red", Owner: testID.Owner(), Table: 1001,
	}
}

func TestVRFTableIsOneThatNobodyUses(t *testing.T) {
	t.Parallel()
	env := newEnv(t)
	ns := env.Container
	lo := link(t, ns, "lo")
	noError(t, setUp(ns, lo, true))
	look := func(f VRFTable) uint32 {
		t.Helper()
		table, err := f.Look(env)
		noError(t, err)
		return table
	}
	if got := look(VRFTable{VRF: "red"}); got != 1 {
		t.Errorf("table %d, want 1", got)
	}
	if got := look(VRFTable{VRF: "red", Table: 77}); got != 77 {
		t.Errorf("table %d, want 77", got)
	}
	noError(t, ns.AddRoute(kernel.Route{Dst: netip.MustParsePrefix("10.9.0.0/16"), Link: lo.Index, Table: 1}))
	noError(t, ns.AddRoute(kernel.Route{Dst: netip.MustParsePrefix("fd09::/64"), Link: lo.Index, Table: 2}))
	noError(t, ns.AddRoute(kernel.Route{Dst: netip.MustParsePrefix("0.0.0.0/0"), Type: kernel.RouteUnreachable, Table: 4}))
	noError(t, ns.AddRule(kernel.Rule{Family: unix.AF_INET6, Table: 3, Priority: 100}))
	if got := look(VRFTable{VRF: "red"}); got != 5 {
		t.Errorf("table %d, want 5", got)
	}
	for table := uint32(5); table < 253; table++ {
		noError(t, ns.AddRule(kernel.Rule{Family: unix.AF_INET, Table: table, Priority: int(table)}))
	}
	if got := look(VRFTable{VRF: "red"}); got != 256 {
		t.Errorf("table %d, want 256: 253 to 255 are the kernel's", got)
	}
}

func TestVRFTableThatCannotBeFoundOut(t *testing.T) {
	t.Parallel()
	for _, mode := range faultModes {
		env := newEnv(t)
		for n := 1; ; n++ {
			faulty, fired := mode.failing(env, n)
			table, err := VRFTable{VRF: "red"}.Look(faulty)
			if !fired() {
				noError(t, err)
				break
			}
			if err == nil {
				t.Fatalf("call %d %s, and the table is said to be %d", n, mode.name, table)
			}
		}
	}
	if _, err := (VRFTable{VRF: "red"}).Look(Env{}); err == nil {
		t.Error("no namespace, and no error")
	}
}

func TestRule14VRFMovesRoutes(t *testing.T) {
	t.Parallel()
	m := testMember()
	own := testRoute("10.9.0.0/16", "10.1.0.1")
	own.On = On{Side: Container, Link: testID.IfName}
	amended, ok := m.Amend(own).(*Route)
	if !ok || amended.Table != 1001 || own.Table != 0 {
		t.Errorf("amended to %+v, from %+v", amended, own)
	}
	for name, change := range map[string]func(*Route, *VRFMember){
		"in a table of its own": func(r *Route, _ *VRFMember) { r.Table = 100 },
		"of another interface":  func(r *Route, _ *VRFMember) { r.Link = "net9" },
		"of the host":           func(r *Route, _ *VRFMember) { r.Side = Host },
		"of unknown table":      func(_ *Route, m *VRFMember) { m.Table = 0 },
	} {
		r, m := *own, testMember()
		change(&r, m)
		if m.Amend(&r) != Resource(&r) {
			t.Errorf("a route %s was amended", name)
		}
	}
	for _, other := range []Resource{testVRF(), testAddress("10.1.0.5/16")} {
		if m.Amend(other) != other {
			t.Errorf("%s was amended", engine.RefOf(other))
		}
	}
}
