package cases

import (
	"strings"
	"testing"

	"github.com/fairlead-net/fairlead/test/host"
)

// cuts are the lengths at which a record is cut: to nothing, within its first
// line, after each line, and to half.
func cuts(record string) []int {
	list := []int{0, 9}
	for at := range len(record) {
		if record[at] == '\n' {
			list = append(list, at+1)
		}
	}
	return append(list, len(record)/2)
}

// TestRule19CutEntry: a record that was cut looks like that of a call that died.
// What bears the owner's mark goes all the same, with any cut of any record, and
// be it that the configuration does not name it any more: unless nothing is left
// of the record, which is then as none.
func TestRule19CutEntry(t *testing.T) {
	list := append(pairs(),
		network{"ptp iptables", ptp("ipMasq", true, "ipMasqBackend", "iptables"), "eth0"},
		network{"bridge anti-spoof", bridge("macspoofchk", true), "eth0"},
		network{"macvlan", macvlan(), "eth0"},
		network{"tap", base("tap", "ipam", hostLocal("10.55.0.0/24")), "eth0"})
	each(t, list, func(s *scene) {
		a := s.attach()
		before, within := s.h.Snapshot(), s.h.SnapshotIn(a.Netns)
		for _, state := range []string{"", "gone"} {
			a.MustAdd(s)
			owner := "/run/fairlead/attachments/" + s.h.ReadDir("/run/fairlead/attachments")[0] + "/"
			for n, entry := range s.h.ReadDir(owner) {
				record, _ := s.h.ReadFile(owner + entry)
				for _, at := range cuts(record) {
					if len(s.h.ReadDir("/run/fairlead/attachments")) == 0 {
						a.MustAdd(s)
					}
					name := s.h.ReadDir(owner)[n]
					whole, _ := s.h.ReadFile(owner + name)
					d := a
					if state == "gone" {
						if !strings.Contains(whole[:min(at, len(whole))], "\n") {
							continue
						}
						d = a.WithConfig("ipMasq", nil)
					}
					s.h.WriteFile(owner+name, whole[:min(at, len(whole))])
					d.MustDel(s)
					s.clean(before)
					s.untouched(a, within)
					if s.Failed() {
						s.Fatalf("%q cut to %d of %d bytes, configuration of ADD %s", name, at, len(record), state)
					}
				}
			}
		}
	})
}

// TestRule19CutEntrySparesOthers: a call that died before it made its link must
// not take another's of that name.
func TestRule19CutEntrySparesOthers(t *testing.T) {
	each(t, []network{{"macvlan", macvlan(), "eth0"}, {"bridge", bridge(), "eth0"}}, func(s *scene) {
		a := s.attach()
		a.MustAdd(s)
		owner := "/run/fairlead/attachments/" + s.h.ReadDir("/run/fairlead/attachments")[0] + "/"
		name := s.h.ReadDir(owner)[0]
		header, _ := s.h.ReadFile(owner + name)
		header = header[:strings.Index(header, "\n")+1]
		a.MustDel(s)
		if s.name == "macvlan" {
			s.h.MustRun("ip", "link", "add", "link", "ens5", "name", "strange0", "type", "macvlan")
			s.h.MustRun("ip", "link", "set", "strange0", "netns", a.Netns, "name", "eth0")
		} else {
			s.h.MustRunIn(a.Netns, "ip", "link", "add", "eth0", "type", "veth", "peer", "name", "far")
		}
		within := s.h.SnapshotIn(a.Netns)
		s.h.WriteFile(owner+name, header)
		a.MustDel(s)
		if d := host.Diff(within, s.h.SnapshotIn(a.Netns)); len(d) > 0 {
			s.Errorf("another's link went: %q", d)
		}
	})
}
