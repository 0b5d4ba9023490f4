package resource

import (
	"context"

	"github.com/fairlead-net/fairlead/attachment"
)

// Readier is a resource that can tell whether it could be made now; STATUS asks
// it of the plan of a request that names no container.
type Readier interface {
	Ready(ctx context.Context, env Env) error
}

// Sweeper is a resource whose kind finds its objects of one network without the
// journal: another suite's, or those of a journal that was lost. Nobody can say
// of such a thing whether its namespace lives, so without Force it is named as
// kept, unless the kind itself knows that it is dead (rule 15).
type Sweeper interface {
	Sweep(ctx context.Context, env Env, s Sweep) (removed, kept []string, err error)
}

// Sweep is what a GC asks of a kind.
type Sweep struct {
	Network string
	// Valid are the network's attachments that are never touched.
	Valid map[attachment.ID]bool
	// Force is the operator's word to remove all others.
	Force bool
}

// AnySuites is a resource whose Observe tells the truth also of what another
// suite made: CHECK asks it where the journal has no record.
type AnySuites interface{ AnySuites() }

// Expectant is a resource whose link a later plugin of the chain may have
// changed: what prevResult says of it holds (rule 14). An empty mac and a zero
// mtu say nothing.
type Expectant interface {
	ExpectLink(name, mac string, mtu int)
}
