package ipam

import (
	"context"
	"errors"

	"github.com/fairlead-net/fairlead/attachment"
)

// A Judge says what a sweep may take (rule 15).
type Judge struct {
	// Valid is every attachment that the runtime has.
	Valid []attachment.ID
	// Gone tells that the attachment's namespace is known to be gone. Nil
	// knows of none.
	Gone func(attachment.ID) bool
	// Force takes leases outside the valid set whatever Gone says.
	Force bool
}

// Swept is what a sweep did.
type Swept struct {
	// Removed has the leases that are gone now, those of earlier boots
	// included.
	Removed []Held
	// Kept has the leases outside the valid set whose attachment may live.
	Kept []Held
	// Odd names the files that stand in the place of a lease and are none.
	Odd []string
}

// Sweep removes the leases that are provably nobody's, and goes on after a
// failure; the error has all of them.
func (s *Store) Sweep(ctx context.Context, j Judge) (Swept, error) {
	se, ok, err := s.begin(ctx, change)
	if err != nil || !ok {
		return Swept{}, err
	}
	defer se.end()
	// Whatever the index says: this is the time to look.
	if err := se.walk(); err != nil {
		return Swept{}, err
	}
	swept := Swept{Removed: se.seen.purged, Odd: se.seen.alien}
	errs := append([]error(nil), se.seen.unread...)
	valid := j.validSet(s.network)
	for _, e := range se.seen.owners {
		id := e.id(s.network)
		if len(e.Leases) == 0 || valid[id] {
			continue
		}
		if !j.Force && (j.Gone == nil || !j.Gone(id)) {
			swept.Kept = append(swept.Kept, e.held(s.network))
			continue
		}
		if err := se.sweepOwner(*e); err != nil {
			errs = append(errs, err)
			continue
		}
		swept.Removed = append(swept.Removed, e.held(s.network))
	}
	sortHeld(swept.Removed)
	sortHeld(swept.Kept)
	return swept, errors.Join(errs...)
}

func (se *session) sweepOwner(e entry) error {
	var errs []error
	for _, r := range e.Leases {
		errs = append(errs, se.removeLease(r.Name))
	}
	err := errors.Join(errs...)
	if err == nil {
		se.dropEntry(e.id(se.network).Owner())
	}
	return err
}

// validSet has the attachments, and each container without its interface, as
// old leases name it.
func (j Judge) validSet(network string) map[attachment.ID]bool {
	set := make(map[attachment.ID]bool, 2*len(j.Valid))
	for _, id := range j.Valid {
		id.Network = network
		set[id] = true
		set[withoutIfName(id)] = true
	}
	return set
}
