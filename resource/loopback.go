package resource

import (
	"context"
	"fmt"
	"net/netip"

	"github.com/fairlead-net/fairlead/engine"
)

// Loopback is that the container's lo is up. It was there before, so it is
// restored: of several holders the last one puts it down, if it was down when
// the first came. Without a journal it is left: the namespace may be that of a
// container that came after.
type Loopback struct {
	// Saved says that WasUp is known.
	Saved bool `json:"saved,omitempty"`
	WasUp bool `json:"wasUp,omitempty"`
	// Addresses are what Create found, for the result.
	Addresses []netip.Prefix `json:"addresses,omitempty"`
}

const loopback = "lo"

func (l *Loopback) Kind() string       { return "loopback.1" }
func (l *Loopback) Key() string        { return loopback }
func (l *Loopback) Within() engine.Ref { return Sandbox }

// AnySuites implements AnySuites: lo is up or not, whoever raised it.
func (l *Loopback) AnySuites() {}

func (l *Loopback) on() On { return On{Side: Container, Link: loopback} }

// Save reads whether it is up.
func (l *Loopback) Save(_ context.Context, env Env) error {
	_, link, err := l.on().need(env)
	l.WasUp, l.Saved = link.Up, err == nil
	return err
}

// Inherit takes over what the leaving holder found.
func (l *Loopback) Inherit(below Resource) error {
	other, ok := below.(*Loopback)
	if !ok {
		return fmt.Errorf("%T is no loopback", below)
	}
	l.WasUp, l.Saved = other.WasUp, other.Saved
	return nil
}

// Create raises it, whereupon the kernel gives it its addresses, and reads
// these. An address on it that is none of loopback is an error.
func (l *Loopback) Create(_ context.Context, env Env) error {
	ns, link, err := l.on().need(env)
	if err != nil {
		return err
	}
	if err := setUp(ns, link, true); err != nil {
		return unsure(err)
	}
	addrs, err := ns.Addresses(link.Index)
	if err != nil {
		return engine.Partial(err)
	}
	l.Addresses = nil
	for _, a := range addrs {
		if !a.Prefix.Addr().IsLoopback() {
			return engine.Partial(engine.Conflict(fmt.Errorf("lo has %s, which is no loopback address", a.Prefix)))
		}
		l.Addresses = append(l.Addresses, a.Prefix)
	}
	return nil
}

func (l *Loopback) Observe(_ context.Context, env Env) (engine.State, error) {
	_, link, ok, err := l.on().find(env)
	if err != nil || !ok {
		return absentUnless(err)
	}
	if !link.Up {
		return engine.Drifted("lo is down"), nil
	}
	return engine.Present(), nil
}

// Remove puts it back as it was, if it is still up.
func (l *Loopback) Remove(_ context.Context, env Env) error {
	if !l.Saved {
		return nil
	}
	ns, link, ok, err := l.on().find(env)
	if err != nil || !ok || !link.Up || l.WasUp {
		return err
	}
	return setUp(ns, link, false)
}

var _ engine.Restored[Env] = (*Loopback)(nil)
