package resource

import (
	"context"
	"fmt"
	"slices"

	"github.com/fairlead-net/fairlead/kernel"
)

// FindMaster is the fact of a lower link: the one of a name, or, without a
// name, the one that the default route leaves by, IPv4's before IPv6's.
type FindMaster struct {
	Link string
	Side Side
}

// Master is what FindMaster finds. Its Name is "" where there is no such link.
type Master struct {
	Name string `json:"name,omitempty"`
	MTU  int    `json:"mtu,omitempty"` // bytes
}

func (FindMaster) Name() string { return "master" }
func (FindMaster) Lock() string { return "" }

// Find looks it up.
func (f FindMaster) Find(_ context.Context, env Env) (any, error) { return f.Look(env) }

// Look is Find, with its type.
func (f FindMaster) Look(env Env) (Master, error) {
	ns, err := env.At(f.Side)
	if err != nil {
		return Master{}, err
	}
	var link kernel.Link
	var ok bool
	if f.Link == "" {
		link, ok, err = defaultLink(ns)
	} else {
		link, ok, err = ns.Link(f.Link)
	}
	if err != nil || !ok {
		return Master{}, err
	}
	return Master{Name: link.Name, MTU: link.MTU}, nil
}

// String names what is looked for.
func (f FindMaster) String() string {
	where := "on the host"
	if f.Side == Container {
		where = "in the container"
	}
	if f.Link == "" {
		return "interface of a default route " + where
	}
	return fmt.Sprintf("interface %s %s", f.Link, where)
}

// defaultLink is the link of the default route: that of the lowest metric, of
// IPv4 if it has any. One of several ways counts where there are several.
func defaultLink(ns *kernel.Namespace) (kernel.Link, bool, error) {
	routes, err := ns.DefaultRoutes(0)
	if err != nil || len(routes) == 0 {
		return kernel.Link{}, false, err
	}
	best := slices.MinFunc(routes, func(a, b kernel.Route) int {
		if a4, b4 := a.Dst.Addr().Is4(), b.Dst.Addr().Is4(); a4 != b4 {
			if a4 {
				return -1
			}
			return 1
		}
		return a.Metric - b.Metric
	})
	index := best.Link
	if len(best.NextHops) > 0 {
		index = best.NextHops[0].Link
	}
	return ns.LinkByIndex(index)
}
