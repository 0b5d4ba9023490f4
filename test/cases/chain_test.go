package cases

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/fairlead-net/fairlead/test/host"
)

// values are all that tuning can change.
func values() []any {
	return []any{
		"mac", "02:00:00:00:00:77", "mtu", 1400, "promisc", true, "allmulti", true, "txQLen", 77,
		"sysctl", map[string]any{"net.ipv4.conf.IFNAME.arp_filter": "1", "net.core.somaxconn": "77"},
	}
}

// inList attaches a container by a bridge and then another plugin.
func (s *scene) inList(plugin string, pairs ...any) host.Attachment {
	s.Helper()
	a := s.h.Attach(s.dir, base(plugin, pairs...), "eth0")
	a.Before = []host.Config{bridge()}
	return a
}

// inside is what tuning and sbr can change of a container.
func (s *scene) inside(a host.Attachment) []string {
	s.Helper()
	var list []string
	for _, f := range s.h.SnapshotIn(a.Netns) {
		list = append(list, fmt.Sprint(f))
	}
	for _, name := range []string{"net.ipv4.conf.eth0.arp_filter", "net.core.somaxconn"} {
		list = append(list, name+"="+s.h.MustRunIn(a.Netns, "sysctl", "-n", name))
	}
	return list
}

func (s *scene) same(before, after []string) {
	s.Helper()
	if !slices.Equal(before, after) {
		s.Errorf("the container is not as before:\n%s\nit was\n%s", strings.Join(after, "\n"), strings.Join(before, "\n"))
	}
}

// keeps tells what old values, and holders of such, are on the host.
func keeps(p host.Picture) []host.Fact {
	return p.Without(func(f host.Fact) bool {
		return f.Sort != "file" || !strings.HasPrefix(f.Name, "/run/cni/tuning/") && !strings.HasPrefix(f.Name, "/run/fairlead/shared/")
	})
}

// TestCase13PutBack: sysctls are never put back, where the namespace lives on.
func TestCase13PutBack(t *testing.T) {
	t.Parallel()
	s := newScene(t, network{})
	a := s.inList("tuning", values()...)
	r := a.Base().MustAdd(t)
	before, tuned := s.inside(a), a.Itself().WithConfig("prevResult", r)
	for _, lose := range []func(){
		func() {},
		func() { s.h.MustRunIn(a.Netns, "sysctl", "-q", "-w", "net.core.somaxconn=66") },
	} {
		tuned.MustAdd(t)
		if slices.Equal(before, s.inside(a)) {
			t.Fatal("nothing was changed")
		}
		lose()
		tuned.MustDel(t)
		if left := keeps(s.h.Snapshot()); len(left) > 0 {
			t.Errorf("kept: %v", left)
		}
		after := s.inside(a)
		if strings.Contains(strings.Join(after, " "), "somaxconn=66") {
			s.h.MustRunIn(a.Netns, "sysctl", "-q", "-w", strings.ReplaceAll(before[len(before)-1], "\n", ""))
			after = s.inside(a)
		}
		s.same(before, after)
	}
}

// TestCase13NothingIsKept: saved values leak when the namespace is gone.
func TestCase13NothingIsKept(t *testing.T) {
	t.Parallel()
	for name, lose := range map[string]func(*scene, host.Attachment) host.Attachment{
		"namespace gone": func(s *scene, a host.Attachment) host.Attachment { s.h.DeleteNetns(a.Netns); return a },
		"no namespace": func(s *scene, a host.Attachment) host.Attachment {
			s.h.DeleteNetns(a.Netns)
			return a.WithEnv("CNI_NETNS", "")
		},
		"stale file": func(s *scene, a host.Attachment) host.Attachment {
			s.h.DeleteNetns(a.Netns)
			s.h.WriteFile(a.Netns, "")
			return a
		},
		"interface gone": func(s *scene, a host.Attachment) host.Attachment {
			s.h.MustRunIn(a.Netns, "ip", "link", "del", "eth0")
			return a
		},
		"journal gone": func(s *scene, a host.Attachment) host.Attachment { s.h.RemoveAll("/run/fairlead"); return a },
		"all of it gone": func(s *scene, a host.Attachment) host.Attachment {
			s.h.RemoveAll("/run/fairlead")
			s.h.DeleteNetns(a.Netns)
			return a
		},
		"nothing is gone": func(_ *scene, a host.Attachment) host.Attachment { return a },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScene(t, network{})
			before := s.h.Snapshot()
			a := s.inList("tuning", values()...)
			a.MustAdd(t)
			lost := lose(s, a)
			lost.MustDel(t)
			lost.MustDel(t)
			s.h.RemoveNetns(a.Netns)
			s.cleanSoon(before)
			if left := keeps(s.h.Snapshot()); len(left) > 0 {
				t.Errorf("kept: %v", left)
			}
		})
	}
}

// TestCase07TuningFails: an ADD that fails half-way puts back what it changed.
func TestCase07TuningFails(t *testing.T) {
	t.Parallel()
	s := newScene(t, network{})
	a := s.inList("tuning", append(values(), "mtu", 70000)...)
	r := a.Base().MustAdd(t)
	before := s.inside(a)
	if o := a.Itself().WithConfig("prevResult", r).Call("ADD"); o.OK() {
		t.Fatal("an MTU of 70000")
	}
	s.same(before, s.inside(a))
	if left := keeps(s.h.Snapshot()); len(left) > 0 {
		t.Errorf("kept: %v", left)
	}
	o := s.inList("tuning", "sysctl", map[string]any{"net.core.somaxconn": "77", "net.ipv4.no_such": "1"}).Call("ADD")
	if o.OK() || !strings.Contains(o.Error(t).Error(), "net/ipv4/no_such") {
		t.Error(o.Stdout)
	}
}

// TestCase13TwoOfOneList: each puts back what it found, in whatever order they
// go.
func TestCase13TwoOfOneList(t *testing.T) {
	t.Parallel()
	for name, order := range map[string][]int{"in reverse": {1, 0}, "in order": {0, 1}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScene(t, network{})
			a := s.inList("tuning")
			r := a.Base().MustAdd(t)
			before := s.inside(a)
			both := []host.Attachment{
				a.Itself().WithConfig(values()...).WithConfig("prevResult", r),
				a.Itself().WithConfig("mtu", 1300, "sysctl", map[string]any{"net.core.somaxconn": "55"}, "prevResult", r),
			}
			for _, x := range both {
				x.MustAdd(t)
			}
			for _, n := range order {
				both[n].MustDel(t)
			}
			s.same(before, s.inside(a))
			if left := keeps(s.h.Snapshot()); len(left) > 0 {
				t.Errorf("kept: %v", left)
			}
		})
	}
}

// TestCase15LateDELOfAList: neither the values nor the rules of the container
// that came after are touched.
func TestCase15LateDELOfAList(t *testing.T) {
	t.Parallel()
	for plugin, pairs := range map[string][]any{"tuning": values(), "sbr": nil} {
		for _, way := range []string{"late", "repeated", "without journal"} {
			t.Run(plugin+" "+way, func(t *testing.T) {
				t.Parallel()
				s := newScene(t, network{})
				old := s.inList(plugin, pairs...)
				old.MustAdd(t)
				if way == "repeated" {
					old.MustDel(t)
				}
				s.h.DeleteNetns(old.Netns)
				if way == "without journal" {
					s.h.RemoveAll("/run/fairlead")
				}
				next := old
				next.Container, next.Netns = "replacement", s.h.Netns(old.Container)
				r := next.MustAdd(t)
				within := s.h.SnapshotIn(next.Netns)
				old.MustDel(t)
				old.MustDel(t)
				s.untouched(next, within)
				s.healthy(next, r)
			})
		}
	}
}

// TestRule18TablesAreChosenOnce: networks of one container that come at once
// have tables of their own, and leave nothing behind.
func TestRule18TablesAreChosenOnce(t *testing.T) {
	t.Parallel()
	s := newScene(t, network{})
	const n = 6
	first := s.inList("sbr")
	bare := s.h.SnapshotIn(first.Netns)
	var all []host.Attachment
	for i := range n {
		a := first
		a.IfName = fmt.Sprintf("net%d", i)
		all = append(all, a)
	}
	together := func(f func(int)) {
		var wg sync.WaitGroup
		for i := range all {
			wg.Go(func() { f(i) })
		}
		wg.Wait()
	}
	results := make([]host.Result, n)
	together(func(i int) {
		if o := all[i].Call("ADD"); o.OK() {
			results[i] = o.Result(t)
		} else {
			t.Errorf("ADD of %s: %s", all[i].IfName, o.Stdout)
		}
	})
	rules := s.h.MustRunIn(first.Netns, "ip", "rule")
	for i := range n {
		if want := fmt.Sprintf("lookup %d ", 100+i); strings.Count(rules+" ", want) != 1 {
			t.Errorf("not one rule with %q:\n%s", want, rules)
		}
	}
	for i, a := range all {
		s.healthy(a, results[i])
	}
	together(func(i int) { all[i].MustDel(t) })
	s.untouched(first, bare)
}
