package cni

import (
	"context"
	"errors"
	"fmt"
	"slices"

	current "github.com/containernetworking/cni/pkg/types/100"

	"github.com/fairlead-net/fairlead/engine"
	"github.com/fairlead-net/fairlead/resource"
)

// add makes the attachment: facts, then the Link stage and the delegates, then
// the Network stage, each on disk before it is done.
func (c *call) add(ctx context.Context) (*current.Result, error) {
	st, err := c.prepare()
	if err == nil {
		err = c.req.needs(st)
	}
	if err != nil {
		return nil, err
	}
	if c.noState != nil {
		return nil, Errorf(CodeNotAvailable, "keep the journal: %w", c.noState)
	}
	env, scope, absence, leave, err := c.here()
	if err != nil {
		return nil, err
	}
	defer leave()
	if scope.Gone {
		return nil, Errorf(CodeNetns, "CNI_NETNS %s: %s", c.req.Netns, absence)
	}
	adding, err := c.engine.Begin(ctx, env, scope, c.header(scope))
	if errors.Is(err, engine.ErrDone) && c.plugin.Repeatable {
		return c.again(ctx, st, env, scope, err)
	}
	if err != nil {
		return nil, err
	}
	defer adding.Abandon()
	result, err := c.make(ctx, st, adding)
	if err == nil {
		_, err = asVersion(result, c.req.Conf.CNIVersion)
	}
	if err == nil {
		err = adding.Commit()
	}
	if err == nil {
		return result, nil
	}
	return nil, c.rollback(ctx, adding, err)
}

// rollback is not bound by the end of the call's context, which must not keep it
// from cleaning.
func (c *call) rollback(ctx context.Context, adding *engine.Call[resource.Env], cause error) error {
	if err := adding.Rollback(context.WithoutCancel(ctx)); err != nil {
		return withCode(Code(cause), fmt.Errorf("%w; then, rolling back: %w", cause, err))
	}
	return cause
}

func (c *call) prepare() (Statement, error) {
	var err error
	if c.hash, err = hashConf(c.req.Stdin); err != nil {
		return nil, err
	}
	st, err := c.plugin.Prepare(c.req)
	if err != nil {
		return nil, withCode(CodeConfig, err)
	}
	return st, nil
}

func (c *call) header(scope engine.Scope) engine.Header {
	return engine.Header{
		ID: c.req.ID(), Plugin: c.plugin.Name, Hash: c.hash,
		Scope: scope.ID, Netns: c.req.Netns, Place: c.place(),
	}
}

func (c *call) make(ctx context.Context, st Statement, adding *engine.Call[resource.Env]) (*current.Result, error) {
	raw, err := adding.Facts(ctx, st.Facts())
	if err != nil {
		return nil, err
	}
	made := Made{Facts: NewFacts(raw)}
	if made.Link, err = st.Link(made.Facts); err != nil {
		return nil, withCode(CodeConfig, err)
	}
	delegates := c.delegates(st, made.Link)
	first, second := made.Link, asResources(delegates)
	if len(raw) == 0 {
		first, second = append(first[:len(first):len(first)], second...), nil
	}
	// What was chosen for being free is taken now. Delegates may take their time,
	// and others who choose must not wait for them.
	for _, stage := range [][]resource.Resource{first, second} {
		if err := adding.Apply(ctx, stage); err != nil {
			return nil, err
		}
	}
	if made.IPAM, err = addresses(delegates); err != nil {
		return nil, err
	}
	known := Known[*current.Result]{}
	if made.IPAM != nil {
		known = Know(made.IPAM)
	}
	if made.Network, err = st.Network(made.Facts, known); err != nil {
		return nil, withCode(CodeConfig, err)
	}
	if err := adding.Apply(ctx, made.Network); err != nil {
		return nil, err
	}
	result, err := st.Result(made)
	if err != nil {
		return nil, err
	}
	result.CNIVersion = current.ImplementedSpecVersion
	return result, nil
}

// overLink is the one IPAM plugin that gives its lease back over the link: what
// the Link stage made, and who moved it, must wait until it has (rule 4).
const overLink = "dhcp"

// delegates makes the resources of a statement's delegations.
func (c *call) delegates(st Statement, link []resource.Resource) []*delegate {
	var list []*delegate
	for _, d := range st.Delegations() {
		if d.IPAM && d.Type == overLink {
			for _, r := range append(link[:len(link):len(link)], asResources(list)...) {
				d.RestsOn = append(d.RestsOn, engine.RefOf(r))
			}
		}
		list = append(list, &delegate{
			Type: d.Type, ID: c.req.ID(), Netns: c.req.Netns, Args: c.req.Args,
			Config: d.Config, RestsOn: d.RestsOn, Moves: d.Moves, ipam: d.IPAM, caller: c.caller,
		})
	}
	return list
}

func asResources(delegates []*delegate) []resource.Resource {
	list := make([]resource.Resource, 0, len(delegates))
	for _, d := range delegates {
		list = append(list, d)
	}
	return list
}

// addresses is the result of the delegate for addresses; nil where there is
// none.
func addresses(delegates []*delegate) (*current.Result, error) {
	for _, d := range delegates {
		if !d.ipam {
			continue
		}
		if d.result == nil || len(d.result.IPs) == 0 {
			return nil, Errorf(CodeConfig, "%s gave no address", d.Type)
		}
		return d.result, nil
	}
	return nil, nil
}

// plan is the whole of what the request would own, as far as it is known.
func (c *call) plan(st Statement, facts Facts, ipam Known[*current.Result]) ([]resource.Resource, error) {
	link, linkErr := st.Link(facts)
	network, netErr := st.Network(facts, ipam)
	list := slices.Concat(link, asResources(c.delegates(st, link)), network)
	return list, errors.Join(linkErr, netErr)
}
