package ipam

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"path/filepath"
	"slices"

	"github.com/fairlead-net/fairlead/attachment"
)

// Preview tells what Allocate would lease if it were called now. It leases
// and writes nothing.
func (s *Store) Preview(ctx context.Context, id attachment.ID, sets []RangeSet, requested []netip.Addr) ([]Allocation, error) {
	if err := checkOwner(id); err != nil {
		return nil, err
	}
	wanted, err := assign(sets, requested)
	if err != nil {
		return nil, err
	}
	se, ok, err := s.begin(ctx, look)
	if err != nil {
		return nil, err
	}
	if !ok {
		se = nil // every address is free
	} else {
		defer se.end()
		if err := se.checkFree(id); err != nil {
			return nil, err
		}
	}
	var all []Allocation
	for n, set := range sets {
		a, err := se.next(ctx, n, set, wanted[n])
		if err != nil {
			return nil, fmt.Errorf("range set %d (%s): %w", n, set, err)
		}
		all = append(all, a)
	}
	return all, nil
}

// next finds the address that would be leased. A nil session is an empty store.
func (se *session) next(ctx context.Context, n int, set RangeSet, want netip.Addr) (Allocation, error) {
	if want.IsValid() {
		r, _ := set.rangeOf(want)
		free, err := se.isFree(want)
		if err == nil && !free {
			err = fmt.Errorf("%w: %s (to %s)", ErrTaken, want, se.whose(want))
		}
		return allocationOf(r, want), err
	}
	last := netip.Addr{}
	if se != nil {
		last = se.readLast(n)
	}
	tries := 0
	for r, addr := range set.after(last) {
		if tries++; tries%1024 == 0 && ctx.Err() != nil {
			return Allocation{}, ctx.Err()
		}
		free, err := se.isFree(addr)
		if free || err != nil {
			return allocationOf(r, addr), err
		}
	}
	return Allocation{}, ErrExhausted
}

// isFree counts what the next change will clean away as free.
func (se *session) isFree(addr netip.Addr) (bool, error) {
	if se == nil {
		return true, nil
	}
	name := addr.String()
	there, err := se.sys.exists(se.dir, name)
	if err != nil {
		return false, failed("look for", filepath.Join(se.Dir(), name), err)
	}
	if !there {
		return true, nil
	}
	if err := se.ensure(); err != nil {
		return false, err
	}
	return se.doomed(name), nil
}

// doomed: leases of an earlier boot, and those that name nobody.
func (se *session) doomed(name string) bool {
	if se.seen == nil {
		return false
	}
	if se.seen.doomed == nil {
		se.seen.doomed = map[string]bool{}
		for _, n := range se.seen.blank {
			se.seen.doomed[n] = true
		}
		for _, e := range se.seen.owners {
			for _, r := range e.Leases {
				se.seen.doomed[r.Name] = se.earlier(r)
			}
		}
	}
	return se.seen.doomed[name]
}

// Leases gives everything that is leased, ordered by owner. Leases that could
// not be read make an error beside what could.
func (s *Store) Leases(ctx context.Context) ([]Held, error) {
	se, ok, err := s.begin(ctx, look)
	if err != nil || !ok {
		return nil, err
	}
	defer se.end()
	if err := se.walk(); err != nil {
		return nil, err
	}
	var all []Held
	for _, e := range se.seen.owners {
		all = append(all, e.held(s.network))
	}
	sortHeld(all)
	return all, errors.Join(se.seen.unread...)
}

func (e entry) held(network string) Held {
	h := Held{ID: e.id(network)}
	for _, r := range e.Leases {
		if addr, ok := leaseAddr(r.Name); ok {
			h.Addresses = append(h.Addresses, addr)
		}
	}
	slices.SortFunc(h.Addresses, netip.Addr.Compare)
	return h
}

func sortHeld(all []Held) {
	slices.SortFunc(all, func(a, b Held) int {
		if a.ID.String() < b.ID.String() {
			return -1
		}
		return 1
	})
}
