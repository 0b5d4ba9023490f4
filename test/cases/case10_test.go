package cases

import "testing"

// TestCase10StaleNamespaceFile: a path that exists and is no namespace any more
// fails DEL before IPAM, and the address leaks.
func TestCase10StaleNamespaceFile(t *testing.T) {
	each(t, everything(), func(s *scene) {
		before := s.h.Snapshot()
		for _, content := range []string{"", "not a namespace"} {
			a := s.attach()
			a.MustAdd(s)
			s.h.DeleteNetns(a.Netns)
			s.h.WriteFile(a.Netns, content)
			a.MustDel(s)
			a.MustDel(s)
			if got, ok := s.h.ReadFile(a.Netns); !ok || got != content {
				s.Errorf("DEL touched the file at %s", a.Netns)
			}
			s.h.RemoveNetns(a.Netns)
			s.cleanSoon(before)
		}
	})
}
