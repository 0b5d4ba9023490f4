package kernel

import (
	"errors"
	"fmt"
	"net/netip"
	"reflect"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// routed gives a namespace with a link that is up and has addresses.
func routed(t testing.TB) (*Namespace, Link) {
	t.Helper()
	n := newNS(t)
	a, _ := addPair(t, n, "a", n, "b")
	must(t, n.AddAddress(Address{Link: a.Index, Prefix: pfx("192.0.2.1/24")}))
	must(t, n.AddAddress(Address{Link: a.Index, Prefix: pfx("2001:db8::1/64"), NoDAD: true}))
	return n, a
}

func TestRoutes(t *testing.T) {
	t.Parallel()
	n, a := routed(t)
	must(t, n.SetLink(link(t, n, "lo").Index, LinkChange{Up: ptr(true)}))
	for name, r := range map[string]Route{
		"on the link":      {Dst: pfx("198.51.100.0/24"), Link: a.Index},
		"host":             {Dst: pfx("198.51.100.7/32"), Link: a.Index, Source: addr("192.0.2.1")},
		"by a gateway":     {Dst: pfx("203.0.113.0/24"), Gateway: addr("192.0.2.9"), MTU: 1400, AdvMSS: 1300, Metric: 5, TOS: 8},
		"default":          {Dst: pfx("0.0.0.0/0"), Gateway: addr("192.0.2.9")},
		"gateway onlink":   {Dst: pfx("10.1.0.0/16"), Gateway: addr("10.9.9.9"), Link: a.Index, OnLink: true},
		"by IPv6":          {Dst: pfx("10.2.0.0/16"), Gateway: addr("2001:db8::9"), Link: a.Index},
		"table":            {Dst: pfx("10.3.0.0/16"), Link: a.Index, Table: 1000, Protocol: 77},
		"unreachable":      {Dst: pfx("10.4.0.0/16"), Type: RouteUnreachable},
		"blackhole":        {Dst: pfx("10.5.0.0/16"), Type: RouteBlackhole, Table: 1000},
		"scope":            {Dst: pfx("10.6.0.0/16"), Link: a.Index, Scope: ptr(ScopeHost)},
		"IPv6 on the link": {Dst: pfx("2001:db8:1::/64"), Link: a.Index, Metric: 5},
		"IPv6 host":        {Dst: pfx("2001:db8:2::1/128"), Link: a.Index},
		"IPv6 gateway":     {Dst: pfx("2001:db8:3::/48"), Gateway: addr("2001:db8::9"), Link: a.Index, MTU: 1400},
		"IPv6 default":     {Dst: pfx("::/0"), Gateway: addr("2001:db8::9"), Link: a.Index, Table: 1000},
		"IPv6 unreachable": {Dst: pfx("2001:db8:4::/48"), Type: RouteUnreachable},
		"last of all":      {Dst: pfx("0.0.0.0/0"), Type: RouteUnreachable, Table: 1001, Metric: 0xff000001, Protocol: 70},
		"IPv6 last of all": {Dst: pfx("::/0"), Type: RouteUnreachable, Table: 1001, Metric: 0xff000001, Protocol: 70},
		"throw":            {Dst: pfx("fc00::7/128"), Type: RouteThrow, Table: 1001, Metric: 0xff000001},
		"several ways": {Dst: pfx("10.7.0.0/16"), NextHops: []NextHop{
			{Gateway: addr("192.0.2.8"), Link: a.Index, Weight: 1}, {Gateway: addr("192.0.2.9"), Link: a.Index, Weight: 7},
		}},
		"into a tunnel": {Dst: pfx("10.8.0.0/16"), Link: a.Index, Encap: TunnelEncap{
			ID: 77, Remote: addr("192.0.2.9"), Local: addr("192.0.2.1"), TTL: 3, TOS: 4,
		}},
		"SRv6": {Dst: pfx("10.9.0.0/16"), Link: a.Index, Encap: SRv6Encap{
			Mode: SRv6Wrap, Segments: []netip.Addr{addr("fc00::1"), addr("fc00::2")},
		}},
		"SRv6 of IPv6": {Dst: pfx("2001:db8:6::/48"), Link: a.Index, Table: 1001, Encap: SRv6Encap{
			Mode: SRv6Wrap, Segments: []netip.Addr{addr("fc00::1")},
		}},
		"SRv6 inline": {Dst: pfx("2001:db8:5::/48"), Link: a.Index, Encap: SRv6Encap{
			Segments: []netip.Addr{addr("fc00::1"), addr("fc00::2")},
		}},
		"SRv6 local": {Dst: pfx("fc00::9/128"), Link: a.Index, Encap: SRv6Local{Action: SRv6EndDT6, Table: 254}},
	} {
		t.Run(name, func(t *testing.T) { testRoute(t, n, r) })
	}
}

func testRoute(t *testing.T, n *Namespace, r Route) {
	must(t, n.AddRoute(r))
	if err := n.AddRoute(r); !Exists(err) {
		t.Errorf("added twice: %v", err)
	}
	must(t, n.ReplaceRoute(r))
	got, ok, err := n.Route(Route{Dst: r.Dst, Table: r.Table})
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	if _, ok, err := n.Route(r); err != nil || !ok {
		t.Error("not by all that it is", ok, err)
	}
	want := r
	// What is the kernel's choice, or ours.
	want.Table = r.table()
	if want.Protocol == 0 {
		want.Protocol = unix.RTPROT_STATIC
	}
	if want.Type == 0 {
		want.Type = RouteUnicast
	}
	if want.Scope == nil {
		want.Scope = ptr(want.naturalScope())
	}
	if want.Link == 0 {
		want.Link = got.Link
	}
	if want.Metric == 0 && r.Dst.Addr().Is6() {
		want.Metric = 1024
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	for i, want := range []bool{true, false} {
		if ok, err := n.DelRoute(r); ok != want || err != nil {
			t.Errorf("removal %d: %v, %v", i+1, ok, err)
		}
	}
	if got, ok, err := n.Route(Route{Dst: r.Dst, Table: r.Table}); ok || err != nil {
		t.Error(got, ok, err)
	}
}

// TestRouteAmongOthers: a look-up is exact, whatever else would match.
func TestRouteAmongOthers(t *testing.T) {
	t.Parallel()
	n, a := routed(t)
	for _, d := range []string{"10.0.0.0/8", "10.1.0.0/16", "10.1.0.0/32"} {
		must(t, n.AddRoute(Route{Dst: pfx(d), Link: a.Index}))
	}
	must(t, n.AddRoute(Route{Dst: pfx("10.1.0.0/16"), Link: a.Index, Metric: 9}))
	must(t, n.AddRoute(Route{Dst: pfx("10.1.0.0/16"), Link: a.Index, Table: 1000, Metric: 11}))
	for _, c := range []struct {
		key  Route
		want int // metric; -1: none
	}{
		{Route{Dst: pfx("10.0.0.0/8")}, 0},
		{Route{Dst: pfx("10.1.0.0/16")}, 0},
		{Route{Dst: pfx("10.1.0.0/16"), Metric: 9}, 9},
		{Route{Dst: pfx("10.1.0.0/16"), Table: 1000}, 11},
		{Route{Dst: pfx("10.1.0.0/32")}, 0},
		{Route{Dst: pfx("10.1.0.0/24")}, -1},
		{Route{Dst: pfx("10.1.0.1/32")}, -1},
		{Route{Dst: pfx("10.1.0.0/16"), Metric: 10}, -1},
		{Route{Dst: pfx("10.1.0.0/16"), Gateway: addr("192.0.2.9")}, -1},
		{Route{Dst: pfx("10.1.0.0/16"), Type: RouteBlackhole}, -1},
		{Route{Dst: pfx("10.1.0.0/16"), Link: a.Index + 1}, -1},
		{Route{Dst: pfx("10.1.0.0/16"), Link: 4711}, -1},
		{Route{Dst: pfx("10.1.0.0/16"), Table: 4711}, -1},
		{Route{Dst: pfx("0.0.0.0/0")}, -1},
		{Route{Dst: pfx("::/0")}, -1},
		{Route{Dst: pfx("192.0.2.0/24"), Link: a.Index}, 0},
		{Route{Dst: pfx("2001:db8::/64")}, 256},
		{Route{Dst: pfx("2001:db8::/64"), Table: 4711}, -1},
	} {
		r, ok, err := n.Route(c.key)
		if err != nil || ok != (c.want >= 0) || ok && r.Metric != c.want {
			t.Errorf("%v: %v, %v, %v", c.key, r, ok, err)
		}
	}
}

// TestCase25RouteByKey: a host's route is found without reading the table.
func TestCase25RouteByKey(t *testing.T) {
	t.Parallel()
	n, a := routed(t)
	for _, d := range []string{"10.1.0.1/32", "2001:db8:1::1/128"} {
		must(t, n.AddRoute(Route{Dst: pfx(d), Link: a.Index}))
		r, err := n.lookup(pfx(d).Addr(), true, a.Index)
		if err != nil || r.Dst != pfx(d) || r.Link != a.Index || r.Table != MainTable {
			t.Errorf("%+v, %v", r, err)
		}
	}
}

func TestRouteLists(t *testing.T) {
	t.Parallel()
	n, a := routed(t)
	b := link(t, n, "b")
	must(t, n.AddRoute(Route{Dst: pfx("10.1.0.0/16"), Link: b.Index}))
	must(t, n.AddRoute(Route{Dst: pfx("10.2.0.0/16"), Link: a.Index, Table: 1000, Protocol: 77}))
	must(t, n.AddRoute(Route{Dst: pfx("0.0.0.0/0"), Gateway: addr("192.0.2.9")}))
	must(t, n.AddRoute(Route{Dst: pfx("0.0.0.0/0"), Type: RouteUnreachable, Metric: 99}))
	must(t, n.AddRoute(Route{Dst: pfx("::/0"), Gateway: addr("2001:db8::9"), Link: a.Index}))
	must(t, n.AddRoute(Route{Dst: pfx("10.7.0.0/16"), NextHops: []NextHop{{Link: a.Index}, {Link: b.Index}}}))
	list := func(all []Route, err error) string {
		t.Helper()
		must(t, err)
		var s []string
		for _, r := range all {
			if r.Dst.Addr().IsLinkLocalUnicast() || r.Dst.Addr().IsMulticast() {
				continue
			}
			s = append(s, r.Dst.String())
		}
		return strings.Join(s, " ")
	}
	for _, c := range []struct {
		f    RouteFilter
		want string
	}{
		{RouteFilter{Family: unix.AF_INET}, "0.0.0.0/0 0.0.0.0/0 10.1.0.0/16 10.7.0.0/16 192.0.2.0/24"},
		{RouteFilter{Family: unix.AF_INET, Link: b.Index}, "10.1.0.0/16 10.7.0.0/16"},
		{RouteFilter{Family: unix.AF_INET, Type: RouteUnreachable}, "0.0.0.0/0"},
		{RouteFilter{Family: unix.AF_INET6}, "2001:db8::/64 ::/0"},
		{RouteFilter{Link: a.Index}, "0.0.0.0/0 10.7.0.0/16 192.0.2.0/24 2001:db8::/64 ::/0"},
		{RouteFilter{Table: 1000}, "10.2.0.0/16"},
		{RouteFilter{AllTables: true, Protocol: 77}, "10.2.0.0/16"},
		{RouteFilter{Table: 4711}, ""},
		{RouteFilter{Link: 4711}, ""},
		{RouteFilter{Table: unix.RT_TABLE_LOCAL, Link: a.Index, Family: unix.AF_INET}, "192.0.2.1/32 192.0.2.255/32"},
	} {
		if got := list(n.Routes(c.f)); got != c.want {
			t.Errorf("%+v: %s, want %s", c.f, got, c.want)
		}
	}
	if got := list(n.DefaultRoutes(0)); got != "0.0.0.0/0 ::/0" {
		t.Error(got)
	}
	if got := list(n.DefaultRoutes(unix.AF_INET6)); got != "::/0" {
		t.Error(got)
	}
}

func TestRouteTo(t *testing.T) {
	t.Parallel()
	n, a := routed(t)
	must(t, n.AddRoute(Route{Dst: pfx("10.0.0.0/8"), Gateway: addr("192.0.2.9")}))
	must(t, n.AddRoute(Route{Dst: pfx("10.1.0.0/16"), Type: RouteUnreachable}))
	r, ok, err := n.RouteTo(addr("10.2.3.4"))
	if err != nil || !ok || r.Link != a.Index || r.Gateway != addr("192.0.2.9") || r.Source != addr("192.0.2.1") {
		t.Errorf("%+v, %v, %v", r, ok, err)
	}
	for _, d := range []string{"10.1.2.3", "11.0.0.1", "2001:db8:1::1"} {
		if r, ok, err := n.RouteTo(addr(d)); ok || err != nil {
			t.Errorf("%s: %+v, %v, %v", d, r, ok, err)
		}
	}
}

func TestRouteRefusals(t *testing.T) {
	t.Parallel()
	n, a := routed(t)
	err := n.AddRoute(Route{Dst: pfx("10.1.0.0/16"), Gateway: addr("10.9.9.9")})
	if err == nil || Absent(ObjectRoute, err) {
		t.Error(err)
	}
	contains(t, err, "route.add 10.1.0.0/16 via 10.9.9.9", "Nexthop has invalid gateway")
	if err := n.AddRoute(Route{Dst: pfx("10.1.0.0/16"), Link: 4711}); !Absent(ObjectLink, err) {
		t.Error(err)
	}
	if err := n.AddRoute(Route{Link: a.Index}); !errors.Is(err, unix.EINVAL) {
		t.Error(err)
	}
	for _, r := range []Route{
		{Dst: pfx("10.1.0.0/16"), Link: 4711}, {Dst: pfx("10.1.0.0/16"), Table: 4711},
		{Dst: pfx("2001:db8:9::/64"), Link: 4711}, {Dst: pfx("2001:db8:9::/64"), Table: 4711},
		{Dst: pfx("0.0.0.0/0")}, {Dst: pfx("::/0")},
	} {
		if ok, err := n.DelRoute(r); ok || err != nil {
			t.Errorf("%v: %v, %v", r, ok, err)
		}
	}
}

// TestReplaceRouteChanges: the entry of this destination and metric is another
// then.
func TestReplaceRouteChanges(t *testing.T) {
	t.Parallel()
	n, a := routed(t)
	key := Route{Dst: pfx("10.1.0.0/16"), Metric: 7}
	must(t, n.AddRoute(Route{Dst: key.Dst, Metric: 7, Link: a.Index}))
	must(t, n.ReplaceRoute(Route{Dst: key.Dst, Metric: 7, Gateway: addr("192.0.2.9"), MTU: 1300}))
	r, ok, err := n.Route(key)
	if err != nil || !ok || r.Gateway != addr("192.0.2.9") || r.MTU != 1300 {
		t.Errorf("%+v, %v, %v", r, ok, err)
	}
}

// BenchmarkRoute: a look-up costs the same whatever else the table has.
func BenchmarkRoute(b *testing.B) {
	for _, others := range []int{0, 10000} {
		b.Run(fmt.Sprint(others), func(b *testing.B) {
			n, a := routed(b)
			for i := range others {
				ip := netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)})
				must(b, n.AddRoute(Route{Dst: netip.PrefixFrom(ip, 32), Link: a.Index}))
			}
			must(b, n.AddRoute(Route{Dst: pfx("172.16.0.1/32"), Link: a.Index}))
			for b.Loop() {
				if _, ok, err := n.Route(Route{Dst: pfx("172.16.0.1/32"), Link: a.Index}); !ok || err != nil {
					b.Fatal(ok, err)
				}
			}
		})
	}
}
