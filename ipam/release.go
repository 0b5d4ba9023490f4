package ipam

import (
	"context"
	"errors"
	"net/netip"

	"github.com/fairlead-net/fairlead/attachment"
)

// Release removes every lease of the attachment, whoever wrote it. hints are
// addresses that it is said to hold: they are looked at even if the index
// does not know them. A lease that names another owner is left alone; nothing
// to remove is success. An error says that a lease is left, or may be.
func (s *Store) Release(ctx context.Context, id attachment.ID, hints []netip.Addr) error {
	if err := checkOwner(id); err != nil {
		return err
	}
	se, ok, err := s.begin(ctx, change)
	if err != nil || !ok {
		return err
	}
	defer se.end()
	// Who knows what it leased need not depend on what others' files say.
	strict := len(hints) == 0
	// A file written over in place changes no folder: what the index has as the
	// attachment's may name the container alone by now.
	if e, err := se.entryOf(id); err == nil {
		hints = append(hints[:len(hints):len(hints)], e.held(s.network).Addresses...)
	}
	found, err := se.release(id, hints, strict)
	if found || err != nil {
		return err
	}
	_, err = se.release(withoutIfName(id), hints, strict)
	return err
}

// release removes the leases that name id. Where not everything could be
// looked at, that is an error if it is strict.
func (se *session) release(id attachment.ID, hints []netip.Addr, strict bool) (found bool, err error) {
	var errs []error
	names := map[string]bool{}
	e, err := se.entryOf(id)
	if err == nil {
		err = se.unread()
	}
	if err != nil && strict {
		errs = append(errs, err)
	}
	for _, r := range e.Leases {
		names[r.Name] = true
	}
	for _, addr := range hints {
		names[addr.String()] = true
	}
	for name := range names {
		ours, err := se.names(name, id)
		if err == nil && ours {
			found = true
			err = se.removeLease(name)
		}
		if err != nil {
			errs = append(errs, err)
		}
	}
	if len(errs) == 0 && len(names) > 0 {
		errs = append(errs, se.dropEntry(id.Owner()))
	}
	return found, errors.Join(errs...)
}

// Find gives the addresses that the attachment holds.
func (s *Store) Find(ctx context.Context, id attachment.ID) ([]netip.Addr, error) {
	if err := checkOwner(id); err != nil {
		return nil, err
	}
	se, ok, err := s.begin(ctx, look)
	if err != nil || !ok {
		return nil, err
	}
	defer se.end()
	held, err := se.heldBy(id)
	if err != nil {
		return nil, err
	}
	return held, se.unread()
}

// Missing gives those of the addresses that the attachment does not hold.
func (s *Store) Missing(ctx context.Context, id attachment.ID, addrs []netip.Addr) ([]netip.Addr, error) {
	if err := checkOwner(id); err != nil {
		return nil, err
	}
	se, ok, err := s.begin(ctx, look)
	if err != nil {
		return nil, err
	}
	if !ok {
		return addrs, nil
	}
	defer se.end()
	var missing []netip.Addr
	for _, addr := range addrs {
		ours, err := se.holds(addr, id)
		if err != nil {
			return nil, err
		}
		if !ours {
			missing = append(missing, addr)
		}
	}
	return missing, nil
}

func (se *session) holds(addr netip.Addr, id attachment.ID) (bool, error) {
	ours, err := se.names(addr.String(), id)
	if ours || err != nil {
		return ours, err
	}
	return se.names(addr.String(), withoutIfName(id))
}
