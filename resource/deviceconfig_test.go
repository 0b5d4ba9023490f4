package resource

import (
	"context"
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"golang.org/x/sys/unix"

	"github.com/fairlead-net/fairlead/kernel"
)

func TestDeviceConfig(t *testing.T) {
	t.Parallel()
	env := newEnv(t)
	withDevice(t, env)
	set(t, env.Host, "switch0", kernel.LinkChange{Up: ptr(true)})
	p := netip.MustParsePrefix
	for _, a := range []kernel.Address{
		{Prefix: p("192.0.2.5/24")}, {Prefix: p("192.0.2.6/24")}, {Prefix: p("2001:db8::5/64"), NoDAD: true},
		{Prefix: p("169.254.7.7/16"), Scope: kernel.ScopeLink},
		{Prefix: p("2001:db8:1::5/64"), NoDAD: true, ValidLft: 3600, PreferredLft: 3600},
	} {
		a.Link = deviceIndex
		noError(t, env.Host.AddAddress(a))
	}
	gw, gw6 := netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("2001:db8::1")
	for _, r := range []kernel.Route{
		{Dst: p("0.0.0.0/0"), Gateway: gw, Metric: 50},
		{Dst: p("198.51.100.0/24"), Table: 100},
		{Dst: p("0.0.0.0/0"), Gateway: gw, Table: 100},
		{Dst: p("::/0"), Gateway: gw6},
		{Dst: p("2001:db8:9::/64"), Gateway: gw6, Protocol: unix.RTPROT_RA},
	} {
		r.Link = deviceIndex
		noError(t, env.Host.AddRoute(r))
	}
	for _, r := range []kernel.Rule{
		{From: p("192.0.2.5/32"), Table: 100}, {From: p("192.0.2.4/30"), Table: 100},
		{From: p("203.0.113.0/24"), Table: 100}, {From: p("192.0.2.5/32"), Table: 101},
	} {
		noError(t, env.Host.AddRule(r))
	}
	found, err := FindDevice{Wanted: DeviceSelector{Name: "ens5"}, Config: true}.Find(context.Background(), env)
	noError(t, err)
	link := uint8(kernel.ScopeLink)
	universe := uint8(kernel.ScopeUniverse)
	want := &DeviceConfig{
		Addresses: []netip.Prefix{p("192.0.2.5/24"), p("192.0.2.6/24"), p("2001:db8::5/64")},
		Routes: []*Route{
			{Dst: p("198.51.100.0/24"), Table: 100, Scope: &link},
			{Dst: p("0.0.0.0/0"), Gateway: gw, Priority: 50, Scope: &universe},
			{Dst: p("0.0.0.0/0"), Gateway: gw, Table: 100, Scope: &universe},
			{Dst: p("::/0"), Gateway: gw6},
		},
		Rules: []SourceRule{
			{From: p("192.0.2.5/24").Addr(), Table: 100}, {From: p("192.0.2.6/24").Addr(), Table: 100},
		},
	}
	diff := cmp.Diff(want, found.(HostDevice).Config, cmpopts.IgnoreFields(Route{}, "N"),
		cmp.Comparer(func(a, b netip.Prefix) bool { return a == b }), cmp.Comparer(func(a, b netip.Addr) bool { return a == b }),
		cmpopts.SortSlices(func(a, b SourceRule) bool { return a.String() < b.String() }),
		cmpopts.SortSlices(func(a, b *Route) bool {
			return a.Dst.String()+string(rune(a.Table)) < b.Dst.String()+string(rune(b.Table))
		}))
	if diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
