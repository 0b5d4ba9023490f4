package cases

import (
	"slices"
	"strings"
	"testing"

	"github.com/fairlead-net/fairlead/test/host"
)

// TestCase05MovedDevice: a second DEL fails; DEL after the device was renamed
// or vanished fails; an empty or missing namespace leaks the address. The host
// is in the end as before, but for a device that is no hardware and died with
// its namespace.
func TestCase05MovedDevice(t *testing.T) {
	for _, tc := range []struct {
		name string
		lose func(host.Attachment) host.Attachment
		dies bool
	}{
		{name: "healthy", lose: func(a host.Attachment) host.Attachment { return a }},
		{name: "renamed", lose: func(a host.Attachment) host.Attachment {
			a.Host.MustRunIn(a.Netns, "ip", "link", "set", a.IfName, "down")
			a.Host.MustRunIn(a.Netns, "ip", "link", "set", a.IfName, "name", "other0")
			return a
		}},
		{name: "mark gone", lose: func(a host.Attachment) host.Attachment {
			a.Host.MustRunIn(a.Netns, "ip", "link", "set", a.IfName, "alias", "mine")
			return a
		}},
		{name: "down, without addresses", lose: func(a host.Attachment) host.Attachment {
			a.Host.MustRunIn(a.Netns, "ip", "address", "flush", "dev", a.IfName)
			a.Host.MustRunIn(a.Netns, "ip", "link", "set", a.IfName, "down")
			return a
		}},
		{name: "configuration names another device", lose: func(a host.Attachment) host.Attachment {
			return a.WithConfig("device", nil, "pciBusID", "ffff:ff:1f.7")
		}},
		{name: "moved back by hand", lose: func(a host.Attachment) host.Attachment {
			a.Host.MustRunIn(a.Netns, "ip", "link", "set", a.IfName, "down")
			a.Host.MustRunIn(a.Netns, "ip", "link", "set", a.IfName, "alias", "")
			a.Host.MustRunIn(a.Netns, "ip", "link", "set", a.IfName, "name", "ens5")
			a.Host.MustRun("sh", "-c", "ip -n "+a.Container+" link set ens5 netns $$")
			a.Host.MustRun("ip", "link", "set", "ens5", "up")
			return a
		}},
		{name: "vanished", dies: true, lose: func(a host.Attachment) host.Attachment {
			a.Host.MustRunIn(a.Netns, "ip", "link", "del", a.IfName)
			return a
		}},
		{name: "namespace gone", dies: true, lose: func(a host.Attachment) host.Attachment {
			a.Host.DeleteNetns(a.Netns)
			return a
		}},
		{name: "namespace gone, and not named", dies: true, lose: func(a host.Attachment) host.Attachment {
			a.Host.DeleteNetns(a.Netns)
			return a.WithEnv("CNI_NETNS", "")
		}},
		{name: "namespace gone, another at its path", dies: true, lose: func(a host.Attachment) host.Attachment {
			a.Host.DeleteNetns(a.Netns)
			a.Host.Netns(a.Container)
			return a
		}},
		{name: "namespace lives, and is not named", lose: func(a host.Attachment) host.Attachment {
			return a.WithEnv("CNI_NETNS", "")
		}},
		{name: "namespace is no namespace any more", dies: true, lose: func(a host.Attachment) host.Attachment {
			a.Host.DeleteNetns(a.Netns)
			a.Host.WriteFile(a.Netns, "")
			return a
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			each(t, oneContainer()[len(interfaces()):], func(s *scene) {
				before := s.h.Snapshot()
				a := s.attach()
				r := a.MustAdd(s)
				s.healthy(a, r)
				gone := tc.lose(a)
				for range 2 {
					gone.MustDel(s)
				}
				s.h.RemoveNetns(a.Netns)
				may := []func(host.Fact) bool{host.Standing}
				if tc.dies {
					may = append(may, func(f host.Fact) bool { return strings.HasPrefix(f.Name, "ens5") })
				}
				s.h.SameSoon(s, before, may...)
			})
		})
	}
}

// TestCase05WithoutJournal: what is in the container with a name in its alias
// goes back. Whether it was up is not known.
func TestCase05WithoutJournal(t *testing.T) {
	each(t, oneContainer()[len(interfaces()):], func(s *scene) {
		s.h.MustRun("ip", "link", "del", "ens5")
		s.h.MustRun("ip", "link", "add", "ens5", "type", "veth", "peer", "name", "ens5-far")
		before := s.h.Snapshot()
		a := s.attach()
		a.MustAdd(s)
		s.h.RemoveAll("/run/fairlead")
		for range 2 {
			a.MustDel(s)
		}
		s.h.DeleteNetns(a.Netns)
		s.clean(before)
	})
}

// TestCase05NameTaken: another link has the device's name on the host by now.
func TestCase05NameTaken(t *testing.T) {
	each(t, oneContainer()[len(interfaces()):], func(s *scene) {
		a := s.attach()
		a.MustAdd(s)
		s.h.MustRun("ip", "link", "add", "ens5", "type", "veth", "peer", "name", "new-far")
		within := len(s.h.SnapshotIn(a.Netns).Of("link"))
		o := a.Call("DEL")
		if !o.OK() || !strings.Contains(o.Stderr, "ens5") {
			s.Errorf("DEL: %s%s", o.Stdout, o.Stderr)
		}
		a.MustDel(s)
		if now := len(s.h.SnapshotIn(a.Netns).Of("link")); now != within-1 {
			s.Errorf("%d links in the container, of %d", now, within)
		}
		if !slices.ContainsFunc(s.h.Snapshot().Of("link"), func(f host.Fact) bool { return strings.HasPrefix(f.Name, "nic") }) {
			s.Errorf("the device is not on the host: %v", s.h.Snapshot().Of("link"))
		}
	})
}

// TestCase15DeviceOfTheReplacement: a late or repeated DEL of a moved device
// spares what has its name in a namespace at the same path.
func TestCase15DeviceOfTheReplacement(t *testing.T) {
	for _, way := range []string{"late", "repeated"} {
		for _, other := range []network{{"another device", hostDevice(), "eth0"}, {"ptp", ptp(), "eth0"}} {
			t.Run(way+" "+other.name, func(t *testing.T) {
				t.Parallel()
				s := newScene(t, network{"host-device", hostDevice(), "eth0"})
				old := s.attach()
				old.MustAdd(t)
				if way == "repeated" {
					old.MustDel(t)
				}
				s.h.DeleteNetns(old.Netns)
				s.h.Until(t, "the device", func(p host.Picture) bool {
					return slices.ContainsFunc(p.Of("link"), func(f host.Fact) bool { return f.Name == "ens5-far" }) == (way == "repeated")
				})
				if way == "late" {
					nic(s.h, "ens5")
				}
				next := old
				next.Container, next.Config, next.Netns = "replacement", other.config, s.h.Netns(old.Container)
				r := next.MustAdd(t)
				within := s.h.SnapshotIn(next.Netns)
				for range 2 {
					old.MustDel(t)
				}
				s.untouched(next, within)
				s.healthy(next, r)
				next.MustDel(t)
			})
		}
	}
}
