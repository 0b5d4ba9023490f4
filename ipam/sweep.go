package ipam

import (
	"context"
	"errors"

	"github.com/fairlead-net/fairlead/attachment"
)

// A Verdict is what a sweep does about the leases of one owner (rule 15).
type Verdict int

// The zero Verdict keeps.
const (
	// Keep: the attachment is valid.
	Keep Verdict = iota
	// Report: it is not, but may live.
	Report
	// Take: it is not, and its namespace is gone, or an operator insists.
	Take
)

// Swept is what a sweep did.
type Swept struct {
	// Removed has the leases that are gone now, those of earlier boots
	// included.
	Removed []Held
	// Kept has the leases of the verdict Report.
	Kept []Held
	// Odd names the files that stand in the place of a lease and are none.
	Odd []string
}

// Sweep removes what judge gives the verdict Take, and leases of earlier boots
// whatever it says (rule 16). It goes on after a failure; the error has all of
// them. judge gets no interface name for a lease written by a reference version
// before 0.8.
func (s *Store) Sweep(ctx context.Context, judge func(attachment.ID) Verdict) (Swept, error) {
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
	for _, e := range se.seen.owners {
		if len(e.Leases) == 0 {
			continue
		}
		switch judge(e.id(s.network)) {
		case Report:
			swept.Kept = append(swept.Kept, e.held(s.network))
		case Take:
			if err := se.sweepOwner(*e); err != nil {
				errs = append(errs, err)
				continue
			}
			swept.Removed = append(swept.Removed, e.held(s.network))
		}
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
		err = se.dropEntry(e.id(se.network).Owner())
	}
	return err
}
