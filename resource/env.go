package resource

import (
	"fmt"

	"github.com/fairlead-net/fairlead/engine"
	"github.com/fairlead-net/fairlead/kernel"
)

// Resource is a resource of this room's kinds.
type Resource = engine.Resource[Env]

// Env is what resources act upon: the two namespaces of an attachment.
type Env struct {
	Host *kernel.Namespace
	// Container is nil when the call named none, or when it is gone.
	Container *kernel.Namespace
}

// Side names one of the two namespaces, in a form that the journal keeps.
type Side string

// The two sides of an attachment.
const (
	Host      Side = "host"
	Container Side = "container"
)

// Sandbox is the Ref of the container's namespace: what is in it and in no
// link of ours lives within it.
const Sandbox engine.Ref = "sandbox"

// At gives the namespace of a side.
func (e Env) At(side Side) (*kernel.Namespace, error) {
	ns := e.Host
	if side == Container {
		ns = e.Container
	}
	if ns == nil {
		return nil, fmt.Errorf("no %s namespace in this call", side)
	}
	return ns, nil
}
