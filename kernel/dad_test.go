package kernel

import (
	"context"
	"errors"
	"net/netip"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func deadline(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func TestWaitDAD(t *testing.T) {
	t.Parallel()
	n, o := newNS(t), newNS(t)
	a, _ := addPair(t, n, "a", o, "b")
	must(t, n.SetSysctl("net/ipv6/conf/a/dad_transmits", "1"))
	must(t, n.AddAddress(Address{Link: a.Index, Prefix: pfx("2001:db8::1/64")}))
	must(t, n.AddAddress(Address{Link: a.Index, Prefix: pfx("192.0.2.1/24")}))
	if x, _ := find(t, n, a.Index, "2001:db8::1/64"); !x.Tentative {
		t.Errorf("known to be unique at once: %+v", x)
	}
	must(t, n.WaitDAD(deadline(t), a.Index, []netip.Addr{addr("2001:db8::1"), addr("192.0.2.1")}))
	if x, _ := find(t, n, a.Index, "2001:db8::1/64"); x.Tentative || x.DADFailed {
		t.Errorf("%+v", x)
	}
	must(t, n.WaitDAD(deadline(t), a.Index, nil))
}

// TestWaitDADDuplicate: the other end has the address.
func TestWaitDADDuplicate(t *testing.T) {
	t.Parallel()
	n, o := newNS(t), newNS(t)
	a, b := addPair(t, n, "a", o, "b")
	must(t, o.AddAddress(Address{Link: b.Index, Prefix: pfx("2001:db8::1/64"), NoDAD: true}))
	must(t, n.AddAddress(Address{Link: a.Index, Prefix: pfx("2001:db8::1/64")}))
	err := n.WaitDAD(deadline(t), a.Index, []netip.Addr{addr("2001:db8::1")})
	var d *DADFailedError
	if !errors.As(err, &d) || d.Addr != addr("2001:db8::1") {
		t.Error(err)
	}
}

func TestWaitDADGivesUp(t *testing.T) {
	t.Parallel()
	n := newNS(t)
	// Nothing is found out on a link that is down.
	must(t, n.AddLink(LinkSpec{Name: "a", Kind: VethKind{Peer: LinkSpec{Name: "b"}}}))
	a := link(t, n, "a")
	must(t, n.AddAddress(Address{Link: a.Index, Prefix: pfx("2001:db8::1/64")}))
	addrs := []netip.Addr{addr("2001:db8::1")}

	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if err := n.WaitDAD(ctx, a.Index, addrs); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	if err := n.WaitDAD(deadline(t), a.Index, []netip.Addr{addr("2001:db8::2")}); !Absent(ObjectAddress, err) {
		t.Error(err)
	}
	// The link goes while it is waited for.
	done := make(chan error)
	go func() { done <- n.WaitDAD(deadline(t), a.Index, addrs) }()
	_, err := view(t, n).DelLink(a.Index)
	must(t, err)
	if err := <-done; !Absent(ObjectAddress, err) && !Absent(ObjectLink, err) {
		t.Error(err)
	}
	if err := n.WaitDAD(deadline(t), a.Index, addrs); !errors.Is(err, unix.ENODEV) && !Absent(ObjectAddress, err) {
		t.Error(err)
	}
}
