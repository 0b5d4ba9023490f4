package cni

import (
	"context"
	"errors"
	"fmt"

	current "github.com/containernetworking/cni/pkg/types/100"

	"github.com/fairlead-net/fairlead/engine"
	"github.com/fairlead-net/fairlead/resource"
)

// again is the second ADD of a repeatable plugin: the answer of the first, by its
// record, as long as what that made is there. Else it is already, the error of any
// second ADD, and why.
func (c *call) again(ctx context.Context, st Statement, env resource.Env, scope engine.Scope, already error) (*current.Result, error) {
	made, err := c.madeBefore(ctx, env, scope)
	if err != nil {
		return nil, fmt.Errorf("%w, and can't be answered as before: %w", already, err)
	}
	result, err := st.Result(Made{Link: made})
	if err == nil {
		_, err = asVersion(result, c.req.Conf.CNIVersion)
	}
	if err != nil {
		return nil, err
	}
	result.CNIVersion = current.ImplementedSpecVersion
	return result, nil
}

// madeBefore gives what the entry in force has made in this namespace, all of it
// there.
func (c *call) madeBefore(ctx context.Context, env resource.Env, scope engine.Scope) ([]resource.Resource, error) {
	entries, err := c.engine.Journal.Entries(c.req.ID())
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if h := e.Header; !e.Done || h.Plugin != c.plugin.Name || h.Hash != c.hash || h.Scope != scope.ID {
			continue
		}
		made, err := c.engine.Codec.Decode(e)
		if err != nil {
			return nil, err
		}
		for _, r := range made {
			state, err := r.Observe(ctx, env)
			if err == nil && state.Is != engine.IsPresent {
				err = errors.New("not as it was: " + state.Detail)
			}
			if err != nil {
				return nil, fmt.Errorf("%s: %w", engine.RefOf(r), err)
			}
		}
		return made, nil
	}
	return nil, fmt.Errorf("no record of it in the namespace at %s", c.req.Netns)
}
