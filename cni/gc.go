package cni

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/containernetworking/cni/pkg/types"
	current "github.com/containernetworking/cni/pkg/types/100"

	"github.com/fairlead-net/fairlead/attachment"
	"github.com/fairlead-net/fairlead/engine"
	"github.com/fairlead-net/fairlead/resource"
)

// forceGC in the environment lets GC remove what is outside the valid set
// though its namespace lives: the operator's word (fairlead gc --force), never
// a runtime's.
const forceGC = "FAIRLEAD_GC_FORCE"

// gc removes what is stale for sure, goes on after an error, and reports all
// (rule 15). What it keeps it names on stderr: a GC's stdout is empty.
func (c *call) gc(ctx context.Context) error {
	st, prepErr := c.prepare()
	if err := c.unread(); err != nil {
		return err // whom it spares is not known
	}
	env, _, leave, err := hostOnly()
	if err != nil {
		return err
	}
	defer leave()
	env.Warn = c.warnText
	valid := c.validSet()
	c.forced = c.runner.Getenv(forceGC) == "1"
	var errs []error
	if c.engine.Journal != nil {
		errs = append(errs, c.sweepJournal(ctx, valid))
	}
	if prepErr != nil {
		// The journal knows what it has to remove, whatever the configuration
		// has become.
		return errors.Join(append(errs, prepErr)...)
	}
	errs = append(errs, c.sweepKinds(ctx, env, st, valid)...)
	edit := func(config []byte) ([]byte, error) { return withValid(config, valid) }
	return errors.Join(append(errs, c.forward(ctx, st, GC, edit)...)...)
}

// withValid is the configuration with the set as its valid attachments: a
// delegate must spare what we spare, above all the addresses of what lives.
func withValid(stdin []byte, valid map[attachment.ID]bool) ([]byte, error) {
	var conf map[string]json.RawMessage
	if err := decode(stdin, &conf); err != nil {
		return nil, err
	}
	list := make([]types.GCAttachment, 0, len(valid))
	for id := range valid {
		list = append(list, types.GCAttachment{ContainerID: id.Container, IfName: id.IfName})
	}
	valids, err := json.Marshal(list)
	if err != nil {
		return nil, err
	}
	// Who reads the one need not know the other (see Conf).
	conf["cni.dev/valid-attachments"], conf["cni.dev/attachments"] = valids, valids
	return json.Marshal(conf)
}

func (c *call) validSet() map[attachment.ID]bool {
	valid := make(map[attachment.ID]bool, len(c.req.Conf.Valid))
	for _, a := range c.req.Conf.Valid {
		valid[attachment.ID{Network: c.req.Conf.Name, Container: a.ContainerID, IfName: a.IfName}] = true
	}
	return valid
}

// sweepJournal removes what the journal knows to be stale, and adds what it
// spares to the valid set.
func (c *call) sweepJournal(ctx context.Context, valid map[attachment.ID]bool) error {
	match := func(h engine.Header) bool { return h.ID.Network == c.req.Conf.Name && h.Plugin == c.plugin.Name }
	// Before the sweep, which opens sockets in the namespaces. That it could not
	// be found out is no more than nothing to add.
	abandoned, _ := c.abandoned(c.req.Conf.Name, func(id attachment.ID) bool { return valid[id] })
	swept, err := c.engine.Sweep(ctx, match, func(h engine.Header) bool { return valid[h.ID] }, c.forced)
	for _, h := range swept.Kept {
		valid[h.ID] = true
		why := Nobody
		if !slices.Contains(abandoned, h) {
			why = c.whyKept(h)
		}
		c.warn("GC keeps %s: not among the valid attachments, but %s", h.ID, why)
	}
	for _, h := range swept.Busy {
		valid[h.ID] = true
		c.warn("GC passes over %s: a call is at work on it", h.ID)
	}
	if c.forced {
		// Not all has gone that the operator wanted gone.
		return errors.Join(append(swept.Unread, err)...)
	}
	for _, unread := range swept.Unread {
		c.warn("GC keeps a record of the journal (see 'fairlead forget'): %v", unread)
	}
	return err
}

// whyKept is for people.
func (c *call) whyKept(h engine.Header) string {
	if _, err := Gone(c.engine.Journal, h); err != nil {
		return fmt.Sprintf("it may live: %v", err)
	}
	return "its namespace lives"
}

// sweepKinds lets the kinds find what the journal does not know. Nobody can say
// of such a thing whether its namespace lives, so without force only what a
// kind itself knows to be dead (a lease of an earlier boot) goes.
func (c *call) sweepKinds(ctx context.Context, env resource.Env, st Statement, valid map[attachment.ID]bool) []error {
	list, err := c.plan(st, Facts{}, Known[*current.Result]{})
	if err != nil {
		return []error{err}
	}
	asked := resource.Sweep{Network: c.req.Conf.Name, Valid: valid, Force: c.forced}
	var errs []error
	for _, r := range list {
		sweeper, ok := r.(resource.Sweeper)
		if !ok {
			continue
		}
		_, kept, err := sweeper.Sweep(ctx, env, asked)
		for _, k := range kept {
			c.warn("GC keeps %s", k)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("sweep %s: %w", engine.RefOf(r), err))
		}
	}
	return errs
}
