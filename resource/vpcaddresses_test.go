package resource

import (
	"context"
	"net/netip"
	"strings"
	"testing"

	"github.com/fairlead-net/fairlead/engine"
	"github.com/fairlead-net/fairlead/kernel"
)

func ownAddresses(all ...string) *VPCAddresses {
	a := &VPCAddresses{On: testVeth().HostEnd()}
	for _, s := range all {
		a.Addresses = append(a.Addresses, netip.MustParseAddr(s))
	}
	return a
}

// TestCase31AddressOfTheNode: the host would answer for a pod that has one of its
// own addresses, wherever that is from; ADD refuses, CHECK tells.
func TestCase31AddressOfTheNode(t *testing.T) {
	t.Parallel()
	ctx, env := context.Background(), newEnv(t)
	ns := env.Host
	lo := link(t, ns, "lo")
	noError(t, setUp(ns, lo, true))
	made(t, env, testVeth())
	noError(t, ns.AddAddress(kernel.Address{Link: lo.Index, Prefix: netip.MustParsePrefix("10.1.0.3/32")}))
	for _, own := range []string{"10.2.0.0/16", "fd00:1::3/128"} {
		noError(t, ns.AddRoute(kernel.Route{Dst: netip.MustParsePrefix(own), Link: lo.Index, Type: kernel.RouteLocal, Table: 255}))
	}
	noError(t, ns.AddRoute(kernel.Route{Dst: netip.MustParsePrefix("10.3.0.0/16"), Type: kernel.RouteBlackhole}))
	noError(t, ns.AddRoute(kernel.Route{Dst: netip.MustParsePrefix("10.4.0.0/16"), Type: kernel.RouteProhibit}))
	noError(t, ns.AddRoute(kernel.Route{Dst: netip.MustParsePrefix("10.5.0.0/16"), Type: kernel.RouteUnreachable}))
	noError(t, ns.AddRoute(kernel.Route{Dst: netip.MustParsePrefix("fd00:3::/64"), Type: kernel.RouteBlackhole}))
	for _, taken := range []string{"10.1.0.3", "fd00:1::3", "10.2.0.9", "127.0.0.5"} {
		a := ownAddresses("10.1.0.4", taken, "fd00:1::4")
		if err := a.Create(ctx, env); !engine.IsConflict(err) || !strings.Contains(err.Error(), taken) {
			t.Errorf("%s: %v", taken, err)
		}
		if s := observe(t, env, a); s.Is != engine.IsDrifted || !strings.Contains(s.Detail, taken) {
			t.Errorf("%s: %+v", taken, s)
		}
	}
	free := ownAddresses("10.1.0.4", "fd00:1::4", "10.3.0.1", "10.4.0.1", "10.5.0.1", "fd00:3::1")
	made(t, env, free, ownAddresses())
	wantState(t, env, free, engine.IsPresent)
	for _, mode := range faultModes {
		for n := 1; ; n++ {
			faulty, fired := mode.failing(env, n)
			err := ownAddresses("10.1.0.3").Create(ctx, faulty)
			if !fired() {
				break
			}
			if err == nil || engine.IsConflict(err) {
				t.Errorf("%s: call %d failed, and Create says %v", mode.name, n, err)
			}
		}
	}
}
