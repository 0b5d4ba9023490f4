package cases

import (
	"testing"

	"github.com/fairlead-net/fairlead/test/host"
)

// TestCase07FailedADDLeavesNothing: IPAM or a later step fails in ADD, and the
// link or the address stays.
func TestCase07FailedADDLeavesNothing(t *testing.T) {
	address := []any{map[string]any{"address": "10.55.0.5/24", "gateway": "10.55.0.1"}}
	ways := []struct {
		name         string
		instructions []any
	}{
		{"IPAM fails", []any{"errors", refuses("ADD")}},
		{"IPAM fails in ADD and DEL", []any{"errors", refuses("ADD", "DEL")}},
		{"IPAM gives no address", []any{"result", map[string]any{}}},
		{"IPAM gives no JSON", []any{"stdout", "no address today"}},
		{"IPAM gives an address twice", []any{"result", map[string]any{"ips": []any{address[0], address[0]}}}},
		{"route by a gateway that is nowhere", []any{"result", map[string]any{
			"ips":    address,
			"routes": []any{map[string]any{"dst": "198.51.100.0/24", "gw": "203.0.113.1"}},
		}}},
	}
	each(t, oneContainer(), func(s *scene) {
		for _, way := range ways {
			s.Run(way.name, func(t *testing.T) {
				s := newScene(t, s.network)
				a, records := s.recorded(way.instructions...)
				before, within := s.h.Snapshot(), s.h.SnapshotIn(a.Netns)
				s.fails("ADD", a.Call("ADD"))
				s.untouched(a, within)
				if way.name != "IPAM fails in ADD and DEL" {
					s.clean(before)
				}
				if n := len(host.Records(s, records, "DEL")); n == 0 {
					s.Error("the delegate got no DEL")
				}
				_ = a.Call("DEL")
				s.untouched(a, within)
			})
		}
	})
}

// TestCase07LeaseOfAFailedADD is the same with the allocator's own leases.
func TestCase07LeaseOfAFailedADD(t *testing.T) {
	each(t, oneContainer(), func(s *scene) {
		ipam := hostLocal("10.55.0.0/24")
		ipam["routes"] = []any{map[string]any{"dst": "198.51.100.0/24", "gw": "203.0.113.1"}}
		a := s.attach("ipam", ipam)
		before, within := s.h.Snapshot(), s.h.SnapshotIn(a.Netns)
		s.fails("ADD", a.Call("ADD"))
		s.untouched(a, within)
		s.clean(before)
	})
}
