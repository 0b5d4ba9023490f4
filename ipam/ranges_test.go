package ipam

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestParseRange(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		in   WireRange
		want string // "start-end gateway", or the error's text after "!"
	}{
		"defaults, IPv4":            {WireRange{Subnet: "10.1.2.0/24"}, "10.1.2.1-10.1.2.254 10.1.2.1"},
		"defaults, IPv6":            {WireRange{Subnet: "2001:db8:1::/64"}, "2001:db8:1::1-2001:db8:1:0:ffff:ffff:ffff:ffff 2001:db8:1::1"},
		"smallest, IPv4":            {WireRange{Subnet: "192.0.2.0/30"}, "192.0.2.1-192.0.2.2 192.0.2.1"},
		"smallest, IPv6":            {WireRange{Subnet: "2001:db8::/126"}, "2001:db8::1-2001:db8::3 2001:db8::1"},
		"all stated":                {WireRange{"10.1.2.0/24", "10.1.2.9", "10.1.2.20", "10.1.2.30"}, "10.1.2.9-10.1.2.20 10.1.2.30"},
		"one address":               {WireRange{"10.1.2.0/24", "10.1.2.9", "10.1.2.9", ""}, "10.1.2.9-10.1.2.9 10.1.2.1"},
		"the network's own address": {WireRange{"10.1.2.0/24", "10.1.2.0", "10.1.2.255", ""}, "10.1.2.0-10.1.2.255 10.1.2.1"},
		"mapped addresses":          {WireRange{"10.1.2.0/24", "::ffff:10.1.2.9", "", ""}, "10.1.2.9-10.1.2.254 10.1.2.1"},
		"end of the address space":  {WireRange{Subnet: "255.255.255.0/24"}, "255.255.255.1-255.255.255.254 255.255.255.1"},

		"no subnet":            {WireRange{RangeStart: "10.1.2.9"}, "!subnet is missing"},
		"no prefix length":     {WireRange{Subnet: "10.1.2.0"}, "!not an address with a prefix length"},
		"host bits":            {WireRange{Subnet: "10.1.2.9/24"}, "!host bits set; the network is 10.1.2.0/24"},
		"/31":                  {WireRange{Subnet: "10.1.2.0/31"}, "!too small"},
		"/127":                 {WireRange{Subnet: "2001:db8::/127"}, "!too small"},
		"mapped subnet":        {WireRange{Subnet: "::ffff:10.1.2.0/120"}, "!in its IPv4 form"},
		"start outside":        {WireRange{"10.1.2.0/24", "10.1.3.1", "", ""}, "!rangeStart 10.1.3.1 is outside"},
		"end outside":          {WireRange{"10.1.2.0/24", "", "10.1.3.1", ""}, "!rangeEnd 10.1.3.1 is outside"},
		"gateway outside":      {WireRange{"10.1.2.0/24", "", "", "10.1.3.1"}, "!gateway 10.1.3.1 is outside"},
		"gateway of the other": {WireRange{"10.1.2.0/24", "", "", "fd00::1"}, "!gateway fd00::1 is outside"},
		"reversed":             {WireRange{"10.1.2.0/24", "10.1.2.20", "10.1.2.9", ""}, "!comes after"},
		"start after the end that is meant": {
			WireRange{"255.255.255.252/30", "255.255.255.255", "", "255.255.255.255"}, "!comes after"},
		"no address": {WireRange{"10.1.2.0/24", "x", "", ""}, `!rangeStart: "x" is not an IP address`},
		"a zone":     {WireRange{"fe80::/64", "fe80::5%eth0", "", ""}, "!is not an IP address"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, err := ParseRange(tt.in)
			got := fmt.Sprintf("%s %s", r, r.Gateway)
			if want, fails := strings.CutPrefix(tt.want, "!"); fails {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Fatalf("got %v, want an error with %q", err, want)
				}
			} else if err != nil || got != tt.want {
				t.Fatalf("got %q, %v, want %q", got, err, tt.want)
			}
		})
	}
}

func TestParseRangeSet(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		in   []WireRange
		want string
	}{
		"empty":    {nil, "it is empty"},
		"families": {[]WireRange{{Subnet: "10.1.0.0/22"}, {Subnet: "2001:db8:5::/64"}}, "mixes IPv4 and IPv6"},
		"overlap":  {[]WireRange{{Subnet: "10.1.0.0/22"}, {Subnet: "10.1.2.0/24"}}, "overlap"},
		"overlap, the small first": {
			[]WireRange{{Subnet: "10.1.2.0/24"}, {Subnet: "10.1.0.0/22"}}, "overlap"},
		"one subnet, apart": {
			[]WireRange{{"10.1.2.0/24", "10.1.2.5", "10.1.2.9", ""}, {"10.1.2.0/24", "10.1.2.10", "", ""}}, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := ParseRangeSet(tt.in)
			if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Fatalf("got %v, want %q", err, tt.want)
			}
		})
	}
}

func mustSet(tb testing.TB, wires ...WireRange) RangeSet {
	tb.Helper()
	set, err := ParseRangeSet(wires)
	if err != nil {
		tb.Fatal(err)
	}
	return set
}

func TestRoundRobinOrder(t *testing.T) {
	t.Parallel()
	set := mustSet(t,
		WireRange{"10.0.0.0/24", "10.0.0.1", "10.0.0.4", "10.0.0.3"},
		WireRange{"10.0.1.0/24", "10.0.1.8", "10.0.1.9", ""})
	tests := []struct{ last, want string }{
		{"", "0.1 0.2 0.4 1.8 1.9"},
		{"10.0.0.1", "0.2 0.4 1.8 1.9 0.1"},
		{"10.0.0.2", "0.4 1.8 1.9 0.1 0.2"},
		{"10.0.0.3", "0.4 1.8 1.9 0.1 0.2"}, // a gateway may have been leased before it was one
		{"10.0.0.4", "1.8 1.9 0.1 0.2 0.4"},
		{"10.0.1.8", "1.9 0.1 0.2 0.4 1.8"},
		{"10.0.1.9", "0.1 0.2 0.4 1.8 1.9"},
		{"10.0.2.1", "0.1 0.2 0.4 1.8 1.9"},
		{"fd00::1", "0.1 0.2 0.4 1.8 1.9"},
	}
	for _, tt := range tests {
		last, _ := netip.ParseAddr(tt.last)
		var got []string
		for r, a := range set.after(last) {
			if !r.Contains(a) {
				t.Errorf("after %q: %s is not in its range %s", tt.last, a, r)
			}
			got = append(got, strings.TrimPrefix(a.String(), "10.0."))
		}
		if s := strings.Join(got, " "); s != tt.want {
			t.Errorf("after %q: got %s, want %s", tt.last, s, tt.want)
		}
	}
}

func TestRoundRobinEndsWhereNothingIsLeft(t *testing.T) {
	t.Parallel()
	// The only address is the gateway.
	set := mustSet(t, WireRange{"10.0.0.0/24", "10.0.0.7", "10.0.0.7", "10.0.0.7"})
	for _, a := range set.after(netip.Addr{}) {
		t.Errorf("got %s", a)
	}
	// The end of all addresses.
	set = mustSet(t, WireRange{"ffff:ffff:ffff:ffff:ffff:ffff:ffff:fff0/124", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:fffe", "", ""})
	n := 0
	for range set.after(netip.MustParseAddr("ffff:ffff:ffff:ffff:ffff:ffff:ffff:fffe")) {
		n++
	}
	if n != 2 {
		t.Errorf("got %d addresses, want 2", n)
	}
}

// Every address once, whatever the ranges and the place to begin.
func TestRoundRobinVisitsAllOnce(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var wires []WireRange
		want := map[netip.Addr]bool{}
		for i := range rapid.IntRange(1, 4).Draw(t, "ranges") {
			start := rapid.IntRange(0, 20).Draw(t, "start")
			size := rapid.IntRange(1, 10).Draw(t, "size")
			gw := rapid.IntRange(0, 40).Draw(t, "gateway")
			at := func(n int) string { return fmt.Sprintf("10.0.%d.%d", i, n) }
			wires = append(wires, WireRange{at(0) + "/24", at(start), at(start + size - 1), at(gw)})
			for n := start; n < start+size; n++ {
				if n != gw {
					want[netip.MustParseAddr(at(n))] = true
				}
			}
		}
		set, err := ParseRangeSet(wires)
		if err != nil {
			t.Fatal(err)
		}
		last := netip.MustParseAddr(fmt.Sprintf("10.0.%d.%d",
			rapid.IntRange(0, 4).Draw(t, "last range"), rapid.IntRange(0, 40).Draw(t, "last")))
		got := map[netip.Addr]bool{}
		var order []netip.Addr
		for _, a := range set.after(last) {
			if got[a] || !want[a] {
				t.Fatalf("%s came twice or is not of the set", a)
			}
			got[a] = true
			order = append(order, a)
		}
		if len(got) != len(want) {
			t.Fatalf("got %d addresses, want %d", len(got), len(want))
		}
		if i := slices.Index(order, last); i >= 0 && i != len(order)-1 {
			t.Fatalf("the last one came at place %d of %d", i+1, len(order))
		}
	})
}
