package cni

import (
	"context"
	"fmt"

	"github.com/fairlead-net/fairlead/engine"
	"github.com/fairlead-net/fairlead/resource"
)

// removeMarked removes what bears the attachment's own mark: of the plan, and of
// what a plan of another configuration may have had. A record that ends half-way
// does not have it, but was left by a call that died, or was cut. What has no
// mark may be another's, since that call may have died before it made it.
func (c *call) removeMarked(ctx context.Context, env resource.Env, scope engine.Scope, plan []resource.Resource) error {
	kept := map[engine.Ref]bool{}
	var list []resource.Resource
	keep := func(r resource.Resource) error {
		ref := engine.RefOf(r)
		m, ok := r.(resource.Marked)
		if ok && !kept[ref] {
			var err error
			if ok, err = m.Marked(ctx, env); err != nil {
				return fmt.Errorf("find out whether %s is there: %w", ref, err)
			}
		}
		// What is in such a thing says what must wait for it: a lease.
		if (ok || kept[r.Within()]) && !kept[ref] {
			kept[ref], list = true, append(list, r)
		}
		return nil
	}
	for _, r := range plan {
		if err := keep(r); err != nil {
			return err
		}
	}
	for _, m := range resource.MarkedOf(c.req.ID()) {
		if err := keep(m); err != nil {
			return err
		}
	}
	return c.engine.RemovePlan(ctx, env, scope, list)
}
