package cases

import (
	"strings"
	"testing"

	"github.com/fairlead-net/fairlead/test/host"
)

// A path that can't be opened, though something may be behind it: it leads to
// itself. It says nothing of whether the namespace is gone.
const way = "/run/way"

func (s *scene) lead(to string) { s.Helper(); s.h.MustRun("ln", "-sfn", to, way) }

// TestRule07UnknownNamespace: what the journal knows to be on the host goes, and
// a pair with it.
func TestRule07UnknownNamespace(t *testing.T) {
	each(t, pairs(), func(s *scene) {
		a := s.attach()
		before, within := s.h.Snapshot(), s.h.SnapshotIn(a.Netns)
		s.lead(a.Netns)
		a.WithEnv("CNI_NETNS", way).MustAdd(s)
		s.lead(way)
		a.WithEnv("CNI_NETNS", way).MustDel(s)
		s.untouched(a, within)
		s.h.RemoveAll(way)
		s.clean(before)
	})
}

// TestCase17UnknownNamespaceKeepsTheLease: a pair that another suite made is
// found by the container's end alone. As long as nobody can look there, it is
// not gone, nor is its address free.
func TestCase17UnknownNamespaceKeepsTheLease(t *testing.T) {
	each(t, pairs(), func(s *scene) {
		a := s.attach()
		before, within := s.h.Snapshot(), s.h.SnapshotIn(a.Netns)
		reference := a
		reference.Path = host.Reference(s)
		address := reference.MustAdd(s).Address(0)
		s.lead(way)
		for range 2 {
			if m := s.fails("DEL from who knows where", a.WithEnv("CNI_NETNS", way).Call("DEL"), 8, 102); !strings.Contains(m, way) {
				s.Errorf("DEL does not say why: %q", m)
			}
			if _, ok := s.h.ReadFile(lease(address)); !ok {
				s.Fatal("the lease of a living interface was given back")
			}
		}
		s.h.RemoveAll(way)
		a.MustDel(s)
		s.untouched(a, within)
		s.clean(before)
	})
}

// pairs are networks that are found on the host, by a pair's one end.
func pairs() []network {
	return []network{
		{"bridge", bridge("ipMasq", true), "eth0"},
		{"ptp", ptp("ipMasq", true), "eth0"},
	}
}

// TestCase17UnknownNamespaceOfAnEntry: what the journal knows to be in a
// container that nobody can look into may live. Neither DEL nor GC gives its
// address away.
func TestCase17UnknownNamespaceOfAnEntry(t *testing.T) {
	each(t, []network{{"macvlan", macvlan(), "eth0"}, {"tap", base("tap", "ipam", hostLocal("10.55.0.0/24")), "eth0"}}, func(s *scene) {
		a := s.attach().WithEnv("CNI_NETNS", way)
		before, within := s.h.Snapshot(), s.h.SnapshotIn(a.Netns)
		s.lead(a.Netns)
		address := a.MustAdd(s).Address(0)
		attached := s.h.SnapshotIn(a.Netns)
		s.lead(way)
		for verb, call := range map[string]func() host.Outcome{
			"DEL": func() host.Outcome { return a.Call("DEL") }, "GC": func() host.Outcome { return a.GC() },
		} {
			o := call()
			if verb == "DEL" {
				s.fails(verb, o, 102)
			} else if !o.OK() || !strings.Contains(o.Stderr, a.Container) {
				s.Errorf("%s: exit %d, %s%s", verb, o.Exit, o.Stdout, o.Stderr)
			}
			if _, ok := s.h.ReadFile(lease(address)); !ok {
				s.Fatalf("%s gave the lease of a living interface back", verb)
			}
			s.untouched(a, attached)
		}
		s.lead(a.Netns)
		a.MustDel(s)
		s.untouched(a, within)
		s.h.RemoveAll(way)
		s.clean(before)
	})
}

// TestRule07AnotherPathToTheNamespace: that of ADD is gone, but the request knows
// the namespace by another.
func TestRule07AnotherPathToTheNamespace(t *testing.T) {
	each(t, []network{{"macvlan", macvlan(), "eth0"}, {"tap", base("tap", "ipam", hostLocal("10.55.0.0/24")), "eth0"}}, func(s *scene) {
		a := s.attach()
		before, within := s.h.Snapshot(), s.h.SnapshotIn(a.Netns)
		s.lead(a.Netns)
		a.WithEnv("CNI_NETNS", way).MustAdd(s)
		s.h.RemoveAll(way)
		a.MustDel(s)
		s.untouched(a, within)
		s.clean(before)
	})
}
