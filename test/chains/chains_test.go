package chains

import (
	"slices"
	"strings"
	"testing"

	"github.com/fairlead-net/fairlead/test/host"
)

// versions are those that chains have, from the first that hands results on in
// their present form.
func versions() []string {
	if host.InVM() { // which is slow
		return []string{"0.3.1", "1.1.0"}
	}
	return []string{"0.3.1", "0.4.0", "1.0.0", "1.1.0"}
}

// A trial is a combination on a host of its own.
type trial struct {
	*scene
	combination
	empty  host.Picture // the host without the container
	before host.Picture // with it
	within host.Picture // the container
}

// each runs f for every combination, in all versions or in the newest alone.
func each(t *testing.T, versions []string, f func(*trial)) {
	t.Parallel()
	for _, c := range combinations() {
		if c.vm != host.InVM() {
			continue
		}
		for _, v := range versions {
			t.Run(c.name+" "+v, func(t *testing.T) {
				t.Parallel()
				tr := &trial{scene: newScene(t, v, c.prepare), combination: c}
				tr.empty = tr.h.Snapshot()
				tr.h.Netns(container)
				tr.before, tr.within = tr.h.Snapshot(), tr.inside()
				f(tr)
			})
		}
	}
}

// newest is the version alone that needs no other to be tried.
func newest() []string { return versions()[len(versions())-1:] }

// here is all versions, and the newest alone in the virtual machine.
func here() []string {
	if host.InVM() {
		return newest()
	}
	return versions()
}

func (tr *trial) addAll() {
	tr.Helper()
	for _, n := range tr.networks {
		tr.add(n)
	}
}

func (tr *trial) mayStay(more ...func(host.Fact) bool) []func(host.Fact) bool {
	may := append(more, host.Standing)
	if tr.stands != nil {
		may = append(may, tr.stands)
	}
	return may
}

// gone fails the test unless host and container are as they were.
func (tr *trial) gone() {
	tr.Helper()
	tr.h.Same(tr, tr.before, tr.mayStay()...)
	tr.sameInside(tr.within)
}

// works fails the test unless the container's ways are as they should be.
func (tr *trial) works() {
	tr.Helper()
	for ask, want := range tr.routes {
		if got := tr.ip(ask); !strings.Contains(got, want) {
			tr.Errorf("ip %s: %q, want %q", ask, got, want)
		}
	}
	if tr.reach != "" {
		if _, err := tr.h.Reach("", tr.netns, tr.reach); err != nil {
			tr.Error(err)
		}
	}
}

// TestChains: added, checked, used, and removed one after the other, in this
// order or the other. The networks that stay are as healthy as before.
func TestChains(t *testing.T) {
	each(t, versions(), func(tr *trial) {
		tr.addAll()
		tr.healthy("added", tr.networks...)
		tr.works()
		rest := slices.Clone(tr.networks)
		if tr.version == "0.4.0" || tr.version == "1.1.0" {
			slices.Reverse(rest)
		}
		for len(rest) > 0 {
			tr.del(rest[0])
			rest = rest[1:]
			tr.healthy("another removed", rest...)
		}
		tr.gone()
	})
}

// TestChainsNamespaceGone: DEL finds out by itself what is left on the host,
// with the journal and without.
func TestChainsNamespaceGone(t *testing.T) {
	each(t, here(), func(tr *trial) {
		for _, journal := range []bool{true, false} {
			if !journal && (tr.mortal != nil || host.InVM()) {
				break // what died was the host's; or the journal's part is shown elsewhere
			}
			tr.addAll()
			tr.h.DeleteNetns(tr.netns)
			if !journal {
				tr.h.RemoveAll("/run/fairlead")
			}
			for _, n := range tr.networks {
				tr.del(n)
			}
			var may []func(host.Fact) bool
			if tr.mortal != nil {
				may = append(may, tr.mortal)
			}
			tr.h.SameSoon(tr, tr.empty, tr.mayStay(may...)...)
			tr.h.Netns(container)
		}
	})
}

// TestChainsWithoutJournal: the state directory is gone when DEL comes. Nothing
// else knows how the container's parameters were, so they stay.
func TestChainsWithoutJournal(t *testing.T) {
	each(t, here(), func(tr *trial) {
		tr.addAll()
		tr.h.RemoveAll("/run/fairlead")
		for _, n := range tr.networks {
			tr.del(n)
		}
		tr.h.Same(tr, tr.before, tr.mayStay()...)
		tr.sameInside(tr.within, func(f host.Fact) bool { return f.Name == parameter })
	})
}

// TestChainsLastFails: the ADD of the last plugin of the last network fails,
// once it has begun, or once it is done, as another one comes after it. The
// runtime's DEL puts all back, the other networks are well, and the next ADD
// succeeds.
func TestChainsLastFails(t *testing.T) {
	each(t, here(), func(tr *trial) {
		rest, last := tr.networks[:len(tr.networks)-1], tr.networks[len(tr.networks)-1]
		for _, n := range rest {
			tr.add(n)
		}
		before, within := tr.h.Snapshot(), tr.inside()
		bad := []network{failing(last), refused(last)}
		if host.InVM() {
			bad = bad[:1]
		}
		for _, n := range bad {
			culprit := n.plugins[len(n.plugins)-1]
			if err := tr.tryAdd(n); err == nil {
				tr.Fatalf("ADD with %v succeeded", culprit)
			}
			if tr.called().Plugin != culprit.Type() {
				tr.Errorf("%s failed, not %s: %s", tr.called().Plugin, culprit.Type(), tr.called().Stdout)
			}
			tr.del(n)
			tr.h.Same(tr, before, tr.mayStay()...)
			tr.sameInside(within)
		}
		tr.healthy("another failed", rest...)
		tr.add(last)
		tr.healthy("after a failure", last)
		tr.works()
	})
}
