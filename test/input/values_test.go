package input

import (
	"slices"
	"strings"
	"testing"

	"github.com/fairlead-net/fairlead/test/host"
)

// A value is one that is of the right type and can't be used.
type value struct {
	what    string
	changes []any
	codes   []uint // 7 unless said otherwise
	words   []string
}

// TestRule21BadValues: code 7, and nothing is changed.
func TestRule21BadValues(t *testing.T) {
	of := map[string][]value{
		"bridge":     bridgeValues(),
		"ptp":        ptpValues(),
		"macvlan":    macvlanValues(),
		"host-local": rangeValues(),
		"static":     staticValues(),
	}
	var names []string
	for _, p := range all {
		if of[p] != nil {
			names = append(names, p)
		}
	}
	each(t, names, func(s *scene, plugin string) {
		for _, v := range of[plugin] {
			codes := v.codes
			if codes == nil {
				codes = []uint{7}
			}
			a := s.a.WithConfig(v.changes...)
			s.refused("ADD with "+v.what, a.Call("ADD"), codes, v.words...)
			// A runtime calls DEL after an ADD that failed, until it succeeds.
			if o := a.Call("DEL"); !o.OK() && !slices.Contains(codes, 6) {
				s.Errorf("DEL with %s: %s", v.what, o.Stdout)
			}
			s.unchanged("DEL with " + v.what)
		}
	})
}

// TestRule21BadRangesThroughDelegate: the same ranges, by way of those who
// call the allocator: nothing of theirs is left either, but a bridge.
func TestRule21BadRangesThroughDelegate(t *testing.T) {
	each(t, []string{"bridge", "ptp"}, func(s *scene, plugin string) {
		for _, v := range rangeValues() {
			o := s.a.WithConfig(v.changes...).Call("ADD")
			if o.OK() {
				s.Errorf("ADD with %s succeeded", v.what)
			} else {
				_ = o.Error(s) // it fails the test where there is no error object
			}
			if d := s.h.Left(s.before, host.Standing, host.Bridge("cni0")); len(d) > 0 {
				s.Errorf("ADD with %s: left:\n\t%s", v.what, strings.Join(d, "\n\t"))
			}
			if d := host.Diff(s.within, s.h.SnapshotIn(s.a.Netns)); len(d) > 0 {
				s.Errorf("ADD with %s: the container changed: %q", v.what, d)
			}
		}
	})
}

func bridgeValues() []value {
	trunk := func(of map[string]any) []any { return []any{"vlanTrunk", []any{of}} }
	return []value{
		{what: "a bridge's name of 16 letters", changes: []any{"bridge", "sixteen-letters0"}},
		{what: "a bridge's name with a slash", changes: []any{"bridge", "a/b"}},
		{what: "a bridge's name with a blank", changes: []any{"bridge", "a b"}},
		{what: "a bridge named dot", changes: []any{"bridge", "."}},
		{what: "hairpin and promiscuous mode", changes: []any{"hairpinMode", true, "promiscMode", true}},
		{what: "VLAN -1", changes: []any{"vlan", -1}},
		{what: "VLAN 4095", changes: []any{"vlan", 4095}},
		{what: "trunk VLAN 0", changes: trunk(map[string]any{"id": 0})},
		{what: "trunk VLAN 5000", changes: trunk(map[string]any{"id": 5000})},
		{what: "a trunk upside down", changes: trunk(map[string]any{"minID": 20, "maxID": 10})},
		{what: "a trunk without an end", changes: trunk(map[string]any{"minID": 20})},
		{what: "a negative MTU", changes: []any{"mtu", -1}},
		{what: "an MTU of a million", changes: []any{"mtu", 1000000}},
		{what: "no such backend", changes: []any{"ipMasq", true, "ipMasqBackend", "ipchains"}, codes: []uint{2, 7}, words: []string{"ipchains"}},
		{what: "no interface for an address", changes: []any{"disableContainerInterface", true}},
		{what: "a MAC address of letters", changes: []any{"runtimeConfig", map[string]any{"mac": "not a mac"}}},
		{what: "a short MAC address", changes: []any{"runtimeConfig", map[string]any{"mac": "02:00:00"}}},
		{what: "a multicast MAC address", changes: []any{"runtimeConfig", map[string]any{"mac": "01:00:5e:00:00:01"}}},
	}
}

func ptpValues() []value {
	return []value{
		{what: "no ipam", changes: []any{"ipam", nil}},
		{what: "an ipam without a type", changes: []any{"ipam", map[string]any{}}},
		{what: "a negative MTU", changes: []any{"mtu", -1}},
		{what: "an MTU of a million", changes: []any{"mtu", 1000000}},
		{what: "no such backend", changes: []any{"ipMasq", true, "ipMasqBackend", "ipchains"}, codes: []uint{2, 7}, words: []string{"ipchains"}},
	}
}

func macvlanValues() []value {
	return []value{
		{what: "no such master", changes: []any{"master", "nowhere0"}, words: []string{"nowhere0"}},
		{what: "no default route", changes: []any{"master", nil}, words: []string{"default route"}},
		{what: "no such master in the container", changes: []any{"linkInContainer", true}, words: []string{"in the container"}},
		{what: "a master whose name can't be one", changes: []any{"master", "a/b"}},
		{what: "no such mode", changes: []any{"mode", "source"}, words: []string{"source"}},
		{what: "a negative MTU", changes: []any{"mtu", -1}},
		{what: "an MTU over the master's", changes: []any{"mtu", 1501}, words: []string{"1501", "1500"}},
		{what: "a MAC address of letters", changes: []any{"mac", "not a mac"}},
		{what: "a multicast MAC address", changes: []any{"runtimeConfig", map[string]any{"mac": "01:00:5e:00:00:01"}}},
	}
}

func rangeValues() []value {
	of := func(what string, ipam map[string]any, words ...string) value {
		return value{what: what, changes: []any{"ipam", ipam}, words: words}
	}
	one := func(what string, pairs ...any) value { return of(what, hostLocal(set(subnet(pairs...)))) }
	return []value{
		of("no ranges", map[string]any{"type": "host-local"}),
		of("an empty set", hostLocal(set())),
		one("no subnet", "subnet", nil),
		one("a subnet that is none", "subnet", "10.44.0.0"),
		one("a subnet with host bits", "subnet", "10.44.0.5/24"),
		one("a subnet of one address", "subnet", "10.44.0.0/32"),
		one("a subnet of two addresses", "subnet", "10.44.0.0/31"),
		one("a start before the subnet", "rangeStart", "10.43.255.255"),
		one("a start outside the subnet", "rangeStart", "192.0.2.1"),
		one("an end outside the subnet", "rangeEnd", "10.44.1.1"),
		one("an end before the start", "rangeStart", "10.44.0.20", "rangeEnd", "10.44.0.10"),
		one("a start that is no address", "rangeStart", "ten"),
		one("an end of the other family", "rangeEnd", "fd00::1"),
		one("a gateway that is no address", "gateway", "gw"),
		of("ranges that overlap", hostLocal(set(subnet("rangeEnd", "10.44.0.50"), subnet("rangeStart", "10.44.0.40")))),
		of("sets that overlap", hostLocal(set(subnet()), set(subnet()))),
		of("families in one set", hostLocal(set(subnet(), map[string]any{"subnet": "fd00::/64"}))),
		{what: "a route to nowhere", changes: []any{"ipam", map[string]any(host.Config(hostLocal(set(subnet()))).With(
			"routes", []any{map[string]any{"dst": "default"}}))}, codes: []uint{6, 7}},
	}
}

func staticValues() []value {
	of := func(what string, address map[string]any) value {
		return value{what: what, changes: []any{"ipam", map[string]any{"type": "static", "addresses": []any{address}}}}
	}
	return []value{
		of("an address without a length", map[string]any{"address": "10.44.0.9"}),
		of("an address that is none", map[string]any{"address": "here"}),
		of("a length of 33", map[string]any{"address": "10.44.0.9/33"}),
		of("a gateway that is none", map[string]any{"address": "10.44.0.9/24", "gateway": "there"}),
		of("no address", map[string]any{}),
	}
}

// TestBridgeNamedLikeAnotherLink: a link of another kind is left alone.
func TestBridgeNamedLikeAnotherLink(t *testing.T) {
	t.Parallel()
	s := newScene(t, "bridge")
	s.h.MustRun("ip", "link", "add", "v0", "type", "veth", "peer", "name", "v1")
	s.before = s.h.Snapshot()
	for _, name := range []string{"v0", "lo"} {
		o := s.a.WithConfig("bridge", name).Call("ADD")
		if o.OK() {
			t.Errorf("ADD to a bridge %s, which is none, succeeded", name)
		}
		s.answers("STATUS of "+name, s.a.WithConfig("bridge", name).Status(), []uint{50}, name)
		s.unchanged("ADD to " + name)
		s.a.WithConfig("bridge", name).MustDel(t)
		s.unchanged("DEL from " + name)
	}
}
