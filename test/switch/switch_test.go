package switching

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/fairlead-net/fairlead/test/host"
)

// A suite is a set of plugins.
type suite struct{ name, dir string }

func directions(t *testing.T) [][2]suite {
	t.Helper()
	fairlead, reference := suite{"fairlead", host.Build(t)}, suite{"reference", host.Reference(t)}
	return [][2]suite{{reference, fairlead}, {fairlead, reference}}
}

// each runs f for every network and direction, on a host of its own.
func each(t *testing.T, f func(*testing.T, *node)) {
	for _, d := range directions(t) {
		t.Run(d[0].name+" to "+d[1].name, func(t *testing.T) {
			for _, n := range networks() {
				if n.vm != host.InVM() {
					continue
				}
				t.Run(n.name, func(t *testing.T) {
					t.Parallel()
					f(t, &node{T: t, network: n, h: n.host(t), from: d[0], to: d[1]})
				})
			}
		})
	}
}

// A node is a host that changes from one suite to the other.
type node struct {
	*testing.T
	network
	h        *host.Host
	from, to suite
}

func (n *node) attach() host.Attachment {
	n.Helper()
	return n.on(n.h.Attach(n.from.dir, n.config, n.ifName))
}

// host makes a host that the network can be had on.
func (n network) host(t *testing.T) *host.Host {
	h := host.New(t)
	if n.prepare != nil {
		n.prepare(h)
	}
	return h
}

// on is the attachment with what each container has another value of, in the
// plugin that makes the interface.
func (n network) on(a host.Attachment) host.Attachment {
	a.Before = slices.Clone(n.before)
	switch {
	case n.own == nil:
	case len(a.Before) > 0:
		a.Before[0] = a.Before[0].With(n.own(a.Container)...)
	default:
		a = a.WithConfig(n.own(a.Container)...)
	}
	return a
}

// now is the attachment as the suite that the node has changed to sees it.
func (n *node) now(a host.Attachment) host.Attachment {
	a.Path = n.to.dir
	return a
}

// left is what may stay while the node changes: where the reference suite
// removed, Fairlead's books do not know yet, and where it added, they take
// note.
func (n *node) left() []func(host.Fact) bool {
	return []func(host.Fact) bool{host.Standing, n.stands, books}
}

// books is true for what Fairlead writes down for itself: its journal, and the
// index of its leases.
func books(f host.Fact) bool {
	return f.Sort == "file" && (strings.HasPrefix(f.Name, "/run/fairlead/attachments/") || strings.Contains(f.Name, "/.fairlead/"))
}

// collect has Fairlead clear its books of what the reference suite removed.
func (n *node) collect(a host.Attachment) {
	n.Helper()
	a.Path = host.Build(n)
	if o := a.WithConfig("cniVersion", "1.1.0").GC(); !o.OK() {
		n.Errorf("GC: %s%s", o.Stdout, o.Stderr)
	}
}

func TestRule13SwitchWithLiveContainers(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, n *node) {
		before := n.h.Snapshot()
		first, second := n.attach(), n.attach()
		second.MustAdd(t)
		one := n.h.Snapshot()
		r := first.MustAdd(t)

		n.healthy(n.now(first), r)
		n.now(first).MustDel(t)
		n.h.Same(t, one, n.left()...)
		if !n.mortal || n.to.name != "reference" { // case 5: it fails the second time
			n.now(first).MustDel(t)
			n.h.Same(t, one, n.left()...)
		}

		third := n.now(n.attach())
		s := third.MustAdd(t)
		n.distinct(second, s)
		n.meet(second, third, s)
		n.now(second).MustDel(t)
		third.MustDel(t)
		n.end(before, first, second, third)
	})
}

// healthy fails the test when CHECK does.
func (n *node) healthy(a host.Attachment, r host.Result) {
	n.Helper()
	if n.blind && a.Path == host.Reference(n) {
		return
	}
	if o := a.Check(r); !o.OK() {
		n.Errorf("CHECK by %s: %s%s", a.Path, o.Stdout, o.Stderr)
	}
}

// distinct fails the test when the new suite gave an address that a container
// of the old one has.
func (n *node) distinct(old host.Attachment, r host.Result) {
	n.Helper()
	if n.plain || len(r.IPs()) == 0 {
		return
	}
	for _, f := range n.h.SnapshotIn(old.Netns).Of("address") {
		if strings.Contains(f.Detail, "local="+r.Address(0)+" ") {
			n.Errorf("address %s is in use in %s", r.Address(0), old.Container)
		}
	}
}

// meet tries whether a container of the old suite reaches one of the new.
func (n *node) meet(old, new host.Attachment, r host.Result) {
	n.Helper()
	if !n.reach {
		return
	}
	if _, err := n.h.Reach(old.Netns, new.Netns, r.Address(0)); err != nil {
		n.Error(err)
	}
}

// end takes the containers away and holds the host against the beginning; a
// last GC by Fairlead clears its journal, should it come back to the node.
func (n *node) end(before host.Picture, all ...host.Attachment) {
	n.Helper()
	for _, a := range all {
		n.h.DeleteNetns(a.Netns)
	}
	if n.to.name == "reference" {
		n.h.Same(n, before, n.left()...)
		n.collect(all[0])
	}
	n.h.Same(n, before, host.Standing, n.stands)
}

// TestRule13WithoutNamespace removes what the reference suite added after the
// namespace has gone, with its path given and not.
func TestRule13WithoutNamespace(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, n *node) {
		if n.to.name == "reference" || n.mortal {
			return // it leaves rules behind by itself then
		}
		before := n.h.Snapshot()
		first, second := n.attach(), n.attach()
		first.MustAdd(t)
		second.MustAdd(t)
		n.h.DeleteNetns(first.Netns)
		n.h.DeleteNetns(second.Netns)
		n.now(first).MustDel(t)
		n.now(second).WithEnv("CNI_NETNS", "").MustDel(t)
		n.h.SameSoon(t, before, host.Standing, n.stands)
	})
}

// TestRule13ThereAndBack changes to the other suite and back again before
// the container goes.
func TestRule13ThereAndBack(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, n *node) {
		before := n.h.Snapshot()
		first := n.attach()
		r := first.MustAdd(t)
		n.healthy(first, r)
		n.healthy(n.now(first), r)
		second := n.now(n.attach())
		s := second.MustAdd(t)
		n.healthy(second, s)
		second.MustDel(t)
		first.MustDel(t)
		n.h.DeleteNetns(first.Netns)
		n.h.DeleteNetns(second.Netns)
		n.h.Same(t, before, host.Standing, n.stands, books)
		n.collect(first)
		n.h.Same(t, before, host.Standing, n.stands)
	})
}

// TestRule13StaleEntry: the reference suite removed what Fairlead made, and made
// its own under the same container ID. Fairlead's entry is of what is gone.
func TestRule13StaleEntry(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, n *node) {
		if n.to.name != "reference" || n.ifName == "lo" {
			return
		}
		first := n.attach()
		before := n.h.Snapshot()
		inside := n.h.SnapshotIn(first.Netns)
		first.MustAdd(t)
		n.now(first).MustDel(t)
		r := n.now(first).MustAdd(t)
		if !n.mortal { // the device is the very one on record
			n.healthy(first, r)
		}
		first.MustDel(t)
		if d := host.Diff(inside, n.h.SnapshotIn(first.Netns)); len(d) > 0 {
			t.Errorf("the container is not as before:\n\t%s", strings.Join(d, "\n\t"))
		}
		first.MustDel(t)
		n.h.Same(t, before, host.Standing, n.stands)
		s := first.MustAdd(t)
		n.healthy(first, s)
		first.MustDel(t)
		n.h.Same(t, before, host.Standing, n.stands)
	})
}

// TestRule13SameNetwork holds what the two suites make of one configuration
// against each other, as a container sees it.
func TestRule13SameNetwork(t *testing.T) {
	t.Parallel()
	fairlead, reference := host.Build(t), host.Reference(t)
	for _, n := range networks() {
		if n.vm != host.InVM() {
			continue
		}
		t.Run(n.name, func(t *testing.T) {
			t.Parallel()
			var pictures [2]host.Picture
			for i, dir := range []string{reference, fairlead} {
				h := n.host(t)
				a := n.on(h.Attach(dir, n.config, n.ifName))
				a.MustAdd(t)
				pictures[i] = withoutChance(h.SnapshotIn(a.Netns))
			}
			if d := host.Diff(pictures[0], pictures[1]); len(d) > 0 {
				t.Errorf("the reference's container (-) and ours (+):\n\t%s", strings.Join(d, "\n\t"))
			}
		})
	}
}

// madeBy says who made a rule.
var madeBy = regexp.MustCompile(`"protocol":"[^"]*",?`)

// withoutChance takes out of a container's picture what is chosen at random
// (MAC addresses), whose a link is said to be (some words), and who is said to
// have made a route or a rule.
func withoutChance(p host.Picture) host.Picture {
	var out host.Picture
	for _, f := range p {
		if f.Sort == "rule" {
			f.Detail = madeBy.ReplaceAllString(f.Detail, "")
		}
		var kept []string
		for _, part := range strings.Fields(f.Detail) {
			if strings.HasPrefix(part, "protocol=") || f.Sort == "link" && !strings.Contains(part, "=") {
				continue
			}
			if f.Sort != "link" || !strings.HasPrefix(part, "address=") && !strings.HasPrefix(part, "ifalias=") &&
				!strings.HasPrefix(part, "promiscuity=") && !strings.HasPrefix(part, "allmulti=") {
				kept = append(kept, part)
			}
		}
		f.Detail = strings.Join(kept, " ")
		out = append(out, f)
	}
	return out
}

// TestRule13NothingIsLeftInside: what later plugins of a list do to a container
// does not go with its interface by itself.
func TestRule13NothingIsLeftInside(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, n *node) {
		if n.before == nil {
			return
		}
		a := n.attach()
		inside := n.h.SnapshotIn(a.Netns)
		a.MustAdd(t)
		n.now(a).MustDel(t)
		if d := host.Diff(inside, n.h.SnapshotIn(a.Netns)); len(d) > 0 {
			t.Errorf("the container is not as before:\n\t%s", strings.Join(d, "\n\t"))
		}
	})
}
