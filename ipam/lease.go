package ipam

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"

	"github.com/fairlead-net/fairlead/attachment"
	"github.com/fairlead-net/fairlead/engine"
	"github.com/fairlead-net/fairlead/resource"
)

const leaseKind = "lease.1"

// Kinds are the kinds of this room, for the journal.
func Kinds() map[string]func() resource.Resource {
	return map[string]func() resource.Resource{
		leaseKind: func() resource.Resource { return &Lease{} },
	}
}

// A Lease is all that an attachment holds in one data directory: one address of
// each set. Its identity is the holder's, never an address.
type Lease struct {
	DataDir   string        `json:"dataDir"`
	ID        attachment.ID `json:"attachment"`
	Ranges    []RangeSet    `json:"ranges,omitempty"`
	Requested []netip.Addr  `json:"requested,omitempty"`

	// Got is what Create leased, in the order of Ranges.
	Got []Allocation `json:"got,omitempty"`

	// open makes the store; nil is Open. Tests give another boot, or failures.
	open func(dataDir, network string) (*Store, error)
}

// Kind implements engine.Resource.
func (l *Lease) Kind() string { return leaseKind }

// Key implements engine.Resource.
func (l *Lease) Key() string {
	return filepath.Join(l.DataDir, l.ID.Network) + " " + l.ID.Container + "/" + l.ID.IfName
}

// Within implements engine.Resource: a lease outlives every namespace.
func (l *Lease) Within() engine.Ref { return "" }

func (l *Lease) store() (*Store, error) {
	if l.open != nil {
		return l.open(l.DataDir, l.ID.Network)
	}
	return Open(l.DataDir, l.ID.Network)
}

// Observe looks whether each address that was leased is still the attachment's.
// Where it is not known which those were, it looks for one of each set.
func (l *Lease) Observe(ctx context.Context, _ resource.Env) (engine.State, error) {
	s, err := l.store()
	if err != nil {
		return engine.State{}, err
	}
	if len(l.Got) == 0 {
		return l.observeSets(ctx, s)
	}
	missing, err := s.Missing(ctx, l.ID, l.Addresses())
	if err != nil {
		return engine.State{}, err
	}
	switch len(missing) {
	case 0:
		return engine.Present(), nil
	case len(l.Got):
		return engine.Absent(), nil
	}
	return engine.Drifted("no lease of " + join(missing)), nil
}

func (l *Lease) observeSets(ctx context.Context, s *Store) (engine.State, error) {
	held, err := s.Find(ctx, l.ID)
	if err != nil {
		return engine.State{}, err
	}
	if len(held) == 0 {
		return engine.Absent(), nil
	}
	for n, set := range l.Ranges {
		if !slices.ContainsFunc(held, func(a netip.Addr) bool { _, ok := set.rangeOf(a); return ok }) {
			return engine.Drifted(fmt.Sprintf("no lease of range set %d (%s)", n, set)), nil
		}
	}
	return engine.Present(), nil
}

// Superseded implements resource.Superseder: none of what was leased is the
// attachment's any more, and it has other addresses, which another suite leased.
func (l *Lease) Superseded(ctx context.Context) (bool, error) {
	if len(l.Got) == 0 {
		return false, nil
	}
	s, err := l.store()
	if err != nil {
		return false, err
	}
	missing, err := s.Missing(ctx, l.ID, l.Addresses())
	if err != nil || len(missing) < len(l.Got) {
		return false, err
	}
	held, err := s.Find(ctx, l.ID)
	return len(held) > 0, err
}

// Addresses are those that Create leased.
func (l *Lease) Addresses() []netip.Addr {
	addrs := make([]netip.Addr, len(l.Got))
	for i, a := range l.Got {
		addrs[i] = a.Address.Addr()
	}
	return addrs
}

// Create leases.
func (l *Lease) Create(ctx context.Context, _ resource.Env) error {
	s, err := l.store()
	if err != nil {
		return err
	}
	l.Got, err = s.Allocate(ctx, l.ID, l.Ranges, l.Requested)
	switch {
	case errors.Is(err, ErrLeftBehind):
		return engine.Partial(err)
	case errors.Is(err, ErrTaken), errors.Is(err, ErrHeld):
		return engine.Conflict(err)
	}
	return err
}

// Remove releases everything that the attachment holds, whether Create leased
// it or the reference plugin did.
func (l *Lease) Remove(ctx context.Context, _ resource.Env) error {
	s, err := l.store()
	if err != nil {
		return err
	}
	return s.Release(ctx, l.ID, l.Addresses())
}

// Preview tells what Create would lease now, without leasing it.
func (l *Lease) Preview(ctx context.Context) ([]Allocation, error) {
	s, err := l.store()
	if err != nil {
		return nil, err
	}
	return s.Preview(ctx, l.ID, l.Ranges, l.Requested)
}

// Ready implements resource.Readier: it tells whether Create could work now for
// an attachment without wishes.
func (l *Lease) Ready(ctx context.Context, _ resource.Env) error {
	s, err := l.store()
	if err != nil {
		return err
	}
	return s.Ready(ctx, l.Ranges)
}

// Sweep implements resource.Sweeper. A lease that does not name the interface
// can't be judged by name: it is kept, and named.
func (l *Lease) Sweep(ctx context.Context, _ resource.Env, asked resource.Sweep) (removed, kept []string, err error) {
	named := *l
	named.ID.Network = asked.Network
	s, err := named.store()
	if err != nil {
		return nil, nil, err
	}
	swept, err := s.Sweep(ctx, func(id attachment.ID) Verdict {
		switch {
		case asked.Valid[attachment.ID{Network: asked.Network, Container: id.Container, IfName: id.IfName}]:
			return Keep
		case id.IfName == "" || !asked.Force:
			return Report
		}
		return Take
	})
	for _, h := range swept.Removed {
		removed = append(removed, h.String())
	}
	for _, h := range swept.Kept {
		kept = append(kept, h.String())
	}
	for _, name := range swept.Odd {
		kept = append(kept, filepath.Join(s.Dir(), name)+", which is no lease")
	}
	return removed, kept, err
}

func join(addrs []netip.Addr) string {
	parts := make([]string, len(addrs))
	for i, a := range addrs {
		parts[i] = a.String()
	}
	return strings.Join(parts, ", ")
}

// AnySuites implements resource.AnySuites: the store is the reference's too.
func (*Lease) AnySuites() {}

// Marked implements resource.Marked: a lease names its holder.
func (*Lease) Marked(context.Context, resource.Env) (bool, error) { return true, nil }
