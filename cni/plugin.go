package cni

import (
	"context"
	"encoding/json"
	"fmt"

	current "github.com/containernetworking/cni/pkg/types/100"

	"github.com/fairlead-net/fairlead/engine"
	"github.com/fairlead-net/fairlead/resource"
)

// Plugin is one CNI plugin: a name, and how a request becomes a statement of
// what the attachment owns.
type Plugin struct {
	Name  string
	About string // one line, for people
	// IPAM: the result is addresses for another plugin to configure. What is in
	// the container is that one's to check.
	IPAM bool
	// CheckGateways: CHECK of this IPAM plugin compares gateways too. The
	// reference suite does so with those that a configuration names.
	CheckGateways bool
	// Repeatable: nothing that it makes is exclusive, and Link is all that it
	// states. A second ADD answers as the first, and touches nothing.
	Repeatable bool
	// Prepare decodes the configuration and validates it: pure, no look-ups.
	// For GC and STATUS the request names no container.
	Prepare func(*Request) (Statement, error)
}

// Statement is what one attachment owns through one plugin. All methods are
// pure: no clock, no randomness, no kernel. Adding, checking, removing and
// sweeping all follow from it.
type Statement interface {
	// Facts names what must be looked up at ADD before the plan is known.
	Facts() []Fact
	// Link is what is made before the delegates are called.
	Link(Facts) ([]resource.Resource, error)
	// Delegations are called after Link, in order.
	Delegations() []Delegation
	// Network is what is made after the delegates. The address result is
	// unknown at a DEL without a journal; Kind and Key of everything that
	// outlives its link must be the same then (rule 3).
	Network(Facts, Known[*current.Result]) ([]resource.Resource, error)
	// Result is what ADD prints, from what was made.
	Result(Made) (*current.Result, error)
}

// Statuser is a statement with a readiness of its own, beyond its resources'.
type Statuser interface {
	Status(ctx context.Context, env resource.Env) error
}

// Previewer is an IPAM statement that can say what ADD would give, without
// reserving it.
type Previewer interface {
	Preview(ctx context.Context) (*current.Result, error)
}

// Fact is a fact of our environment.
type Fact = engine.Fact[resource.Env]

// Delegation names a plugin to be called for part of the work.
type Delegation struct {
	Type   string
	Config []byte // the configuration that it gets on stdin
	IPAM   bool   // its result's addresses are ours to configure
	// RestsOn are what it needs while it is removed: dhcp releases over the link.
	RestsOn []engine.Ref
	// Moves is the pair whose guest's end it moves into the container. Once that
	// is proven gone, a DEL that fails has nothing left to do.
	Moves *resource.Veth
}

// Known is a value that may be unknown: what has not been looked up is a type
// of its own, so that nobody reads a zero value as a fact.
type Known[T any] struct {
	value T
	known bool
}

// Know makes a known value; the zero Known is unknown.
func Know[T any](value T) Known[T] { return Known[T]{value, true} }

// Get gives the value, and whether it is one.
func (k Known[T]) Get() (T, bool) { return k.value, k.known }

// Facts are what was found, by name; none of them known at a DEL without a
// journal.
type Facts struct{ raw map[string]json.RawMessage }

// NewFacts is for tests and for the dry run.
func NewFacts(raw map[string]json.RawMessage) Facts { return Facts{raw} }

// Get reads a fact into v; known is false where it was not looked up.
func (f Facts) Get(name string, v any) (known bool, err error) {
	raw, ok := f.raw[name]
	if !ok {
		return false, nil
	}
	if err := json.Unmarshal(raw, v); err != nil {
		return false, fmt.Errorf("fact %s: %w", name, err)
	}
	return true, nil
}

// Made is what an ADD has made: the resources with what their creation learned.
type Made struct {
	Facts   Facts
	Link    []resource.Resource
	IPAM    *current.Result // nil without a delegate for addresses
	Network []resource.Resource
}

// Base is embedded by statements: no facts, no resources, and the delegation to
// ipam.type where the configuration names one.
type Base struct{ Req *Request }

// Facts implements Statement.
func (Base) Facts() []Fact { return nil }

// Link implements Statement.
func (Base) Link(Facts) ([]resource.Resource, error) { return nil, nil }

// Network implements Statement.
func (Base) Network(Facts, Known[*current.Result]) ([]resource.Resource, error) { return nil, nil }

// Delegations implements Statement: IPAM gets the whole configuration (rule 24).
func (b Base) Delegations() []Delegation {
	if b.Req.Conf.IPAM.Type == "" {
		return nil
	}
	return []Delegation{{Type: b.Req.Conf.IPAM.Type, Config: b.Req.Stdin, IPAM: true}}
}

// Lease is what addresses need, so that it outlives them (rule 4).
func (b Base) Lease() []engine.Ref {
	var refs []engine.Ref
	for _, d := range b.Delegations() {
		if d.IPAM {
			refs = append(refs, engine.MakeRef(delegateKind, delegateKey(d.Type, b.Req.ID())))
		}
	}
	return refs
}
