package cases

import (
	"testing"

	"github.com/fairlead-net/fairlead/test/host"
)

// TestCase22STATUSSaysWhenRangeIsUsedUp: STATUS always says ready.
func TestCase22STATUSSaysWhenRangeIsUsedUp(t *testing.T) {
	each(t, allocating(), func(s *scene) {
		var all []host.Attachment
		for range 3 {
			if o := s.attach().Status(); !o.OK() || o.Stdout != "" {
				s.Errorf("STATUS with addresses left: %s%s", o.Stdout, o.Stderr)
			}
			a := s.attach()
			a.MustAdd(s)
			all = append(all, a)
		}
		before := s.h.Snapshot()
		s.fails("STATUS of a range that is used up", all[0].Status(), 50, 51)
		s.h.Same(s, before, func(f host.Fact) bool { return f.Sort == "file" && host.Standing(f) })
		all[1].MustDel(s)
		if o := all[0].Status(); !o.OK() {
			s.Errorf("STATUS with an address free again: %s%s", o.Stdout, o.Stderr)
		}
	})
}

// TestCase22STATUSSaysWhenDelegateIsMissing is the same for a delegate that is
// not installed.
func TestCase22STATUSSaysWhenDelegateIsMissing(t *testing.T) {
	each(t, interfaces(), func(s *scene) {
		a := s.attach("ipam", map[string]any{"type": "not-installed"})
		s.fails("STATUS", a.Status(), 50, 51)
	})
}

// TestRule19NoStateDirectory: ADD and STATUS fail, DEL works from the plan.
func TestRule19NoStateDirectory(t *testing.T) {
	each(t, everything(), func(s *scene) {
		a := s.attach()
		// What the kernel gives lo with its first up, it does not take back.
		s.h.MustRunIn(a.Netns, "ip", "link", "set", "lo", "up")
		s.h.MustRunIn(a.Netns, "ip", "link", "set", "lo", "down")
		before, within := s.h.Snapshot(), s.h.SnapshotIn(a.Netns)
		a.MustAdd(s)
		s.h.RemoveAll("/run/fairlead")
		s.h.WriteFile("/run/elsewhere", "a file")
		blind := a.WithEnv("FAIRLEAD_STATE_DIR", "/run/elsewhere")
		blind.MustDel(s)
		s.h.RemoveAll("/run/elsewhere")
		s.clean(before)
		// Without a journal loopback leaves lo to whoever is there now (case 15).
		s.h.MustRunIn(a.Netns, "ip", "link", "set", "lo", "down")
		s.untouched(a, within)

		s.h.WriteFile("/run/elsewhere", "a file")
		s.fails("ADD", blind.Call("ADD"), 50)
		s.fails("STATUS", blind.Status(), 50)
		s.h.RemoveAll("/run/elsewhere")
		s.clean(before)
		s.untouched(a, within)
	})
}

// TestRule19SymlinkIsRefused: a state directory that another user may have
// put there.
func TestRule19SymlinkIsRefused(t *testing.T) {
	each(t, plain(), func(s *scene) {
		s.h.WriteFile("/run/target/x", "")
		s.h.MustRun("ln", "-s", "/run/target", "/run/link")
		a := s.attach().WithEnv("FAIRLEAD_STATE_DIR", "/run/link")
		before, within := s.h.Snapshot(), s.h.SnapshotIn(a.Netns)
		s.fails("ADD", a.Call("ADD"), 50)
		s.clean(before)
		s.untouched(a, within)
		if names := s.h.ReadDir("/run/target"); len(names) != 1 {
			s.Errorf("files were made behind the symlink: %v", names)
		}
	})
}
