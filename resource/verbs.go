package resource

import "context"

// Readier is a resource that can tell whether it could be made now; STATUS asks
// it of the plan of a request that names no container.
type Readier interface {
	Ready(ctx context.Context, env Env) error
}

// Sweeper is a resource whose kind finds its objects of one network without the
// journal: another suite's, or those of a journal that was lost. What keep says
// no to is removed; what is kept though its attachment is not among the valid
// ones is named, for people.
type Sweeper interface {
	Sweep(ctx context.Context, env Env, network string, keep func(containerID, ifName string) bool) (removed, kept []string, err error)
}

// Expectant is a resource whose link a later plugin of the chain may have
// changed: what prevResult says of it holds (rule 14). An empty mac and a zero
// mtu say nothing.
type Expectant interface {
	ExpectLink(name, mac string, mtu int)
}
