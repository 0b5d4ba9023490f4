package kernel

import (
	"net/netip"
	"testing"

	"golang.org/x/sys/unix"
)

// TestCase32AnswersOfAnotherFamily: a kernel without IPv6 answers a list of
// IPv6's routes and addresses with IPv4's.
func TestCase32AnswersOfAnotherFamily(t *testing.T) {
	t.Parallel()
	v4 := netip.MustParseAddr("10.1.0.0")
	message := func(fixed []byte, attribute uint16) []byte {
		e := encoder{b: fixed}
		e.addr(attribute, v4)
		return e.b
	}
	route := func() []byte {
		b := make([]byte, unix.SizeofRtMsg)
		b[0], b[1], b[7] = unix.AF_INET, 16, unix.RTN_UNICAST
		return b
	}
	for name, kept := range map[string]func(family uint8) bool{
		"route":     keeps(t, decodeRoute, message(route(), unix.RTA_DST)),
		"rule":      keeps(t, decodeIPRule, message(route(), unix.FRA_DST)),
		"address":   keeps(t, decodeAddress, message(ifAddr(unix.AF_INET, 16, 0, 1), unix.IFA_ADDRESS)),
		"neighbour": keeps(t, decodeNeighbour, message(ndMsg(unix.AF_INET, 1, 0, 0), unix.NDA_DST)),
	} {
		if !kept(unix.AF_INET) || kept(unix.AF_INET6) {
			t.Errorf("%s of IPv4: in a list of IPv4's %t, of IPv6's %t", name, kept(unix.AF_INET), kept(unix.AF_INET6))
		}
	}
	if keeps(t, decodeFDB, ndMsg(unix.AF_INET, 1, 0, 0))(unix.AF_BRIDGE) {
		t.Error("a neighbour is taken for a forwarding entry")
	}
}

func keeps[T any](t *testing.T, decode func([]byte) (T, bool, error), b []byte) func(family uint8) bool {
	return func(family uint8) bool {
		t.Helper()
		_, ok, err := ofFamily(family, decode)(b)
		must(t, err)
		return ok
	}
}
