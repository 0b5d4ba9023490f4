//go:build !vmtest

package resource

import (
	"context"
	"net/netip"
	"testing"

	"github.com/fairlead-net/fairlead/engine"
	"github.com/fairlead-net/fairlead/kernel"
)

// The virtual machine's kernel, like all before Linux 6.2, renames no link that
// is up, and one that goes down loses the routes that this is about.

// TestCase29SourceRoutesAreKnownByTheRecord: routes that left the main table
// are put back, where the interface is called otherwise.
func TestCase29SourceRoutesAreKnownByTheRecord(t *testing.T) {
	t.Parallel()
	for name, rename := range renames() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := context.Background()
			env, one, _ := twoLinks(t)
			for _, up := range []string{"eth0", "xeth0", "eth1", "xeth1"} {
				set(t, env.Container, up, kernel.LinkChange{Up: ptr(true)})
			}
			dst := netip.MustParsePrefix("198.51.100.0/24")
			noError(t, env.Container.AddAddress(kernel.Address{Link: one, Prefix: netip.MustParsePrefix("10.9.0.2/24")}))
			noError(t, env.Container.AddRoute(kernel.Route{Link: one, Dst: dst, Gateway: netip.MustParseAddr("10.9.0.1")}))
			route := SourceRoute{Dst: dst, Gateway: netip.MustParseAddr("10.9.0.1")}
			r := &SourceRoutes{On: eth0(), Tables: []SourceTable{{Table: 100, Routes: []SourceRoute{route}}}, Moved: []SourceRoute{route}}
			noError(t, r.Create(ctx, env))
			set(t, env.Container, "eth1", kernel.LinkChange{Up: ptr(false)})
			rename(t, env.Container)
			wantState(t, env, journaled(t, r), engine.IsPresent)
			noError(t, journaled(t, r).Remove(ctx, env))
			if _, ok, err := env.Container.Route(kernel.Route{Link: one, Dst: dst, Gateway: netip.MustParseAddr("10.9.0.1"), Table: kernel.MainTable}); err != nil || !ok {
				t.Errorf("the route is not back: %v", err)
			}
			wantState(t, env, r, engine.IsDrifted)
		})
	}
}
