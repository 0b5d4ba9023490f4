package input

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/fairlead-net/fairlead/test/host"
)

const (
	netName = "net-i"
	master  = "ens5"
)

func subnet(pairs ...any) map[string]any {
	return host.Config{"subnet": "10.44.0.0/24"}.With(pairs...)
}

func hostLocal(sets ...any) map[string]any {
	return map[string]any{"type": "host-local", "ranges": sets}
}

func set(ranges ...any) []any { return ranges }

func base(plugin string, pairs ...any) host.Config {
	return host.Config{"cniVersion": "1.1.0", "name": netName, "type": plugin}.With(pairs...)
}

// good are configurations that work, one a plugin.
func good(plugin string) host.Config {
	switch plugin {
	case "bridge":
		return base(plugin, "bridge", "cni0", "isGateway", true, "ipam", hostLocal(set(subnet())))
	case "ptp":
		return base(plugin, "ipam", hostLocal(set(subnet())))
	case "macvlan":
		return base(plugin, "master", master, "ipam", hostLocal(set(subnet())))
	case "host-local":
		return base(plugin, "ipam", hostLocal(set(subnet())))
	case "static":
		return base(plugin, "ipam", map[string]any{
			"type": "static", "addresses": []any{map[string]any{"address": "10.44.0.9/24", "gateway": "10.44.0.1"}}})
	}
	return base(plugin)
}

var all = []string{"loopback", "bridge", "ptp", "macvlan", "host-local", "static"}

func plugins(t testing.TB) string {
	t.Helper()
	if dir := os.Getenv("FAIRLEAD_CONFORMANCE_DIR"); dir != "" {
		return dir
	}
	return host.Build(t)
}

// A scene is a host with a container that gets nothing.
type scene struct {
	*testing.T
	h      *host.Host
	a      host.Attachment
	before host.Picture
	within host.Picture
}

func newScene(t *testing.T, plugin string) *scene {
	t.Helper()
	h := host.New(t)
	ifName := "eth0"
	switch plugin {
	case "loopback":
		ifName = "lo"
	case "macvlan":
		h.MustRun("ip", "link", "add", master, "type", "veth", "peer", "name", master+"-far")
		h.MustRun("ip", "link", "set", master, "up")
	}
	a := h.Attach(plugins(t), good(plugin), ifName)
	return &scene{T: t, h: h, a: a, before: h.Snapshot(), within: h.SnapshotIn(a.Netns)}
}

// refused is answers, and that the call changed nothing.
func (s *scene) refused(what string, o host.Outcome, codes []uint, words ...string) {
	s.Helper()
	s.answers(what, o, codes, words...)
	s.unchanged(what)
}

// answers fails the test unless the call failed with one of the codes, and
// said the words.
func (s *scene) answers(what string, o host.Outcome, codes []uint, words ...string) {
	s.Helper()
	if o.OK() {
		s.Errorf("%s: succeeded and should not: %s", what, o.Stdout)
	} else {
		e := o.Error(s)
		if !slices.Contains(codes, e.Code) {
			s.Errorf("%s: code %d, want %d: %s", what, e.Code, codes, e.Error())
		}
		for _, w := range words {
			if !strings.Contains(e.Error(), w) {
				s.Errorf("%s: the message does not say %q: %s", what, w, e.Error())
			}
		}
		if v, ok := o.Result(s)["cniVersion"].(string); !ok || v == "" {
			s.Errorf("%s: no cniVersion in %s", what, o.Stdout)
		}
	}
}

func (s *scene) unchanged(what string) {
	s.Helper()
	if d := s.h.Left(s.before, host.Standing); len(d) > 0 {
		s.Errorf("%s: the host changed:\n\t%s", what, strings.Join(d, "\n\t"))
		_ = s.a.Call("DEL") // the next one is to be judged by itself
		s.before = s.h.Snapshot()
	}
	if d := host.Diff(s.within, s.h.SnapshotIn(s.a.Netns)); len(d) > 0 {
		s.Errorf("%s: the container changed:\n\t%s", what, strings.Join(d, "\n\t"))
		s.within = s.h.SnapshotIn(s.a.Netns)
	}
}

func each(t *testing.T, names []string, f func(*scene, string)) {
	t.Parallel()
	for _, p := range names {
		t.Run(p, func(t *testing.T) {
			t.Parallel()
			f(newScene(t, p), p)
		})
	}
}
