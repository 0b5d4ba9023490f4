package cases

import (
	"testing"

	"github.com/fairlead-net/fairlead/test/host"
)

// TestCase08DELNeedsNoMaster: DEL needs the master, a default route or a
// previous result just to delete one link by name.
func TestCase08DELNeedsNoMaster(t *testing.T) {
	onDefaultRoute := network{"default route", macvlan("master", nil), "eth0"}
	each(t, []network{{"macvlan", macvlan(), "eth0"}, onDefaultRoute}, func(s *scene) {
		ways := map[string]func(host.Attachment) host.Attachment{
			"healthy":         func(a host.Attachment) host.Attachment { return a },
			"another master":  func(a host.Attachment) host.Attachment { return a.WithConfig("master", "nowhere0") },
			"no master given": func(a host.Attachment) host.Attachment { return a.WithConfig("master", nil) },
			"nonsense":        func(a host.Attachment) host.Attachment { return a.WithConfig("mtu", -5, "mode", "none", "mac", "x") },
			"master gone": func(a host.Attachment) host.Attachment {
				s.h.MustRun("ip", "link", "del", "ens5")
				return a
			},
			"master renamed": func(a host.Attachment) host.Attachment {
				s.h.MustRun("ip", "link", "set", "ens5", "down")
				s.h.MustRun("ip", "link", "set", "ens5", "name", "ens9")
				return a
			},
		}
		for name, lose := range ways {
			for _, recorded := range []bool{true, false} {
				s.Run(name, func(t *testing.T) {
					s.h = newScene(t, network{config: macvlan()}).h
					s.h.MustRun("ip", "route", "add", "default", "dev", "ens5")
					a := s.attach()
					a.MustAdd(t)
					s.h.MustRun("ip", "route", "del", "default")
					if !recorded {
						s.h.RemoveAll("/run/fairlead")
					}
					gone := lose(a)
					gone.MustDel(t)
					gone.MustDel(t)
					if links := s.h.SnapshotIn(a.Netns).Of("link"); len(links) != 1 {
						t.Errorf("left in the container: %v", links)
					}
					if left := s.h.Left(host.Picture{}, host.Standing, func(f host.Fact) bool { return f.Sort != "file" || f.Name == a.Netns }); len(left) > 0 {
						t.Errorf("left: %v", left)
					}
				})
			}
		}
	})
}

// TestCase22STATUSSaysWhenMasterIsMissing: without it no interface can be made.
func TestCase22STATUSSaysWhenMasterIsMissing(t *testing.T) {
	each(t, []network{{"macvlan", macvlan(), "eth0"}}, func(s *scene) {
		a := s.attach()
		for what, c := range map[string]host.Attachment{
			"a master that is nowhere": a.WithConfig("master", "nowhere0"),
			"no default route":         a.WithConfig("master", nil),
		} {
			s.fails("STATUS with "+what, c.Status(), 50)
			before, within := s.h.Snapshot(), s.h.SnapshotIn(a.Netns)
			s.fails("ADD with "+what, c.Call("ADD"), 7)
			s.untouched(a, within)
			s.clean(before)
		}
		s.h.MustRun("ip", "route", "add", "default", "dev", "ens5")
		if o := a.WithConfig("master", nil).Status(); !o.OK() {
			s.Errorf("STATUS with a default route: %s%s", o.Stdout, o.Stderr)
		}
	})
}
