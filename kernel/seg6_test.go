package kernel

import (
	"net/netip"
	"testing"
)

// TestSRv6Source: it is set, read, and left to the kernel again.
func TestSRv6Source(t *testing.T) {
	t.Parallel()
	n := newNS(t)
	for _, want := range []netip.Addr{{}, addr("2001:db8::1"), addr("2001:db8::2"), {}} {
		must(t, n.SetSRv6Source(want))
		got, ok, err := n.SRv6Source()
		if got != want || !ok || err != nil {
			t.Errorf("%s, %v, %v; want %s", got, ok, err, want)
		}
	}
}

// TestUnknownFamily: a kernel without SRv6 says that it has no such family.
func TestUnknownFamily(t *testing.T) {
	t.Parallel()
	n := newNS(t)
	err := n.generic("NO-SUCH", 1, 1, func(*encoder) {}, nil)
	if !Absent(ObjectFamily, err) {
		t.Error(err)
	}
}

// TestKnowsVRF makes none, and says what the kernel says when one is made.
func TestKnowsVRF(t *testing.T) {
	t.Parallel()
	n := newNS(t)
	known, err := n.KnowsVRF()
	must(t, err)
	all, err := n.Links()
	must(t, err)
	if len(all) != 1 {
		t.Errorf("%+v", all)
	}
	if err := n.AddLink(LinkSpec{Name: "red", Kind: VRFKind{Table: 1000}}); known != (err == nil) || !known && !Unsupported(err) {
		t.Errorf("known: %v; made: %v", known, err)
	}
}
