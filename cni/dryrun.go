package cni

import (
	"context"
	"encoding/json"
	"fmt"

	current "github.com/containernetworking/cni/pkg/types/100"

	"github.com/fairlead-net/fairlead/engine"
	"github.com/fairlead-net/fairlead/resource"
)

// Planned is one object that an ADD would own.
type Planned struct {
	// Sort is exclusive, shared, restored, ensured, or delegate.
	Sort   string `json:"sort"`
	Kind   string `json:"kind"`
	Key    string `json:"key"`
	Within string `json:"within,omitempty"`
	// Object is the resource itself; absent for what only the delegate knows.
	Object any `json:"object,omitempty"`
	// Unknown says who decides what is not known before ADD: "<from NAME>".
	Unknown string `json:"unknown,omitempty"`
}

// DryRun is the plan of one plugin of a configuration, and the result that it
// would hand to the next.
type DryRun struct {
	Plugin  string          `json:"plugin"`
	Objects []Planned       `json:"objects"`
	Result  *current.Result `json:"-"`
}

// DryRun states what ADD would own, in order, and touches nothing: facts are
// looked up without their locks, our own IPAM is previewed without reserving.
func (r *Runner) DryRun(ctx context.Context, name string, req *Request) (DryRun, error) {
	plugin, ok := r.Plugins(name)
	if !ok {
		return DryRun{Plugin: name, Objects: []Planned{{Sort: "delegate", Kind: "plugin", Key: name, Unknown: "<from " + name + ">"}}}, nil
	}
	if err := req.validate(); err != nil {
		return DryRun{}, err
	}
	c := &call{runner: r, plugin: plugin, req: req}
	c.caller = &caller{runner: r, path: req.Path}
	st, err := c.prepare()
	if err != nil {
		return DryRun{}, err
	}
	facts, err := dryFacts(ctx, st, req.Netns)
	if err != nil {
		return DryRun{}, err
	}
	return c.dryRun(ctx, st, facts)
}

func (c *call) dryRun(ctx context.Context, st Statement, facts Facts) (DryRun, error) {
	run := DryRun{Plugin: c.plugin.Name}
	link, err := st.Link(facts)
	if err != nil {
		return run, withCode(CodeConfig, err)
	}
	made := Made{Facts: facts, Link: link}
	ipam := Known[*current.Result]{}
	for _, r := range link {
		run.Objects = append(run.Objects, planned(r))
	}
	for _, d := range c.delegates(st, nil) {
		p := Planned{Sort: "delegate", Kind: "delegate", Key: d.Type}
		preview, err := c.preview(ctx, d)
		switch {
		case err != nil:
			return run, err
		case preview == nil:
			p.Unknown = "<from " + d.Type + ">"
		default:
			ipam, made.IPAM = Know(preview), preview
			p.Object = preview
		}
		run.Objects = append(run.Objects, p)
	}
	if made.Network, err = st.Network(facts, ipam); err != nil {
		return run, withCode(CodeConfig, err)
	}
	for _, r := range made.Network {
		run.Objects = append(run.Objects, planned(r))
	}
	if _, known := ipam.Get(); known || len(c.delegates(st, nil)) == 0 {
		run.Result, err = st.Result(made)
	}
	return run, err
}

// preview asks an IPAM plugin of ours what it would give; nil where it is
// another's.
func (c *call) preview(ctx context.Context, d *delegate) (*current.Result, error) {
	plugin, ok := c.runner.Plugins(d.Type)
	if !ok || !d.ipam {
		return nil, nil
	}
	req := d.request(Add, d.Config)
	if c.req.Verb == Status {
		// It is for no container: what would the next one be given?
		req.ContainerID, req.Netns, req.IfName = "fairlead-status", "none", "eth0"
	}
	if err := req.validate(); err != nil {
		return nil, err
	}
	st, err := plugin.Prepare(req)
	if err != nil {
		return nil, withCode(CodeConfig, err)
	}
	previewer, ok := st.(Previewer)
	if !ok {
		return nil, nil
	}
	result, err := previewer.Preview(ctx)
	if err != nil {
		return nil, fmt.Errorf("preview of %s: %w", d.Type, err)
	}
	return result, nil
}

func dryFacts(ctx context.Context, st Statement, netns string) (Facts, error) {
	wanted := st.Facts()
	if len(wanted) == 0 {
		return Facts{}, nil
	}
	env, _, leave, err := resource.Open(netns)
	defer leave()
	if err != nil {
		return Facts{}, err
	}
	raw := make(map[string]json.RawMessage, len(wanted))
	for _, f := range wanted {
		if w, ok := f.(interface{ Within() engine.Ref }); ok && w.Within() == resource.Sandbox && env.Container == nil {
			continue // nothing can be known yet
		}
		value, err := f.Find(ctx, env)
		if err != nil {
			return Facts{}, fmt.Errorf("find %s: %w", f.Name(), err)
		}
		if raw[f.Name()], err = json.Marshal(value); err != nil {
			return Facts{}, err
		}
	}
	return NewFacts(raw), nil
}

func planned(r resource.Resource) Planned {
	return Planned{
		Sort: engine.SortOf(r), Kind: r.Kind(), Key: r.Key(),
		Within: string(r.Within()), Object: r,
	}
}

// Plan is the whole plan of a request with given facts and a given IPAM result:
// what the golden files pin, and what DEL goes by without a journal, where both
// are unknown.
func Plan(plugin Plugin, req *Request, facts Facts, ipam Known[*current.Result]) ([]resource.Resource, error) {
	if err := req.validate(); err != nil {
		return nil, err
	}
	c := &call{runner: &Runner{}, plugin: plugin, req: req}
	c.caller = &caller{runner: c.runner, path: req.Path}
	st, err := c.prepare()
	if err != nil {
		return nil, err
	}
	return c.plan(st, facts, ipam)
}
