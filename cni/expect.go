package cni

import (
	"context"
	"errors"
	"fmt"
	"net"

	current "github.com/containernetworking/cni/pkg/types/100"

	"github.com/fairlead-net/fairlead/engine"
	"github.com/fairlead-net/fairlead/resource"
)

// expected is what CHECK compares with: the journal's record as the later
// plugins of the chain left it, then what prevResult says (rule 14).
func (c *call) expected(ctx context.Context, st Statement, env resource.Env, scope engine.Scope) ([]resource.Resource, error) {
	prev := c.req.Conf.PrevResult
	list, err := c.recorded(scope)
	if err != nil {
		return nil, err
	}
	stale, err := resource.Superseded(ctx, env, list)
	if err == nil && stale && !c.plugin.IPAM {
		// Another's link in the place of ours is damage, unless prevResult is of
		// an ADD that the journal does not know.
		stale, err = c.anothersResult(prev)
	}
	if err != nil {
		return nil, err
	}
	if list == nil || stale {
		var all bool
		if list, all, err = c.unrecorded(st); err != nil {
			return nil, err
		}
		if !all && prev == nil {
			return nil, Errorf(CodeConfig, "no prevResult, and no record of %s: there is nothing to compare with", c.req.ID())
		}
	}
	if prev == nil || c.plugin.IPAM {
		return list, nil
	}
	tuned, err := resource.TunedElsewhere(c.req.ContainerID, c.req.IfName)
	if err != nil {
		return nil, err
	}
	for _, r := range list {
		expectant, ok := r.(resource.Expectant)
		if !ok {
			continue
		}
		if tuned {
			expectant.ExpectLink(c.req.IfName, "", resource.AnyMTU)
		}
		for _, i := range prev.Interfaces {
			// A link of the host may have the name of the container's.
			if i.Sandbox != "" || i.Name != c.req.IfName {
				expectant.ExpectLink(i.Name, i.Mac, i.Mtu)
			}
		}
	}
	seen, err := promised(prev, c.req.IfName)
	return append(list, seen...), err
}

// anothersResult tells whether prevResult is of an ADD that the journal has not
// recorded: another suite's, under the same container ID.
func (c *call) anothersResult(prev *current.Result) (bool, error) {
	if prev == nil {
		return false, nil
	}
	addresses, err := prefixes(prev.IPs)
	if err != nil {
		return false, fmt.Errorf("prevResult: %w", err)
	}
	mac := ""
	for _, i := range prev.Interfaces {
		if i.Sandbox != "" && i.Name == c.req.IfName {
			mac = i.Mac
		}
	}
	entries, err := c.engine.Journal.Entries(c.req.ID())
	if err != nil {
		return false, err
	}
	var list []resource.Resource
	for _, e := range entries {
		made, err := c.engine.Codec.Decode(e)
		if err != nil {
			return false, err
		}
		list = append(list, made...)
	}
	return !resource.GivenBy(list, c.req.IfName, mac, addresses), nil
}

// handedOn tells whether prevResult still has each address that an IPAM plugin
// gave (spec 14), and its gateway. One that the plugin gave none for may have
// got one since: the interface's plugin fills in its own.
func (c *call) handedOn(st Statement, made []resource.Resource) error {
	prev := c.req.Conf.PrevResult
	if prev == nil {
		return nil
	}
	given, err := st.Result(Made{Link: made})
	if err != nil {
		return err
	}
	has := make(map[string]net.IP, len(prev.IPs))
	for _, ip := range prev.IPs {
		has[ip.Address.String()] = ip.Gateway
	}
	var errs []error
	for _, ip := range given.IPs {
		gateway, ok := has[ip.Address.String()]
		switch {
		case !ok:
			errs = append(errs, fmt.Errorf("address %s: given, but missing in prevResult", ip.Address.String()))
		case c.plugin.CheckGateways && ip.Gateway != nil && !ip.Gateway.Equal(gateway):
			errs = append(errs, fmt.Errorf("address %s: given with the gateway %s, but prevResult has %s", ip.Address.String(), ip.Gateway, gateway))
		}
	}
	return errors.Join(errs...)
}

// unrecorded is what can be compared where another suite made it: the
// delegates' answers, and what leaves the same traces whoever made it. all says
// that this is everything.
func (c *call) unrecorded(st Statement) (list []resource.Resource, all bool, err error) {
	plan, err := c.plan(st, Facts{}, Known[*current.Result]{})
	for _, r := range plan {
		_, anySuites := r.(resource.AnySuites)
		if _, isDelegate := r.(*delegate); isDelegate || anySuites {
			list = append(list, r)
		}
	}
	return list, len(plan) > 0 && len(list) == len(plan), err
}

// recorded is the fold of the attachment's entries; nil where none is ours.
// DEL would take the same one, less those of a namespace that was before. Where
// one can't be read, or is newer, nothing could be said of what it changed
// (rule 19).
func (c *call) recorded(scope engine.Scope) ([]resource.Resource, error) {
	if c.engine.Journal == nil {
		return nil, nil
	}
	list, err := c.fold(scope)
	if errors.Is(err, engine.ErrNewer) || errors.Is(err, engine.ErrUnreadable) {
		c.warn("CHECK goes by prevResult: %v", err)
		return nil, nil
	}
	return list, err
}

func (c *call) fold(scope engine.Scope) ([]resource.Resource, error) {
	entries, err := c.engine.Journal.Entries(c.req.ID())
	if err != nil {
		return nil, err
	}
	name, equal := "", false
	for _, e := range entries {
		h := e.Header
		if !e.Done || h.Plugin != c.plugin.Name || h.Boot != c.engine.Journal.Boot || h.Scope != scope.ID {
			continue
		}
		if h.Hash == c.hash || !equal {
			name, equal = e.Name(), h.Hash == c.hash
		}
	}
	if name == "" {
		return nil, nil
	}
	return engine.Fold(c.engine.Codec, entries, name)
}

// ready asks every resource of the plan whether it could be made. What addresses
// there would be is asked of an IPAM plugin of ours; another's are not known.
func (c *call) ready(ctx context.Context, env resource.Env, st Statement) []error {
	ipam := Known[*current.Result]{}
	for _, d := range c.delegates(st, nil) {
		// Why it has none is for its own STATUS to tell.
		if given, err := c.preview(ctx, d); err == nil && given != nil {
			ipam = Know(given)
		}
	}
	list, err := c.plan(st, Facts{}, ipam)
	if err != nil {
		return []error{withCode(CodeNotAvailable, err)}
	}
	var errs []error
	for _, r := range list {
		if readier, ok := r.(resource.Readier); ok {
			if err := readier.Ready(ctx, env); err != nil {
				errs = append(errs, withCode(CodeNotAvailable, err))
			}
		}
	}
	return errs
}

// hostOnly is for verbs without a container.
func hostOnly() (resource.Env, engine.Scope, func(), error) {
	env, _, leave, err := resource.Open("")
	if err != nil {
		leave()
		return resource.Env{}, engine.Scope{}, func() {}, err
	}
	return env, engine.Scope{Ref: resource.Sandbox}, leave, nil
}
