package bench

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"
)

// contestant is a candidate in one scenario.
type contestant struct {
	candidate
	host    *node
	calls   []*call // one for each round
	samples map[operation][]time.Duration
	own     map[operation][]time.Duration // without the process's start, if it tells
	err     error                         // it is out of the scenario since then
}

// measureAll goes through the scenarios. Errors do not end it: the candidate
// that had one is out of that scenario.
func measureAll(ctx context.Context, list []scenario, all []candidate, o Options) (r *results, errs []error) {
	r = newResults(o)
	quiet, err := newNode()
	if err != nil {
		return r, []error{err}
	}
	defer func() {
		if err := quiet.close(); err != nil {
			errs = append(errs, err)
		}
	}()
	for i, s := range list {
		fmt.Fprintf(o.Progress, "bench: %d/%d %s\n", i+1, len(list), s.name)
		if lacks, err := kernelLacks(s); err != nil || lacks {
			if err != nil {
				errs = append(errs, fmt.Errorf("%s: %w", s.name, err))
			} else {
				fmt.Fprintf(o.Progress, "bench: left out: this kernel has no %s links\n", s.kind.Kind())
			}
			continue
		}
		entered := enter(s, all, o.Warmup+o.N)
		for round := range o.Warmup + o.N {
			if ctx.Err() != nil {
				break
			}
			playRound(s, entered, round, round < o.Warmup)
		}
		for _, c := range entered {
			if c.err != nil {
				errs = append(errs, fmt.Errorf("%s: %s: %w", s.name, c.name(), c.err))
			}
			if err := c.leave(); err != nil {
				errs = append(errs, err)
			}
		}
		if ctx.Err() != nil {
			return r, append(errs, fmt.Errorf("%s: %w", s.name, context.Cause(ctx)))
		}
		r.add(s, entered)
		if err := quiet.settle(ctx); err != nil {
			return r, append(errs, err)
		}
	}
	return r, errs
}

// leave ends the contestant's host, if it got one.
func (c *contestant) leave() error {
	if c.host == nil {
		return nil
	}
	return c.host.close()
}

// enter gives every candidate that takes part a fresh host and a namespace for each round.
func enter(s scenario, all []candidate, rounds int) []*contestant {
	var entered []*contestant
	for _, cand := range all {
		if !cand.runs(s) {
			continue
		}
		c := &contestant{candidate: cand, samples: map[operation][]time.Duration{}, own: map[operation][]time.Duration{}}
		if c.host, c.err = newNode(); c.err == nil {
			c.err = c.getReady(s, rounds)
		}
		entered = append(entered, c)
	}
	return entered
}

func (c *contestant) getReady(s scenario, rounds int) error {
	if s.ops[0] == opVersion {
		for range rounds {
			c.calls = append(c.calls, &call{})
		}
		return nil
	}
	prepare := func() error {
		if s.master {
			if err := withHost(makeMaster); err != nil {
				return err
			}
		}
		return c.prepare(s)
	}
	if err := c.host.do(prepare); err != nil {
		return fmt.Errorf("prepare the host: %w", err)
	}
	if err := c.host.makeContainers(rounds); err != nil {
		return err
	}
	for i, path := range c.host.containers {
		c.calls = append(c.calls, newCall(s, i, path))
	}
	return nil
}

// playRound makes one call of each sort by each contestant, in turn. The order
// is another each time (and the same in each run), so that none always comes
// after the same other one and meets what that has left the kernel to do.
func playRound(s scenario, entered []*contestant, round int, warmup bool) {
	order := rand.New(rand.NewPCG(0, uint64(round)))
	for _, op := range s.ops {
		for _, i := range order.Perm(len(entered)) {
			c := entered[i]
			if c.err != nil {
				continue
			}
			if err := c.make(s, op, round, warmup); err != nil {
				c.err = fmt.Errorf("%s number %d: %w", op, round, err)
			}
		}
	}
}

// make makes one call, and in the warm-up looks at what it has brought about.
func (c *contestant) make(s scenario, op operation, round int, warmup bool) (err error) {
	call := c.calls[round]
	if suite, ok := c.candidate.(plugins); ok && op == s.ops[0] {
		if err := c.host.do(func() error { return suite.begin(s, call) }); err != nil {
			return fmt.Errorf("the plugin before: %w", err)
		}
	} else if ok && op == s.ops[len(s.ops)-1] {
		defer func() { err = errors.Join(err, c.host.do(func() error { return suite.end(s, call) })) }()
	}
	var out []byte
	var took time.Duration
	err = c.host.do(func() (err error) {
		out, took, err = c.process(s, op, call).run()
		return err
	})
	if err != nil {
		return err
	}
	if op == opAdd {
		call.result = out
		if len(out) == 0 && c.printsResults() {
			return errors.New("no result was printed")
		}
	}
	if !warmup {
		return c.note(op, out, took)
	}
	if c.name() == nameEmpty {
		return nil
	}
	return c.verify(s, op, call)
}

// note keeps what a timed call took.
func (c *contestant) note(op operation, out []byte, took time.Duration) error {
	c.samples[op] = append(c.samples[op], took)
	if f, ok := c.candidate.(floor); ok {
		own, err := f.own(out)
		c.own[op] = append(c.own[op], own)
		return err
	}
	return nil
}

func (c *contestant) printsResults() bool {
	_, ok := c.candidate.(plugins)
	return ok
}

func (c *contestant) verify(s scenario, op operation, call *call) error {
	switch op {
	case opAdd:
		return c.host.inside(call.netns, s.expect.added)
	case opDel, opDelAgain:
		if s.expect.stays {
			return c.host.inside(call.netns, s.expect.there)
		}
		return errors.Join(c.host.inside(call.netns, s.expect.deleted), c.host.do(nothingOnHost))
	}
	return nil
}
