package resource

import (
	"context"
	"errors"
	"fmt"

	"github.com/fairlead-net/fairlead/engine"
)

// RemoveUnusedTables takes away the tables of Masquerade and SpoofCheck that
// nothing is in: those that a crash left, or another suite (`gc --unused`). It
// needs no lock: the kernel refuses to delete what came meanwhile, and an ADD
// that finds no table makes it.
func RemoveUnusedTables(ctx context.Context, env Env) (Unused, error) {
	var report Unused
	var errs []error
	for _, table := range []engine.Shared[Env]{&MasqueradeTable{}, &SpoofCheckTable{}} {
		state, err := table.Observe(ctx, env)
		if err == nil && state.Is == engine.IsAbsent {
			continue
		}
		var used bool
		if err == nil {
			used, err = table.InUse(ctx, env)
		}
		name := "nftables table " + table.Key()
		switch {
		case err != nil:
			errs = append(errs, fmt.Errorf("%s: %w", name, err))
		case used:
			report.Kept = append(report.Kept, name+": it has rules, or others made it")
		default:
			if err := table.Remove(ctx, env); err != nil {
				errs = append(errs, fmt.Errorf("%s: %w", name, err))
				continue
			}
			report.Removed = append(report.Removed, name)
		}
	}
	return report, errors.Join(errs...)
}
