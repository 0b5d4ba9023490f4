package resource

import (
	"context"

	"github.com/fairlead-net/fairlead/engine"
)

// SeenLink is a link of the container that another's result speaks of. It is
// only ever observed.
type SeenLink struct {
	Name string `json:"name"`
	MAC  string `json:"mac,omitempty"`
	MTU  int    `json:"mtu,omitempty"` // bytes; 0 says nothing
	Up   bool   `json:"up,omitempty"`  // it has addresses, which are of no use while it is down
}

func (l *SeenLink) Kind() string       { return "seen-link.1" }
func (l *SeenLink) Key() string        { return l.Name }
func (l *SeenLink) Within() engine.Ref { return Sandbox }

// Create makes nothing.
func (l *SeenLink) Create(context.Context, Env) error { return nil }

func (l *SeenLink) Observe(_ context.Context, env Env) (engine.State, error) {
	_, link, ok, err := On{Side: Container, Link: l.Name}.find(env)
	if err != nil || !ok {
		return absentUnless(err)
	}
	var d drift
	if l.Up && !link.Up {
		d.add("%s is down", l.Name)
	}
	if l.Name != loopback {
		d.mac(link, l.MAC) // lo's is all zeros, and may be written as nothing
	}
	d.mtu(link, l.MTU)
	return d.state(), nil
}

// Remove takes nothing away: it is not ours.
func (l *SeenLink) Remove(context.Context, Env) error { return nil }
