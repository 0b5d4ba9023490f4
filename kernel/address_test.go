package kernel

import (
	"errors"
	"net/netip"
	"testing"

	"golang.org/x/sys/unix"
)

// find gives the address of a link that is the prefix.
func find(t testing.TB, n *Namespace, link int, p string) (Address, bool) {
	t.Helper()
	all, err := n.Addresses(link)
	must(t, err)
	for _, a := range all {
		if a.Prefix == pfx(p) {
			return a, true
		}
	}
	return Address{}, false
}

func TestAddresses(t *testing.T) {
	t.Parallel()
	n := newNS(t)
	a, _ := addPair(t, n, "a", n, "b")
	for name, c := range map[string]struct{ add, want Address }{
		"IPv4": {
			Address{Prefix: pfx("192.0.2.1/24"), Broadcast: addr("192.0.2.255")},
			Address{Prefix: pfx("192.0.2.1/24"), Broadcast: addr("192.0.2.255"), Label: "a", Permanent: true},
		},
		"IPv4 with label, metric and scope": {
			Address{Prefix: pfx("198.51.100.1/32"), Label: "a:1", Metric: 7, Scope: ScopeLink, NoPrefixRoute: true},
			Address{Prefix: pfx("198.51.100.1/32"), Label: "a:1", Metric: 7, Scope: ScopeLink, NoPrefixRoute: true, Permanent: true},
		},
		"IPv4 with peer": {
			Address{Prefix: pfx("203.0.113.1/32"), Peer: addr("203.0.113.2")},
			Address{Prefix: pfx("203.0.113.1/32"), Peer: addr("203.0.113.2"), Label: "a", Permanent: true},
		},
		"IPv4 in a /31": {
			Address{Prefix: pfx("10.9.9.0/31")},
			Address{Prefix: pfx("10.9.9.0/31"), Label: "a", Permanent: true},
		},
		"IPv6": {
			Address{Prefix: pfx("2001:db8::1/64"), NoDAD: true},
			Address{Prefix: pfx("2001:db8::1/64"), NoDAD: true, Permanent: true},
		},
		"IPv6 with peer": {
			Address{Prefix: pfx("2001:db8:1::1/128"), Peer: addr("2001:db8:1::2"), NoDAD: true, Metric: 9},
			Address{Prefix: pfx("2001:db8:1::1/128"), Peer: addr("2001:db8:1::2"), NoDAD: true, Metric: 9, Permanent: true},
		},
		"IPv6 for a time": {
			Address{Prefix: pfx("2001:db8:2::1/64"), NoDAD: true, ValidLft: 3600, PreferredLft: 1800},
			Address{Prefix: pfx("2001:db8:2::1/64"), NoDAD: true, ValidLft: 3600, PreferredLft: 1800},
		},
	} {
		c.add.Link, c.want.Link = a.Index, a.Index
		must(t, n.AddAddress(c.add))
		got, ok := find(t, n, a.Index, c.add.Prefix.String())
		if !ok || got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
		if err := n.AddAddress(c.add); !Exists(err) {
			t.Errorf("%s: added twice: %v", name, err)
		}
		must(t, n.ReplaceAddress(c.add))
		for i, want := range []bool{true, false} {
			if ok, err := n.DelAddress(c.add); ok != want || err != nil {
				t.Errorf("%s: removal %d: %v, %v", name, i+1, ok, err)
			}
		}
		if _, ok := find(t, n, a.Index, c.add.Prefix.String()); ok {
			t.Errorf("%s: still there", name)
		}
	}
}

func TestAddressesOfALink(t *testing.T) {
	t.Parallel()
	n := newNS(t)
	a, b := addPair(t, n, "a", n, "b")
	must(t, n.AddAddress(Address{Link: a.Index, Prefix: pfx("192.0.2.1/24")}))
	must(t, n.AddAddress(Address{Link: a.Index, Prefix: pfx("192.0.2.2/24")}))
	must(t, n.AddAddress(Address{Link: b.Index, Prefix: pfx("192.0.2.3/24")}))
	if x, ok := find(t, n, a.Index, "192.0.2.1/24"); !ok || x.Secondary {
		t.Errorf("%+v", x)
	}
	if x, ok := find(t, n, a.Index, "192.0.2.2/24"); !ok || !x.Secondary {
		t.Errorf("%+v", x)
	}
	if _, ok := find(t, n, a.Index, "192.0.2.3/24"); ok {
		t.Error("another link's address")
	}
	if _, ok := find(t, n, 0, "192.0.2.3/24"); !ok {
		t.Error("not among all")
	}
}

// TestCase25AddressesOfOthersAreNotRead: the kernel leaves the other links'
// addresses out.
func TestCase25AddressesOfOthersAreNotRead(t *testing.T) {
	t.Parallel()
	n := newNS(t)
	a, b := addPair(t, n, "a", n, "b")
	for i := range 50 {
		p := pfx("198.51.100.1/32").Addr().As4()
		p[3] = byte(i + 1)
		must(t, n.AddAddress(Address{Link: b.Index, Prefix: netip.PrefixFrom(netip.AddrFrom4(p), 32)}))
	}
	must(t, n.AddAddress(Address{Link: a.Index, Prefix: pfx("192.0.2.1/24")}))
	seen := 0
	_, err := dump(n, newRequest(unix.RTM_GETADDR, 0, ifAddr(unix.AF_INET, 0, 0, a.Index)), func(b []byte) (Address, bool, error) {
		seen++
		return decodeAddress(b)
	})
	if err != nil || seen != 1 {
		t.Errorf("%d addresses were read: %v", seen, err)
	}
}

// TestAddressAbsence: the ways in which there is no such address.
func TestAddressAbsence(t *testing.T) {
	t.Parallel()
	n := newNS(t)
	a, _ := addPair(t, n, "a", n, "b")
	must(t, n.SetSysctl("net/ipv6/conf/a/disable_ipv6", "1"))
	small := addLink(t, n, LinkSpec{Name: "small", Kind: IFBKind{}, MTU: 70})
	for name, x := range map[string]Address{
		"no such link":        {Link: 4711, Prefix: pfx("192.0.2.1/24")},
		"no such link, IPv6":  {Link: 4711, Prefix: pfx("2001:db8::1/64")},
		"not on this link":    {Link: a.Index, Prefix: pfx("192.0.2.1/24")},
		"IPv6 off":            {Link: a.Index, Prefix: pfx("2001:db8::1/64")},
		"MTU small for IPv6":  {Link: small.Index, Prefix: pfx("2001:db8::1/64")},
		"another length":      {Link: 1, Prefix: pfx("127.0.0.1/24")},
		"link-local, not set": {Link: a.Index, Prefix: pfx("fe80::1/64")},
	} {
		if ok, err := n.DelAddress(x); ok || err != nil {
			t.Errorf("%s: %v, %v", name, ok, err)
		}
	}
	if all, err := n.Addresses(4711); err != nil || len(all) != 0 {
		t.Error(all, err)
	}
	if all, err := n.Addresses(small.Index); err != nil || len(all) != 0 {
		t.Error(all, err)
	}
	if err := n.AddAddress(Address{Link: 4711, Prefix: pfx("192.0.2.1/24")}); !Absent(ObjectLink, err) {
		t.Error(err)
	}
	if err := n.AddAddress(Address{Link: a.Index}); !errors.Is(err, unix.EINVAL) {
		t.Error(err)
	}
}
