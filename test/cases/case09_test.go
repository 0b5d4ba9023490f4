package cases

import (
	"strings"
	"testing"

	"github.com/fairlead-net/fairlead/test/host"
)

// TestCase09IPAMErrorInDELKeepsNoLink: an IPAM error in DEL keeps the link.
func TestCase09IPAMErrorInDELKeepsNoLink(t *testing.T) {
	each(t, oneContainer(), func(s *scene) {
		a, records := s.recorded("errors", refuses("DEL"))
		before, within := s.h.Snapshot(), s.h.SnapshotIn(a.Netns)
		a.MustAdd(s)
		if m := s.fails("DEL whose delegate fails", a.Call("DEL")); !strings.Contains(m, "the recorder refuses DEL") {
			s.Errorf("DEL does not say why: %q", m)
		}
		s.untouched(a, within)
		s.h.Same(s, before, host.Standing, host.Bridge("cni0"), func(f host.Fact) bool {
			return strings.HasPrefix(f.Name, "/run/fairlead/")
		})
		if n := len(host.Records(s, records, "DEL")); n != 1 {
			s.Errorf("the delegate got %d DELs, want 1", n)
		}
	})
}
