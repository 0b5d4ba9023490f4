package cases

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fairlead-net/fairlead/test/host"
)

// TestCase06RulesWithoutNamespace: an empty or missing namespace leaves
// masquerade and anti-spoof rules.
func TestCase06RulesWithoutNamespace(t *testing.T) {
	each(t, interfaces(), func(s *scene) {
		before := s.h.Snapshot()
		for _, way := range []struct {
			name string
			lose func(host.Attachment) host.Attachment
		}{
			{"path missing", func(a host.Attachment) host.Attachment { return a }},
			{"path empty", func(a host.Attachment) host.Attachment { return a.WithEnv("CNI_NETNS", "") }},
			{"path not given", func(a host.Attachment) host.Attachment { return a.WithEnv("CNI_NETNS", host.Unset) }},
			{"path missing, no journal", func(a host.Attachment) host.Attachment {
				s.h.RemoveAll("/run/fairlead")
				return a
			}},
			{"path empty, no journal", func(a host.Attachment) host.Attachment {
				s.h.RemoveAll("/run/fairlead")
				return a.WithEnv("CNI_NETNS", "")
			}},
		} {
			s.Run(way.name, func(t *testing.T) {
				a := s.attach()
				a.MustAdd(t)
				s.h.DeleteNetns(a.Netns)
				a = way.lose(a)
				a.MustDel(t)
				s.h.SameSoon(t, before, host.Standing, host.Bridge("cni0"))
			})
		}
	})
}

// TestCase06IPAMFailsThenRetry: IPAM's DEL fails after the link is gone, and
// the retry that succeeds leaks the rules.
func TestCase06IPAMFailsThenRetry(t *testing.T) {
	each(t, interfaces(), func(s *scene) {
		before := s.h.Snapshot()
		orders := filepath.Join(s.TempDir(), "errors")
		a, records := s.recorded("errorsFrom", orders)
		a.MustAdd(s)
		if err := os.WriteFile(orders, []byte(host.Config(refuses("DEL")).String()), 0o644); err != nil {
			s.Fatal(err)
		}
		for range 2 {
			if m := s.fails("DEL whose delegate fails", a.Call("DEL")); !strings.Contains(m, "the recorder refuses DEL") {
				s.Errorf("DEL does not say why: %q", m)
			}
		}
		// All but the delegate's part and the entry that remembers it is gone.
		s.h.Same(s, before, host.Standing, host.Bridge("cni0"), func(f host.Fact) bool {
			return strings.Contains(f.Name, "/run/netns/") || strings.HasPrefix(f.Name, "/run/fairlead/")
		})
		if err := os.Remove(orders); err != nil {
			s.Fatal(err)
		}
		a.MustDel(s)
		if n := len(host.Records(s, records, "DEL")); n != 3 {
			s.Errorf("the delegate got %d DELs, want 3", n)
		}
		s.h.DeleteNetns(a.Netns)
		s.clean(before)
	})
}
