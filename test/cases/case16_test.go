package cases

import (
	"strings"
	"testing"

	"github.com/fairlead-net/fairlead/test/host"
)

// TestCase16LeaseOutlivesTheLink: the address is released before the link is
// gone, and the next ADD gets an address that is still in use. The recorder
// looks around when it is told to release.
func TestCase16LeaseOutlivesTheLink(t *testing.T) {
	each(t, interfaces(), func(s *scene) {
		s.Run("DEL", func(t *testing.T) {
			s := newScene(t, s.network)
			a, records := s.recorded("look", true)
			a.MustAdd(t)
			a.MustDel(t)
			s.released(records)
		})
		s.Run("DEL without a journal", func(t *testing.T) {
			s := newScene(t, s.network)
			a, records := s.recorded("look", true)
			a.MustAdd(t)
			s.h.RemoveAll("/run/fairlead")
			a.MustDel(t)
			s.released(records)
		})
		s.Run("DEL without CNI_NETNS", func(t *testing.T) {
			s := newScene(t, s.network)
			a, records := s.recorded("look", true)
			a.MustAdd(t)
			a.WithEnv("CNI_NETNS", "").MustDel(t)
			s.released(records)
		})
		s.Run("ADD that fails", func(t *testing.T) {
			s := newScene(t, s.network)
			a, records := s.recorded("look", true, "result", map[string]any{
				"ips":    []any{map[string]any{"address": "10.55.0.5/24", "gateway": "10.55.0.1"}},
				"routes": []any{map[string]any{"dst": "198.51.100.0/24", "gw": "203.0.113.1"}},
			})
			s.fails("ADD", a.Call("ADD"))
			s.released(records)
		})
	})
}

// released fails the test when the address was in use while it was released.
func (s *scene) released(records string) {
	s.Helper()
	got := host.Records(s, records, "DEL")
	if len(got) != 1 {
		s.Fatalf("the delegate got %d DELs, want 1", len(got))
	}
	for _, l := range append(got[0].Host, got[0].Container...) {
		name, _ := l["ifname"].(string)
		if strings.HasPrefix(name, "veth") || name == s.ifName {
			s.Errorf("link %s was there while the address was released", name)
		}
		infos, _ := l["addr_info"].([]any)
		for _, i := range infos {
			if info, _ := i.(map[string]any); info["local"] == "10.55.0.5" {
				s.Errorf("link %s had the address while it was released", name)
			}
		}
	}
}
