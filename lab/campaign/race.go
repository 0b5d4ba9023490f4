package campaign

import (
	"context"
	"fmt"
	"strings"

	"github.com/containernetworking/cni/libcni"
	"golang.org/x/sys/unix"

	"github.com/fairlead-net/fairlead/kernel"
	"github.com/fairlead-net/fairlead/lab/inject"
)

// A Race is a link that someone else deletes, each time just before a plugin asks
// something of the kernel.
type Race struct {
	Options
	Delete string // the link's name, in the namespace that the request is about
	Before string // the request: "RTM_DELLINK"; it has this in its text
	Times  int
}

// A RaceCount is what a race came to.
type RaceCount struct {
	Rounds     int
	Sprung     int // rounds in which the link was there to be deleted, and was
	Failed     int // DELs that failed
	Twice      int // that failed again
	Namespaces int // left: the runtime removes one only after a DEL that succeeded
	Links      int // left, in namespaces or on the host
	Says       []string
}

// RunRace runs a race: on one host, each round with a container of its own, as a
// runtime does: ADD, DEL, a second DEL if the first one failed.
func RunRace(ctx context.Context, r Race) (c RaceCount, err error) {
	s, err := r.setup()
	if err != nil {
		return c, err
	}
	n, err := newNode(s)
	if err != nil {
		return c, err
	}
	defer func() {
		if e := n.close(); err == nil {
			err = e
		}
	}()
	stays, err := n.settled(ctx)
	if err != nil {
		return c, err
	}
	for i := range r.Times {
		if err := n.raceRound(ctx, r, fmt.Sprintf("lab-%d", i+1), &c); err != nil {
			return c, err
		}
	}
	links, err := n.countLinks(n.NetnsPath())
	c.Links += links - stays
	return c, err
}

// settled counts the links of the host after a container has come and gone: a
// bridge that stays by design is no leak.
func (n *node) settled(ctx context.Context) (int, error) {
	if err := n.add(ctx, n.subject); err != nil {
		return 0, fmt.Errorf("ADD, without race: %w", err)
	}
	if err := n.del(ctx, n.subject); err != nil {
		return 0, fmt.Errorf("DEL, without race: %w", err)
	}
	return n.countLinks(n.NetnsPath())
}

func (n *node) raceRound(ctx context.Context, r Race, id string, c *RaceCount) error {
	rt, err := n.container(id)
	if err != nil {
		return err
	}
	before, err := n.countLinks(rt.NetNS)
	if err != nil {
		return err
	}
	c.Rounds++
	if err := n.add(ctx, rt); err != nil {
		return fmt.Errorf("ADD of %s: %w", id, err)
	}
	t := &raceTrap{node: n, race: r}
	n.runner.hook = t.hook
	err = n.del(ctx, rt)
	n.runner.hook = nil
	if t.err != nil {
		return t.err
	}
	if t.sprung {
		c.Sprung++
	}
	if err != nil {
		c.Failed++
		c.say(err)
		if err = n.del(ctx, rt); err != nil {
			c.Twice++
			c.say(err)
		}
	}
	return n.settleRound(rt, before, err == nil, c)
}

// settleRound counts what a round has left, and removes the namespace as a
// runtime does.
func (n *node) settleRound(rt *libcni.RuntimeConf, before int, removed bool, c *RaceCount) error {
	left, err := n.countLinks(rt.NetNS)
	if err != nil {
		return err
	}
	c.Links += left - before
	if !removed {
		c.Namespaces++
		return nil
	}
	if err := n.forget(rt.NetNS); err != nil {
		return err
	}
	return n.RemoveNetns(rt.ContainerID)
}

func (c *RaceCount) say(err error) {
	for _, s := range c.Says {
		if s == err.Error() {
			return
		}
	}
	c.Says = append(c.Says, err.Error())
}

// countLinks counts the links of a namespace that is known.
func (n *node) countLinks(path string) (int, error) {
	ns, err := n.space(path)
	if err != nil {
		return 0, err
	}
	links, err := ns.Links()
	return len(links), err
}

// A raceTrap deletes the link before each such request.
type raceTrap struct {
	node   *node
	race   Race
	sprung bool
	err    error
}

func (t *raceTrap) hook(c *inject.Call) inject.Verdict {
	e, err := c.Event()
	if err != nil || e.Kind != inject.KindNetlink || e.Receive || e.Protocol != unix.NETLINK_ROUTE || !strings.Contains(e.Text, t.race.Before) {
		return inject.Verdict{} // who is gone asks nothing
	}
	ns := t.node.spaces[e.Netns]
	if ns == nil {
		return inject.Verdict{}
	}
	if err := t.spring(ns); err != nil {
		t.err = err
	}
	return inject.Verdict{}
}

func (t *raceTrap) spring(ns *kernel.Namespace) error {
	l, ok, err := ns.Link(t.race.Delete)
	if err != nil {
		return fmt.Errorf("look %s up: %w", t.race.Delete, err)
	}
	if !ok {
		return nil
	}
	if _, err := ns.DelLink(l.Index); err != nil {
		return fmt.Errorf("delete %s: %w", t.race.Delete, err)
	}
	t.sprung = true
	return nil
}
