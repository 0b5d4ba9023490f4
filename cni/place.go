package cni

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/fairlead-net/fairlead/engine"
	"github.com/fairlead-net/fairlead/kernel"
	"github.com/fairlead-net/fairlead/resource"
)

// place is what an entry records as the place of its path: "" where the path's
// absence would prove nothing to anybody else. That is no reason to fail an ADD.
func (c *call) place() string {
	lasting, err := kernel.Lasting(c.req.Netns)
	here := ""
	if lasting && err == nil {
		here, err = kernel.Place()
	}
	if err != nil {
		c.warn("GC will not take a missing %s for the end of its namespace: %v", c.req.Netns, err)
	}
	return here
}

// errElsewhere is a path that leads to nothing of the attachment's, seen from
// where that is no fact (rule 7).
var errElsewhere = errors.New("its path does not lead to it here, which proves nothing")

// unproven says why it is no fact that a namespace is gone whose path does not
// lead to it; nil where it is one. It is one in the place of ADD; of the request's
// own attachment, for which the runtime speaks; and at a forced GC, for which the
// operator does.
func (c *call) unproven(h engine.Header) error {
	own := c.concerns(h)
	switch {
	case own && c.req.Verb != Add, c.forced:
		return nil
	case own && h.Place == "" && !perProcess(h.Netns):
		return nil // an ADD that meets what it has left itself
	}
	why := "it was recorded by a path that other processes need not see"
	if h.Place != "" {
		here, err := kernel.Place()
		if err != nil {
			return fmt.Errorf("%s of %s: %w: %w", h.Netns, h.ID, errElsewhere, err)
		}
		if here == h.Place {
			return nil
		}
		why = "it was recorded in another mount namespace"
	}
	return fmt.Errorf("%s of %s: %w: %s", h.Netns, h.ID, errElsewhere, why)
}

// concerns tells whether the request is about the attachment of an entry. A GC is
// about none, whatever a runtime leaves in its environment.
func (c *call) concerns(h engine.Header) bool {
	return h.ID == c.req.ID() && c.req.Verb != GC && c.req.Verb != Status
}

// perProcess tells that a path is another thing to each process by its very
// name.
func perProcess(path string) bool {
	for _, own := range []string{"/proc/self/", "/proc/thread-self/", "/dev/fd/"} {
		if strings.HasPrefix(filepath.Clean(path), own) {
			return true
		}
	}
	return !filepath.IsAbs(path)
}

// Gone tells whether the namespace of a recorded attachment is known to be gone,
// seen from here; an error says why that could not be found out.
func Gone(j *engine.Journal, h engine.Header) (bool, error) {
	c := &call{engine: &engine.Engine[resource.Env]{Journal: j}, req: &Request{}}
	env, scope, leave, err := c.enter(context.Background(), h)
	leave()
	return scope.Gone, errors.Join(err, env.Unknown)
}
