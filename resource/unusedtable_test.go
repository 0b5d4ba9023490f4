package resource

import (
	"context"
	"fmt"
	"testing"

	"github.com/fairlead-net/fairlead/engine"
)

func TestRemoveUnusedTables(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	env := newEnv(t)
	want := func(removed, kept int) {
		t.Helper()
		got, err := RemoveUnusedTables(ctx, env)
		if len(got.Removed) != removed || len(got.Kept) != kept || err != nil {
			t.Errorf("%+v, %v; want %d removed, %d kept", got, err, removed, kept)
		}
	}
	want(0, 0)
	m, s := iptablesTwin(), testSpoofCheck()
	made(t, env, &MasqueradeTable{}, &SpoofCheckTable{}, m, s)
	want(0, 2)
	wantState(t, env, m, engine.IsPresent)
	wantState(t, env, s, engine.IsPresent)
	noError(t, m.Remove(ctx, env))
	want(1, 1)
	noError(t, s.Remove(ctx, env))
	want(1, 0)
	nftScript(t, env.Host, "table bridge nat {\nchain PREROUTING {\ntype filter hook prerouting priority -300;\n}\n}\n")
	want(0, 1) // another's
}

// What can't be found out never ends in a removal.
func TestCase17TablesAreNotRemovedOnAGuess(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for _, table := range []engine.Shared[Env]{&MasqueradeTable{}, &SpoofCheckTable{}} {
		for _, mode := range nftFaults() {
			for _, used := range []bool{true, false} {
				t.Run(fmt.Sprintf("%s/%s/used %v", table.Kind(), mode.name, used), func(t *testing.T) {
					t.Parallel()
					env := newEnv(t)
					tenants := []Resource{iptablesTwin(), testSpoofCheck()}
					if used {
						made(t, env, tenants...)
					}
					for n := 1; ; n++ {
						made(t, env, table)
						faulty, fired := mode.failing(env, n)
						_, err := table.InUse(ctx, faulty)
						if err == nil {
							err = table.Remove(ctx, faulty)
						}
						if !fired() {
							noError(t, err)
							return
						}
						if used {
							for _, r := range append(tenants, table) {
								wantState(t, env, r, engine.IsPresent)
							}
						} else if err == nil {
							wantState(t, env, table, engine.IsAbsent)
						}
					}
				})
			}
		}
	}
}
