package cni

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/fairlead-net/fairlead/engine"
	"github.com/fairlead-net/fairlead/resource"
)

// scopeOf is the engine's view of a container's namespace.
func scopeOf(env resource.Env) (engine.Scope, error) {
	if env.Container == nil {
		return engine.Scope{Ref: resource.Sandbox, Gone: true}, nil
	}
	cookie, err := env.Container.Cookie()
	if err != nil {
		return engine.Scope{}, err
	}
	return engine.Scope{Ref: resource.Sandbox, ID: strconv.FormatUint(cookie, 16)}, nil
}

// enter opens the places that a journal entry acted in. A namespace of an
// earlier boot, one whose path leads nowhere and one whose path leads to
// another cookie are gone: facts, where the path is what it was at ADD, or the
// call's word stands for it. The path of the request at hand is tried too:
// runtimes name one namespace by several paths. Where one of them can't be
// opened, what is on the host can be removed all the same.
func (c *call) enter(_ context.Context, h engine.Header) (resource.Env, engine.Scope, func(), error) {
	if h.Scope == "" {
		// An address plugin that was called without a namespace: nobody can
		// tell by the path what became of the container.
		env, scope, leave, err := hostOnly()
		env.Recorded, env.Warn = true, c.warnText
		return env, scope, leave, err
	}
	paths := []string{h.Netns}
	if c.concerns(h) && c.req.Netns != h.Netns {
		paths = append(paths, c.req.Netns)
	}
	earlier := c.engine.Journal == nil || h.Boot != c.engine.Journal.Boot
	if earlier {
		paths = []string{""}
	}
	var env resource.Env
	var unknown error
	leave := func() {}
	for _, path := range paths {
		leave()
		var scope engine.Scope
		var err error
		env, _, leave, err = c.openAt(path)
		if err == nil {
			scope, err = scopeOf(env)
		}
		if err == nil && !scope.Gone && scope.ID == h.Scope {
			env.Recorded, env.Warn = true, c.warnText
			return env, scope, leave, nil
		}
		if err != nil {
			unknown = fmt.Errorf("open the namespace of %s: %w", h.ID, err)
		}
		if env.Host == nil {
			leave()
			return resource.Env{}, engine.Scope{}, func() {}, unknown
		}
	}
	if unknown == nil && !earlier {
		unknown = c.unproven(h)
	}
	env.Container, env.Unknown = nil, unknown
	env.Recorded, env.Warn = true, c.warnText
	return env, engine.Scope{Ref: resource.Sandbox, ID: h.Scope, Gone: unknown == nil}, leave, nil
}

var errHostNetns = errors.New("it is the host's own namespace")

// here opens the namespaces of the request at hand. The host's own as the
// container's is refused before anything is touched (rule 22).
func (c *call) here() (resource.Env, engine.Scope, string, func(), error) {
	env, absence, leave, err := c.openAt(c.req.Netns)
	if c.plugin.IPAM && env.Host != nil && env.Container == nil {
		// It owns nothing in there, so it does its work with any path.
		env.Warn = c.warnText
		return env, engine.Scope{Ref: resource.Sandbox}, "", leave, nil
	}
	if err != nil {
		leave()
		return resource.Env{}, engine.Scope{}, "", func() {}, Errorf(CodeNetns, "open CNI_NETNS: %w", err)
	}
	if env.Container != nil && !c.overridden() {
		same, err := env.Host.Same(env.Container)
		if err == nil && same {
			err = Errorf(CodeNetns, "CNI_NETNS %s: %w", c.req.Netns, errHostNetns)
		}
		if err != nil {
			leave()
			return resource.Env{}, engine.Scope{}, "", func() {}, err
		}
	}
	scope, err := scopeOf(env)
	if err != nil {
		leave()
		return resource.Env{}, engine.Scope{}, "", func() {}, err
	}
	if c.opened == nil {
		c.opened = &opened{c.req.Netns, env, absence}
		closer := leave
		leave = func() { c.opened = nil; closer() }
	}
	env.Warn = c.warnText
	env.Claimed = func(ifName string) (bool, error) { return c.claimed(scope, ifName) }
	return env, scope, absence, leave, nil
}

// notTheHosts tells whether the journal knows that the attachment was in another
// namespace than the host's own.
func (c *call) notTheHosts() bool {
	if c.engine.Journal == nil {
		return false
	}
	env, _, leave, err := hostOnly()
	if err != nil {
		return false
	}
	defer leave()
	cookie, err := env.Host.Cookie()
	if err != nil {
		return false
	}
	entries, _ := c.engine.Journal.Entries(c.req.ID()) // what can't be read proves nothing
	here := strconv.FormatUint(cookie, 16)
	return len(entries) > 0 && !slices.ContainsFunc(entries, func(e *engine.Entry) bool {
		h := e.Header
		return h.Boot == c.engine.Journal.Boot && (h.Scope == "" || h.Scope == here)
	})
}

// openAt opens the namespaces of an attachment whose container's is at path,
// unless the call has them open.
func (c *call) openAt(path string) (resource.Env, string, func(), error) {
	if c.opened != nil && c.opened.path == path {
		return c.opened.env, c.opened.absence, func() {}, nil
	}
	env, absence, leave, err := resource.Open(path)
	return env, string(absence), leave, err
}

// claimed tells whether another attachment has the interface in the namespace.
// It reads the whole journal: it is for the rare case where a link that nobody
// could mark has to be told from another's (case 15). An entry of another's that
// can't be read may be the one that has it.
func (c *call) claimed(scope engine.Scope, ifName string) (bool, error) {
	if c.engine.Journal == nil || scope.Gone {
		return false, nil
	}
	entries, err := c.engine.Journal.Others(c.req.ID())
	if slices.ContainsFunc(entries, func(e *engine.Entry) bool {
		return e.Header.Boot == c.engine.Journal.Boot && e.Header.Scope == scope.ID && e.Header.ID.IfName == ifName
	}) {
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("read the journal (see 'fairlead forget'): %w", err)
	}
	return false, nil
}

// overridden is the reference suite's way to allow the host's own namespace.
func (c *call) overridden() bool {
	v := c.runner.Getenv("CNI_NETNS_OVERRIDE")
	return v == "1" || v == "TRUE" || v == "true"
}
