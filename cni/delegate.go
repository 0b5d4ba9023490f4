package cni

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	current "github.com/containernetworking/cni/pkg/types/100"

	"github.com/fairlead-net/fairlead/attachment"
	"github.com/fairlead-net/fairlead/engine"
	"github.com/fairlead-net/fairlead/resource"
)

const delegateKind = "delegate.1"

// delegate is another plugin's part, as a resource: its Create is ADD, its
// Observe CHECK, its Remove DEL. So whoever heard ADD hears DEL.
type delegate struct {
	Type   string          `json:"type"`
	ID     attachment.ID   `json:"attachment"`
	Netns  string          `json:"netns,omitempty"`
	Args   string          `json:"args,omitempty"`
	Config json.RawMessage `json:"config"`
	// RestsOn are the Refs that must stay until DEL was heard.
	RestsOn []engine.Ref `json:"restsOn,omitempty"`

	// Moves is what it moves into the container, if anything.
	Moves *resource.Veth `json:"moves,omitempty"`

	// Path is where the plugin was found at ADD; a DEL without CNI_PATH uses it.
	Path string `json:"path,omitempty"`

	caller *caller
	ipam   bool
	result *current.Result
}

func delegateKey(typ string, id attachment.ID) string {
	return typ + " " + string(id.Owner())
}

func (d *delegate) Kind() string        { return delegateKind }
func (d *delegate) Key() string         { return delegateKey(d.Type, d.ID) }
func (d *delegate) Within() engine.Ref  { return "" }
func (d *delegate) Needs() []engine.Ref { return d.RestsOn }

// Marked implements resource.Marked: what a delegate has is under the attachment's
// identity, but for what it moves, which goes by its place.
func (d *delegate) Marked(context.Context, resource.Env) (bool, error) { return d.Moves == nil, nil }

// request is the call that the delegate gets: the same environment, with the
// verb and the configuration of the delegation (spec 31).
func (d *delegate) request(verb Verb, config []byte) *Request {
	req := &Request{
		Verb: verb, ContainerID: d.ID.Container, Netns: d.Netns, IfName: d.ID.IfName,
		Args: d.Args, Path: d.caller.path, Stdin: config,
	}
	// What DEL or CHECK say today counts; what they leave out is as it was at
	// ADD. What a crashed ADD left is in its own namespace, though.
	if now := d.caller.now; now != nil && now.Verb == verb && now.ID() == d.ID {
		req.Netns, req.Args = cmp.Or(now.Netns, d.Netns), cmp.Or(now.Args, d.Args)
	}
	return req
}

// Create is ADD. When that fails the delegate hears DEL at once, since it may
// have done half (spec 34). One in this process has undone that itself, or says
// what remains.
func (d *delegate) Create(ctx context.Context, env resource.Env) error {
	path, err := d.caller.find(d.Type, "")
	if err != nil {
		return err
	}
	d.Path = path
	result, err := d.caller.add(ctx, d.Type, path, d.request(Add, d.Config))
	if err != nil {
		err = fmt.Errorf("ADD of %s: %w", d.Type, err)
		if _, ours := d.caller.ours(d.Type, path); ours {
			if remains := (*engine.RemainingError)(nil); errors.As(err, &remains) {
				return engine.Partial(err)
			}
			return err
		}
		delErr := d.del(ctx, env)
		if delErr == nil {
			return err
		}
		if err = errors.Join(err, delErr); d.unmoved(env) {
			return err
		}
		return engine.Partial(err)
	}
	d.result = result
	return nil
}

// unmoved tells that what the delegate was to move is known to be where it was:
// there is nothing to bring back.
func (d *delegate) unmoved(env resource.Env) bool {
	if d.Moves == nil {
		return false
	}
	home, err := d.Moves.GuestHome(env)
	return home && err == nil
}

// Observe is CHECK: the delegate's own answer is passed on (spec 20).
func (d *delegate) Observe(ctx context.Context, _ resource.Env) (engine.State, error) {
	path, err := d.caller.find(d.Type, d.Path)
	if err != nil {
		return engine.State{}, err
	}
	if err := d.caller.call(ctx, d.Type, path, d.request(Check, d.caller.config(d))); err != nil {
		return engine.Told(fmt.Errorf("CHECK of %s: %w", d.Type, err)), nil
	}
	return engine.Present(), nil
}

// Remove is DEL. Where it fails and what the delegate moved is proven gone, there
// is nothing that it could still do: to be called again would not help.
func (d *delegate) Remove(ctx context.Context, env resource.Env) error {
	err := d.del(ctx, env)
	if err == nil || d.Moves == nil {
		return err
	}
	gone, goneErr := d.Moves.GuestGone(env)
	if goneErr != nil {
		return errors.Join(err, goneErr)
	}
	if !gone {
		return err
	}
	if env.Warn != nil {
		env.Warn(fmt.Sprintf("%s is gone, so it does not matter that its DEL failed: %v", d.ID, err))
	}
	return nil
}

func (d *delegate) del(ctx context.Context, env resource.Env) error {
	path, err := d.caller.find(d.Type, d.Path)
	if err != nil {
		return err
	}
	req := d.request(Del, d.caller.config(d))
	if env.Container == nil && env.Unknown == nil {
		req.Netns = "" // it is gone: what its path leads to by now is another's
	}
	if err := d.caller.call(ctx, d.Type, path, req); err != nil {
		return fmt.Errorf("DEL of %s: %w", d.Type, err)
	}
	return nil
}
