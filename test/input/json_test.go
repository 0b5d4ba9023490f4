package input

import (
	"strings"
	"testing"

	"github.com/fairlead-net/fairlead/test/host"
)

// TestRule21MalformedJSON: code 6.
func TestRule21MalformedJSON(t *testing.T) {
	each(t, all, func(s *scene, plugin string) {
		whole := s.a.Config.String()
		for what, stdin := range map[string]string{
			"nothing":        "",
			"white space":    " \n",
			"cut short":      whole[:len(whole)/2],
			"no JSON":        "cniVersion: 1.1.0",
			"a list":         "[" + whole + "]",
			"a number":       "7",
			"a string":       `"bridge"`,
			"binary":         "\x00\x01\xff",
			"trailing brace": whole + "}",
			"very deep":      strings.Repeat("[", 100000),
		} {
			for _, verb := range []string{"ADD", "DEL", "CHECK", "GC", "STATUS"} {
				s.answers(verb+" of "+what, s.h.RunPlugin(s.a.Path, plugin, verb, s.a.Env(), stdin), []uint{6})
			}
			s.unchanged("a call with " + what)
		}
		o := s.h.RunPlugin(s.a.Path, plugin, "ADD", s.a.Env(), "null")
		s.refused("ADD of null", o, []uint{6, 7})
	})
}

// TestRule21WrongTypes: code 6, or 7 where the type is right by JSON's terms.
func TestRule21WrongTypes(t *testing.T) {
	common := [][]any{
		{"cniVersion", 1}, {"name", 5}, {"name", []any{"a"}}, {"prevResult", "none"},
		{"dns", []any{"192.0.2.1"}}, {"dns", map[string]any{"nameservers": "192.0.2.1"}},
	}
	of := map[string][][]any{
		"bridge": {
			{"ipam", "host-local"}, {"ipam", []any{}}, {"ipam", map[string]any{"type": 5}},
			{"bridge", 5}, {"isGateway", "yes"}, {"isDefaultGateway", 1}, {"forceAddress", "no"}, {"ipMasq", "true"},
			{"ipMasqBackend", 4}, {"mtu", "1500"}, {"mtu", 1500.5}, {"hairpinMode", "on"}, {"promiscMode", 1},
			{"vlan", "100"}, {"vlanTrunk", map[string]any{"id": 5}}, {"vlanTrunk", []any{map[string]any{"id": "5"}}},
			{"macspoofchk", "x"}, {"enabledad", 0}, {"portIsolation", "y"}, {"runtimeConfig", map[string]any{"mac": 5}},
		},
		"ptp": {{"ipam", "host-local"}, {"ipMasq", "yes"}, {"mtu", "big"}, {"ipMasqBackend", true}},
		"macvlan": {
			{"ipam", "host-local"}, {"master", 5}, {"mode", 4}, {"mtu", "1500"}, {"mtu", 1500.5}, {"mac", 2},
			{"linkInContainer", "yes"}, {"bcqueuelen", -1}, {"bcqueuelen", 4294967296}, {"runtimeConfig", map[string]any{"mac": 5}},
		},
		"host-local": {
			{"ipam", "x"}, {"ipam", map[string]any{"type": "host-local", "ranges": "10.44.0.0/24"}},
			{"ipam", map[string]any{"type": "host-local", "ranges": []any{subnet()}}},
			{"ipam", hostLocal(set(map[string]any{"subnet": 10}))},
			{"ipam", hostLocal(set(subnet("gateway", 1)))},
			{"ipam", host.Config(hostLocal(set(subnet()))).With("routes", "0.0.0.0/0")},
			{"ipam", host.Config(hostLocal(set(subnet()))).With("dataDir", 5)},
		},
		"static": {
			{"ipam", 5}, {"ipam", map[string]any{"type": "static", "addresses": "10.44.0.9/24"}},
			{"ipam", map[string]any{"type": "static", "addresses": []any{"10.44.0.9/24"}}},
			{"ipam", map[string]any{"type": "static", "addresses": []any{map[string]any{"address": 5}}}},
		},
	}
	each(t, all, func(s *scene, plugin string) {
		for _, change := range append(common, of[plugin]...) {
			a := s.a.WithConfig(change...)
			s.refused("ADD with "+host.Config{change[0].(string): change[1]}.String(), a.Call("ADD"), []uint{6, 7})
		}
	})
}

// TestUnknownFieldsAreFine: a configuration may hold more than a plugin knows.
func TestUnknownFieldsAreFine(t *testing.T) {
	each(t, all, func(s *scene, plugin string) {
		a := s.a.WithConfig("somebody", map[string]any{"else": []any{1, "2", nil}}, "x-y", nil, "capabilities", map[string]any{"any": true},
			"runtimeConfig", map[string]any{"any": []any{1}}, "args", map[string]any{"org.example": map[string]any{"x": 1}})
		r := a.MustAdd(s)
		if o := a.Check(r); !o.OK() {
			s.Errorf("CHECK: %s%s", o.Stdout, o.Stderr)
		}
		a.MustDel(s)
		if d := s.h.Left(s.before, host.Standing, host.Bridge("cni0")); len(d) > 0 {
			s.Errorf("left: %q", d)
		}
	})
}
