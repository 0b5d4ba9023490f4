package resource

import (
	"context"
	"errors"
	"net/netip"
	"strings"
	"testing"

	"github.com/fairlead-net/fairlead/kernel"
)

// TestRule10TentativeAddressFailsTheADD: the network lets the question out, and
// the kernel has not told that nobody else has the address.
func TestRule10TentativeAddressFailsTheADD(t *testing.T) {
	t.Parallel()
	env := newEnv(t)
	withVeth(t, env)
	guest, host := testVeth().Guest(), testVeth().HostEnd()
	made(t, env, &LinkUp{On: host}, &LinkUp{On: guest})
	ns, link, err := guest.need(env)
	noError(t, err)
	_, err = ns.WaitLink(t.Context(), link.Index, func(l kernel.Link) bool { return l.OperState == kernel.OperUp })
	noError(t, err)
	// The kernel asks more often than anybody waits for.
	noError(t, ns.SetSysctl(ipv6Parameter(link.Name, "dad_transmits"), "100"))
	address := netip.MustParsePrefix("2001:db8::5/64")
	noError(t, ns.AddAddress(kernel.Address{Link: link.Index, Prefix: address}))
	s := &Settled{On: guest, Addresses: []netip.Addr{address.Addr()}}
	err = s.Create(t.Context(), env)
	if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "tentative") {
		t.Errorf("%v; want that the addresses are tentative", err)
	}
}
