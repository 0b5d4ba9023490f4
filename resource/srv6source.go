package resource

import (
	"context"
	"errors"
	"fmt"
	"net/netip"

	"golang.org/x/sys/unix"

	"github.com/fairlead-net/fairlead/engine"
	"github.com/fairlead-net/fairlead/kernel"
)

var errNoSRv6 = errors.New("this kernel has no SRv6")

// SRv6Source is the address of the host from which it sends what it wraps. The
// kernel has one for all: it is raised, and left.
type SRv6Source struct {
	Address netip.Addr `json:"address,omitzero"` // the zero Addr: not known
	// Asked: it is this one that is wanted. Else one that is set already will do.
	Asked bool `json:"asked,omitempty"`
}

func (s *SRv6Source) Kind() string       { return "segment-source.1" }
func (s *SRv6Source) Key() string        { return string(Host) }
func (s *SRv6Source) Within() engine.Ref { return "" }
func (s *SRv6Source) Ensured()           {}

func (s *SRv6Source) Create(_ context.Context, env Env) error {
	found, ok, err := env.Host.SRv6Source()
	switch {
	case err != nil:
		return err
	case !ok:
		return errNoSRv6
	case found == s.Address && found.IsValid(), found.IsValid() && !s.Asked:
		return nil
	case found.IsValid():
		return engine.Conflict(fmt.Errorf("the source of SRv6's packets is %s on this node (ip sr tunsrc), want %s: %w", found, s.Address, unix.EEXIST))
	case !s.Address.IsValid():
		return errors.New("there is no way to the segments of the remotes yet, so no address to send from is known: give one as source")
	}
	return unsure(env.Host.SetSRv6Source(s.Address))
}

func (s *SRv6Source) Observe(_ context.Context, env Env) (engine.State, error) {
	found, ok, err := env.Host.SRv6Source()
	if err != nil || !ok || !found.IsValid() {
		return absentUnless(err)
	}
	var d drift
	if s.Asked && found != s.Address {
		d.add("the source of SRv6's packets is %s, want %s", found, s.Address)
	}
	return d.state(), nil
}

// Remove is never DEL's (Ensured).
func (s *SRv6Source) Remove(context.Context, Env) error { return nil }

// FindWay is the fact how the host sends to an address.
type FindWay struct{ To netip.Addr }

// Way is the answer; the zero Way: there is none.
type Way struct {
	Link   string     `json:"link,omitempty"`
	MTU    int        `json:"mtu,omitempty"` // bytes
	Source netip.Addr `json:"source,omitzero"`
}

func (FindWay) Name() string { return "way" }
func (FindWay) Lock() string { return "" }

// Find looks it up.
func (f FindWay) Find(_ context.Context, env Env) (any, error) {
	route, ok, err := env.Host.RouteTo(f.To)
	if err != nil || !ok || route.Type != kernel.RouteUnicast {
		return Way{}, err
	}
	link, ok, err := env.Host.LinkByIndex(route.Link)
	if err != nil || !ok {
		return Way{}, err
	}
	way := Way{Link: link.Name, MTU: link.MTU, Source: route.Source}
	if route.MTU != 0 {
		way.MTU = route.MTU
	}
	return way, nil
}
