package kernel

import (
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"
	"testing"
)

// newNS gives a network namespace of the test's own.
func newNS(t testing.TB) *Namespace {
	t.Helper()
	n, err := Create("")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = n.Close() })
	return n
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// link looks up a link that must be there.
func link(t testing.TB, n *Namespace, name string) Link {
	t.Helper()
	l, ok, err := n.Link(name)
	must(t, err)
	if !ok {
		t.Fatalf("no link %s", name)
	}
	return l
}

func noLink(t testing.TB, n *Namespace, name string) {
	t.Helper()
	_, ok, err := n.Link(name)
	must(t, err)
	if ok {
		t.Errorf("there is a link %s", name)
	}
}

func addLink(t testing.TB, n *Namespace, s LinkSpec) Link {
	t.Helper()
	must(t, n.AddLink(s))
	at := n
	if s.Netns != nil {
		at = s.Netns
	}
	return link(t, at, s.Name)
}

// addPair gives a pair of links, both up: a, and b in the other namespace.
func addPair(t testing.TB, n *Namespace, a string, o *Namespace, b string) (Link, Link) {
	t.Helper()
	la := addLink(t, n, LinkSpec{Name: a, Up: true, Kind: VethKind{Peer: LinkSpec{Name: b, Netns: o}}})
	lb := link(t, o, b)
	must(t, o.SetLink(lb.Index, LinkChange{Up: ptr(true)}))
	return la, lb
}

func ptr[T any](v T) *T { return &v }

func mac(s string) net.HardwareAddr {
	m, err := net.ParseMAC(s)
	if err != nil {
		panic(err)
	}
	return m
}

func pfx(s string) netip.Prefix { return netip.MustParsePrefix(s) }
func addr(s string) netip.Addr  { return netip.MustParseAddr(s) }

// machineLacks are the kinds that the kernel of our build machines is known
// not to have. No other kernel may lack one.
var machineLacks = []string{"dummy", "ipvlan", "vlan", "vrf", "geneve", "ipip", "gre", "gretap", "ip6gre", "wireguard", "bond", "vlan_filtering"}

// requireKind fails the test if the kernel lacks the kind, but on the machine
// that is known to (FAIRLEAD_KERNEL=machine), where it is false.
func requireKind(t *testing.T, kind string, probe error) bool {
	t.Helper()
	if probe == nil {
		return true
	}
	if os.Getenv("FAIRLEAD_KERNEL") == "machine" && slices.Contains(machineLacks, kind) && Unsupported(probe) {
		return false
	}
	t.Fatalf("this kernel should have %s: %v", kind, probe)
	return false
}

func contains(t testing.TB, err error, parts ...string) {
	t.Helper()
	if err == nil {
		t.Fatal("no error")
	}
	for _, p := range parts {
		if !strings.Contains(err.Error(), p) {
			t.Errorf("%q does not say %q", err, p)
		}
	}
}
