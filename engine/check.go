package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
)

// Fold gives the resources of the entry named name as the later entries of the
// same attachment left them: a chained plugin's changes are expected (rule 14).
// entries are in order of their making. An entry that is not among them is an
// error: nothing could be said of what it made.
func Fold[E any](codec Codec[E], entries []*Entry, name string) ([]Resource[E], error) {
	var list []Resource[E]
	found := false
	for _, e := range entries {
		if !found && e.name != name {
			continue
		}
		decoded, err := codec.Decode(e)
		if err != nil {
			return nil, err
		}
		if !found {
			list, found = decoded, true
			continue
		}
		for _, later := range decoded {
			amender, ok := later.(Amender[E])
			if !ok {
				continue
			}
			for i, r := range list {
				list[i] = amender.Amend(r)
			}
		}
	}
	if !found {
		return nil, fmt.Errorf("journal entry %s: %w", name, os.ErrNotExist)
	}
	return list, nil
}

// Check observes every resource, and names all that is not as it should be,
// once. A look-up that fails is an error too: CHECK must not pass on a guess.
func Check[E any](ctx context.Context, env E, scope Scope, list []Resource[E]) error {
	var errs []error
	said := map[string]bool{}
	p := newPlan(list)
	for _, r := range list {
		err := fmt.Errorf("%s: gone with %s", RefOf(r), scope.Ref)
		if !scope.Gone || !p.inScope(r, scope) {
			err = checkOne(ctx, env, r)
		}
		if err != nil && !said[err.Error()] {
			said[err.Error()] = true
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

func checkOne[E any](ctx context.Context, env E, r Resource[E]) error {
	state, err := r.Observe(ctx, env)
	switch {
	case err != nil:
		return fmt.Errorf("%s: could not find out: %w", RefOf(r), err)
	case state.Is == IsAbsent:
		return fmt.Errorf("%s: missing%s", RefOf(r), detail(state))
	case state.Is == IsDrifted && state.Cause != nil:
		return fmt.Errorf("%s: %w", RefOf(r), state.Cause)
	case state.Is == IsDrifted:
		return fmt.Errorf("%s: changed%s", RefOf(r), detail(state))
	case state.Is != IsPresent:
		return fmt.Errorf("%s: could not find out: it did not say", RefOf(r))
	}
	return nil
}

func detail(s State) string {
	if s.Detail == "" {
		return ""
	}
	return ": " + s.Detail
}
