package resource

import (
	"context"

	"github.com/fairlead-net/fairlead/attachment"
	"github.com/fairlead-net/fairlead/kernel"
)

// Marked is a resource that bears its attachment's own mark or key. It can be
// removed by that alone where a record that ends half-way does not say that it
// was made: what is unmarked may be another's then. Marked tells whether it is
// there, or may be, with the mark; an error where that could not be found out.
type Marked interface {
	Resource
	Marked(ctx context.Context, env Env) (bool, error)
}

// MarkedOf are the resources that bear an attachment's mark whatever a
// configuration says of them.
func MarkedOf(id attachment.ID) []Marked {
	return []Marked{NewVeth(id), NewMasquerade(id)}
}

// Marked implements Marked: the rules are the owner's by their key.
func (m *Masquerade) Marked(context.Context, Env) (bool, error) { return true, nil }

// Marked implements Marked: the chains are the attachment's by their name.
func (s *SpoofCheck) Marked(context.Context, Env) (bool, error) { return true, nil }

// Marked implements Marked. The name of the host's end is the owner's.
func (v *Veth) Marked(_ context.Context, env Env) (bool, error) {
	host, err := v.findHost(env)
	return host != nil, err
}

// Marked implements Marked. What is in no namespace that is there is gone.
func (l *ChildLink) Marked(_ context.Context, env Env) (bool, error) {
	find := func(ns *kernel.Namespace) (*kernel.Link, error) { return l.find(ns, env.Recorded) }
	return marked(env, Container, l.Owner, find)
}

// Marked implements Marked.
func (t *Tap) Marked(_ context.Context, env Env) (bool, error) {
	return marked(env, t.side(), t.Owner, t.find)
}

func marked(env Env, side Side, owner attachment.Owner, find func(*kernel.Namespace) (*kernel.Link, error)) (bool, error) {
	if side == Container && env.Container == nil && env.Unknown == nil {
		return false, nil
	}
	ns, err := env.At(side)
	if err != nil {
		return false, err
	}
	link, err := find(ns)
	if err != nil || link == nil {
		return false, err
	}
	whose, ok := attachment.OwnerOfAlias(link.Alias)
	return ok && whose == owner, nil
}
