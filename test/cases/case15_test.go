package cases

import (
	"testing"

	"github.com/fairlead-net/fairlead/test/host"
)

// TestCase15LateDELSparesTheReplacement: a late or repeated DEL deletes the
// replacement's link. The replacement lives in a namespace at the same path,
// with an interface of the same name.
func TestCase15LateDELSparesTheReplacement(t *testing.T) {
	each(t, everything(), func(s *scene) {
		for _, way := range []string{"late", "repeated"} {
			s.Run(way, func(t *testing.T) {
				s := newScene(t, s.network)
				old := s.attach()
				old.MustAdd(t)
				if way == "repeated" {
					old.MustDel(t)
				}
				s.h.DeleteNetns(old.Netns)
				replacement := old
				replacement.Container = "replacement"
				replacement.Netns = s.h.Netns(old.Container)
				r := replacement.MustAdd(t)
				within := s.h.SnapshotIn(replacement.Netns)
				old.MustDel(t)
				old.MustDel(t)
				s.untouched(replacement, within)
				s.healthy(replacement, r)
			})
		}
	})
}

// TestCase15LateDELSparesTheAddress is the same for what hangs on an address:
// the replacement has the address that the first container had.
func TestCase15LateDELSparesTheAddress(t *testing.T) {
	each(t, interfaces(), func(s *scene) {
		one := map[string]any{"type": "host-local", "ranges": []any{[]any{map[string]any{
			"subnet": "10.55.0.0/24", "rangeStart": "10.55.0.9", "rangeEnd": "10.55.0.9"}}}}
		old, next := s.attach("ipam", one), s.attach("ipam", one)
		before := s.h.Snapshot()
		old.MustAdd(s)
		old.MustDel(s)
		r := next.MustAdd(s)
		alone := s.h.Snapshot()
		old.MustDel(s)
		s.h.DeleteNetns(old.Netns)
		old.MustDel(s)
		s.h.Same(s, alone, func(f host.Fact) bool {
			return f.Name == old.Netns || f.Sort == "file" && host.Standing(f)
		})
		s.healthy(next, r)
		next.MustDel(s)
		s.h.Same(s, before, host.Standing, host.Bridge("cni0"), func(f host.Fact) bool { return f.Name == old.Netns })
	})
}
