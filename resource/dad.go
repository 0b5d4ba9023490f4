package resource

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/fairlead-net/fairlead/engine"
	"github.com/fairlead-net/fairlead/kernel"
)

// Settled is that the IPv6 addresses of a link were found to be unique. It
// makes nothing: Create waits. It comes after the link is up.
type Settled struct {
	On
	Addresses []netip.Addr `json:"addresses,omitempty"`
}

// dadTimeout is how long the kernel may take to tell: it asks once, and waits
// for a second; more where the administrator said so (dad_transmits).
const dadTimeout = 5 * time.Second

func (s *Settled) Kind() string { return "settled.1" }
func (s *Settled) Key() string  { return s.key() }

// Create waits for five seconds at most. That the network did not let the
// question out (the link has no carrier yet) is no failure.
func (s *Settled) Create(ctx context.Context, env Env) error {
	ns, link, err := s.need(env)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, dadTimeout)
	defer cancel()
	err = ns.WaitDAD(ctx, link.Index, s.Addresses)
	if !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	_, link, lookErr := s.need(env)
	if lookErr == nil && link.OperState != kernel.OperUp {
		return nil
	}
	return fmt.Errorf("addresses of %s are tentative after %s: %w", s.Link, dadTimeout, errors.Join(err, lookErr))
}

// Observe tells nothing: each Address tells whether it is still its own.
func (s *Settled) Observe(context.Context, Env) (engine.State, error) { return engine.Present(), nil }

// Remove has nothing to take away.
func (s *Settled) Remove(context.Context, Env) error { return nil }
