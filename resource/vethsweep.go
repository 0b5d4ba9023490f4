package resource

import (
	"context"
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
	return sweepLinks(env.Host, "veth", s)
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
