package resource

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/fairlead-net/fairlead/attachment"
	"github.com/fairlead-net/fairlead/kernel"
)

// Sweep finds the network's pairs by the marks of their host's ends, whatever
// attachment v itself is of. Where one is, its namespace lives, or did so a
// moment ago: the kernel takes it away with that. So none goes without force,
// and none is named: the living need no mention.
func (v *Veth) Sweep(_ context.Context, env Env, s Sweep) (removed, kept []string, err error) {
	if !s.Force {
		return nil, nil, nil
	}
	links, err := env.Host.LinksOfKind("veth")
	if err != nil {
		return nil, nil, err
	}
	var errs []error
	for _, l := range links {
		id, ok := idOfAlias(l, s.Network)
		if !ok {
			continue
		}
		if s.Valid[id] {
			continue
		}
		if _, err := env.Host.DelLink(l.Index); err != nil {
			errs = append(errs, err)
			continue
		}
		removed = append(removed, fmt.Sprintf("interface %s of %s", l.Name, id))
	}
	return removed, nil, errors.Join(errs...)
}

// idOfAlias reads whose a link is, if it is of the network: the mark's owner
// proves what else is in it, which may have been cut.
func idOfAlias(l kernel.Link, network string) (id attachment.ID, ok bool) {
	owner, ok := attachment.OwnerOfAlias(l.Alias)
	if !ok {
		return id, false
	}
	fields := strings.Fields(l.Alias)
	if len(fields) < 2 {
		return id, false
	}
	container, ifName, ok := strings.Cut(fields[1], "/")
	id = attachment.ID{Network: network, Container: container, IfName: ifName}
	return id, ok && id.Owner() == owner
}
