package resource

import (
	"context"
	"errors"
	"fmt"
)

// Unused is what RemoveUnused did, a line for people each.
type Unused struct {
	Removed []string
	Kept    []string
}

// RemoveUnused takes away what DEL leaves for the next container and nobody
// needs now: the operator's `gc --unused` (rule 9). It goes on after an error,
// and reports all.
func RemoveUnused(ctx context.Context, env Env) (Unused, error) {
	var report Unused
	bridges, err := MadeBridges(env)
	errs := []error{err}
	for _, b := range bridges {
		unused, why, err := b.Unused(ctx, env)
		switch {
		case err != nil:
			errs = append(errs, fmt.Errorf("bridge %s: %w", b.Name, err))
			continue
		case !unused:
			report.Kept = append(report.Kept, fmt.Sprintf("bridge %s: %s", b.Name, why))
			continue
		}
		if err := b.Remove(ctx, env); err != nil {
			errs = append(errs, fmt.Errorf("bridge %s: %w", b.Name, err))
			continue
		}
		report.Removed = append(report.Removed, "bridge "+b.Name)
	}
	return report, errors.Join(errs...)
}
