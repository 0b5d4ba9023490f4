package resource

import (
	"context"
	"errors"
	"fmt"

	"github.com/fairlead-net/fairlead/engine"
)

// Unused is what was found that nobody uses, a line for people each.
type Unused struct {
	Removed []string
	Kept    []string
}

// RemoveUnused takes away what DEL leaves for the next container, or a lost
// record left, and nobody needs now: the operator's `gc --unused` (rule 9). It
// goes on after an error, and reports all.
func RemoveUnused(ctx context.Context, env Env, e *engine.Engine[Env], uppers Uppers) (Unused, error) {
	var all Unused
	var errs []error
	add := func(report Unused, err error) {
		all.Removed = append(all.Removed, report.Removed...)
		all.Kept = append(all.Kept, report.Kept...)
		errs = append(errs, err)
	}
	add(RemoveUnusedBridges(ctx, env, uppers, func(string) bool { return true }))
	add(RemoveLostGateways(env, uppers))
	add(RemoveUnusedVRFs(ctx, env, e))
	add(RemoveUnusedZones(env))
	add(RemoveUnusedTables(ctx, env))
	return all, errors.Join(errs...)
}

// Uppers says whose link is upon a link of the host, by that one's name. What is
// in another namespace can't be seen from the host; the journal knows of it.
type Uppers map[string]string

// Note adds the resource, if it is such a link.
func (u Uppers) Note(r Resource, owner string) {
	if l, ok := r.(*ChildLink); ok && l.Master != "" && l.MasterSide == Host {
		u[l.Master] = owner
	}
}

// RemoveUnusedBridges removes the bridges of a name that match agrees to, which
// we made and nobody uses.
func RemoveUnusedBridges(ctx context.Context, env Env, uppers Uppers, match func(name string) bool) (Unused, error) {
	var report Unused
	bridges, err := MadeBridges(env)
	errs := []error{err}
	for _, b := range bridges {
		if !match(b.Name) {
			continue
		}
		unused, why, err := b.Unused(ctx, env)
		if owner, ok := uppers[b.Name]; ok {
			unused, why = false, "the link of "+owner+" is upon it"
		}
		if err == nil && unused {
			err = b.Remove(ctx, env)
		}
		switch {
		case err != nil:
			errs = append(errs, fmt.Errorf("bridge %s: %w", b.Name, err))
		case !unused:
			report.Kept = append(report.Kept, fmt.Sprintf("bridge %s: %s", b.Name, why))
		default:
			report.Removed = append(report.Removed, "bridge "+b.Name)
		}
	}
	return report, errors.Join(errs...)
}
