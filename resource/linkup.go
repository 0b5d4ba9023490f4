package resource

import (
	"context"

	"github.com/fairlead-net/fairlead/engine"
	"github.com/fairlead-net/fairlead/kernel"
)

// LinkUp raises a link that was made down: a guest's end once it has its
// addresses, so that it announces them, or a bridge's port once its policy is
// in force (rule 10).
type LinkUp struct{ On }

func (l *LinkUp) Kind() string { return "up.1" }
func (l *LinkUp) Key() string  { return l.key() }

func (l *LinkUp) Create(_ context.Context, env Env) error {
	ns, link, err := l.need(env)
	if err != nil {
		return err
	}
	return unsure(setUp(ns, link, true))
}

func (l *LinkUp) Observe(_ context.Context, env Env) (engine.State, error) {
	_, link, ok, err := l.find(env)
	if err != nil || !ok {
		return absentUnless(err)
	}
	if !link.Up {
		return engine.Drifted(l.Link + " is down"), nil
	}
	return engine.Present(), nil
}

func (l *LinkUp) Remove(_ context.Context, env Env) error {
	ns, link, ok, err := l.find(env)
	if err != nil || !ok {
		return err
	}
	return setUp(ns, link, false)
}

// setUp takes a link that is gone meanwhile for down.
func setUp(ns *kernel.Namespace, link kernel.Link, up bool) error {
	err := ns.SetLink(link.Index, kernel.LinkChange{Up: &up})
	if !up && kernel.Absent(kernel.ObjectLink, err) {
		return nil
	}
	return err
}
