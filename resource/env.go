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
	// Container is nil when the call named none, or when it is gone, or when it
	// could not be found out whether it is: then Unknown says why, and nothing
	// that may be in it is taken for gone.
	Container *kernel.Namespace
	Unknown   error
	// Recorded says that the journal tells what was made: what another suite may
	// have made under this attachment's name is not looked for, then.
	Recorded bool
	// Claimed tells whether the journal knows of another attachment that has an
	// interface of that name in the container; an error where that could not be
	// found out. It may be nil.
	Claimed func(ifName string) (bool, error)
	// Warn tells a person what the protocol has no place for. It may be nil.
	Warn func(text string)
}

func (e Env) claimed(ifName string) (bool, error) {
	if e.Claimed == nil {
		return false, nil
	}
	claimed, err := e.Claimed(ifName)
	if err != nil {
		return false, fmt.Errorf("find out whether another attachment has %s: %w", ifName, err)
	}
	return claimed, nil
}

func (e Env) warn(format string, args ...any) {
	if e.Warn != nil {
		e.Warn(fmt.Sprintf(format, args...))
	}
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
	if ns == nil && side == Container && e.Unknown != nil {
		return nil, e.Unknown
	}
	if ns == nil {
		return nil, fmt.Errorf("no %s namespace in this call", side)
	}
	return ns, nil
}

// Open opens the two namespaces of an attachment. An empty path, or one that
// leads to no namespace, gives an Env without Container, and says why; that is
// a fact. An error is not: it could not be found out. close is never nil.
func Open(netns string) (env Env, absence kernel.Absence, closer func(), err error) {
	host, err := kernel.Host()
	if err != nil {
		return Env{}, "", func() {}, err
	}
	closer = func() { _ = host.Close() } // nothing was written through it
	env = Env{Host: host}
	if netns == "" {
		return env, "no path given", closer, nil
	}
	container, absence, err := kernel.Open(netns)
	if err != nil || absence != "" {
		return env, absence, closer, err
	}
	env.Container = container
	return env, "", func() { _ = container.Close(); _ = host.Close() }, nil
}
