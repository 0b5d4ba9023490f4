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

// del removes what the journal records of this call; without a record, what
// today's request states.
func (c *call) del(ctx context.Context) error {
	st, prepErr := c.prepare()
	env, scope, _, leave, err := c.here()
	if errors.Is(err, errHostNetns) && c.notTheHosts() {
		// The container's is gone, and its path leads here by now: so it is
		// nobody's business any more (rule 22).
		req := *c.req
		req.Netns = ""
		c.req, c.caller.now = &req, &req
		env, scope, leave, err = hostOnly()
		env.Warn, scope.Gone = c.warnText, true
	} else if err != nil && Code(err) == CodeNetns && !errors.Is(err, errHostNetns) {
		// It could not be found out whether the namespace lives. What is on
		// the host can go all the same; what is inside stays unknown.
		unknown := err
		env, scope, leave, err = hostOnly()
		env.Unknown, env.Warn = unknown, c.warnText
	}
	if err != nil {
		return err
	}
	defer leave()
	entry, unread, err := c.take(ctx)
	if err != nil {
		return err
	}
	if entry != nil {
		return c.delRecorded(ctx, entry, st, prepErr, env, scope)
	}
	err = c.delPlanned(ctx, st, prepErr, env, scope)
	if unread {
		// The plan of today may not be that of ADD.
		return errors.Join(err, c.removeMarked(ctx, env, scope, nil))
	}
	return errors.Join(err, c.unread())
}

// delRecorded removes what an entry records; after an entry that ends half-way,
// what bears the owner's mark as well.
func (c *call) delRecorded(ctx context.Context, entry *engine.Entry, st Statement, prepErr error, env resource.Env, scope engine.Scope) error {
	if prepErr == nil && entry.Header.Hash == c.hash {
		c.caller.today, c.caller.todayID = st.Delegations(), c.req.ID()
	}
	stale, err := c.superseded(ctx, entry)
	if err == nil && stale {
		// What is there goes before the entry, which keeps its addresses.
		err = c.delPlanned(ctx, st, prepErr, env, scope)
	}
	if err != nil {
		entry.Close()
		return err
	}
	if err := c.engine.RemoveEntry(ctx, entry); err != nil || entry.Finished() {
		return err
	}
	var list []resource.Resource
	if prepErr == nil {
		if list, err = c.plan(st, Facts{}, Known[*current.Result]{}); err != nil {
			return err
		}
	}
	env.Recorded = true
	return c.removeMarked(ctx, env, scope, list)
}

// delPlanned removes what today's request states.
func (c *call) delPlanned(ctx context.Context, st Statement, prepErr error, env resource.Env, scope engine.Scope) error {
	if prepErr != nil {
		return prepErr
	}
	list, err := c.plan(st, Facts{}, Known[*current.Result]{})
	if err != nil {
		return err
	}
	return c.engine.RemovePlan(ctx, env, scope, list)
}

// superseded tells whether another suite's link has the place of the one that
// the entry records.
func (c *call) superseded(ctx context.Context, entry *engine.Entry) (bool, error) {
	list, err := c.engine.Codec.Decode(entry)
	if err != nil || !entry.Done {
		return false, err
	}
	env, _, leave, err := c.enter(ctx, entry.Header)
	if err != nil {
		return false, err
	}
	defer leave()
	return resource.Superseded(ctx, env, list)
}

// unread is an error where a journal may be there that could not be looked at:
// what is known is done, but it is not all.
func (c *call) unread() error {
	if errors.Is(c.noState, engine.ErrStateUnknown) {
		return withCode(CodeTryAgain, c.noState)
	}
	return nil
}

// take finds the journal's entry. One that can't be read, or is newer, is kept
// and told of: unread. The plan's work is done instead (rule 19).
func (c *call) take(ctx context.Context) (entry *engine.Entry, unread bool, err error) {
	if c.engine.Journal == nil {
		c.warn("no journal, so DEL goes by the configuration: %v", c.noState)
		return nil, false, nil
	}
	entry, err = c.engine.Journal.Take(ctx, c.req.ID(), c.plugin.Name, c.hash)
	if err == nil && entry != nil {
		if _, err = c.engine.Codec.Decode(entry); err != nil {
			entry.Close()
			return nil, c.goesByConf(err), nil
		}
	}
	if errors.Is(err, engine.ErrNewer) || errors.Is(err, engine.ErrUnreadable) {
		return nil, c.goesByConf(err), nil
	}
	return entry, false, err
}

func (c *call) goesByConf(why error) bool {
	c.warn("DEL goes by the configuration; the journal's entry is kept (see 'fairlead forget'): %v", why)
	return true
}

// check compares everything the attachment owns through this plugin with what
// is there, then with prevResult.
func (c *call) check(ctx context.Context) error {
	st, err := c.prepare()
	if err == nil {
		err = c.req.needs(st)
	}
	if err != nil {
		return err
	}
	env, scope, absence, leave, err := c.here()
	if err != nil {
		return err
	}
	defer leave()
	if scope.Gone {
		return Errorf(CodeNetns, "CNI_NETNS %s: %s", c.req.Netns, absence)
	}
	c.caller.today, c.caller.todayID = st.Delegations(), c.req.ID()
	list, err := c.expected(ctx, st, env, scope)
	if err != nil {
		return err
	}
	err = engine.Check(ctx, env, scope, list)
	if c.plugin.IPAM {
		err = errors.Join(err, c.handedOn(st, list))
	}
	return withCode(CodeCheck, err)
}

// status tells whether an ADD could work now.
func (c *call) status(ctx context.Context) error {
	st, err := c.prepare()
	if err != nil {
		return err
	}
	err = c.noState
	if err == nil {
		err = c.engine.Journal.Room()
	}
	if err != nil {
		return Errorf(CodeNotAvailable, "keep the journal: %w", err)
	}
	env, _, leave, err := hostOnly()
	if err != nil {
		return withCode(CodeNotAvailable, err)
	}
	defer leave()
	env.Warn = c.warnText
	var errs []error
	if s, ok := st.(Statuser); ok {
		errs = append(errs, withCode(CodeNotAvailable, s.Status(ctx, env)))
	}
	errs = append(errs, c.ready(ctx, env, st)...)
	for _, err := range c.forward(ctx, st, Status, func(config []byte) ([]byte, error) { return config, nil }) {
		errs = append(errs, withCode(CodeNotAvailable, err))
	}
	return errors.Join(errs...)
}

// forward passes a verb that has no container to every delegate, with the
// configuration of the delegation as edit makes it.
func (c *call) forward(ctx context.Context, st Statement, verb Verb, edit func(config []byte) ([]byte, error)) []error {
	var errs []error
	delegates := c.delegates(st, nil)
	if verb == GC {
		slices.Reverse(delegates) // it undoes what ADD did
	}
	for _, d := range delegates {
		path, err := c.caller.find(d.Type, "")
		var stdin []byte
		if err == nil {
			stdin, err = edit(d.Config)
		}
		if err == nil {
			err = c.caller.call(ctx, d.Type, path, d.request(verb, stdin))
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("%s of %s: %w", verb, d.Type, err))
		}
	}
	return errs
}
