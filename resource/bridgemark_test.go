package resource

import (
	"fmt"
	"net/netip"
	"testing"

	"github.com/fairlead-net/fairlead/attachment"
)

func TestBridgeMark(t *testing.T) {
	t.Parallel()
	for _, alias := range []string{"", "uplink", "fairlead:bridge ", "fairlead:bridge cni0 x", testID.Alias()} {
		if m, ok := parseBridgeMark(alias); ok {
			t.Errorf("%q read as %+v", alias, m)
		}
	}
	m := bridgeMark{Bridge: "cni0", Addresses: []netip.Prefix{
		netip.MustParsePrefix("10.1.0.1/16"), netip.MustParsePrefix("fd00::1/64"),
	}}
	if got, ok := parseBridgeMark(m.String()); !ok || got.String() != m.String() {
		t.Errorf("%q came back as %q", m, got)
	}
	if owner, ok := attachment.OwnerOfAlias(m.String()); ok {
		t.Errorf("read as an attachment's: %s", owner)
	}
}

// A mark without room leaves the address another's, so that the bridge stays.
func TestBridgeMarkIsFull(t *testing.T) {
	t.Parallel()
	env := newEnv(t)
	made(t, env, newBridge())
	for i := range 12 {
		made(t, env, gateway(fmt.Sprintf("fd%02x:1111:2222:3333:4444:5555:6666:7777/64", i)))
	}
	_, why, err := newBridge().Unused(t.Context(), env)
	noError(t, err)
	if why == "" {
		t.Error("unused")
	}
}

func TestBroadcast(t *testing.T) {
	t.Parallel()
	for prefix, want := range map[string]string{
		"10.1.0.1/16":   "10.1.255.255",
		"10.1.2.3/30":   "10.1.2.3",
		"10.1.2.129/25": "10.1.2.255",
		"10.1.2.3/31":   "invalid IP",
		"10.1.2.3/32":   "invalid IP",
		"10.1.2.3/8":    "10.255.255.255",
		"fd00::1/64":    "invalid IP",
	} {
		if got := broadcast(netip.MustParsePrefix(prefix)); got.String() != want {
			t.Errorf("%s: %s, want %s", prefix, got, want)
		}
	}
}
