package cases

import (
	"strings"
	"testing"

	"github.com/fairlead-net/fairlead/test/host"
)

// single has one address to give, so that one given out too early is noticed.
func single() map[string]any {
	return map[string]any{"type": "host-local", "ranges": []any{[]any{map[string]any{
		"subnet": "10.55.0.0/24", "rangeStart": "10.55.0.9", "rangeEnd": "10.55.0.9"}}}}
}

// TestCase29LinkIsKnownByItsRecord: links were looked for by name. Whatever a
// tenant, or an operator, calls them and writes on them, DEL that says success
// has removed them, and the next container has the address for itself.
func TestCase29LinkIsKnownByItsRecord(t *testing.T) {
	inside := func(commands ...string) func(*scene, host.Attachment, host.Result) {
		return func(s *scene, a host.Attachment, _ host.Result) {
			for _, c := range commands {
				s.h.MustRunIn(a.Netns, "ip", strings.Fields(c)...)
			}
		}
	}
	const strange = "fairlead:aaaaaaaaaaaaaaaaaaaaaaaaaa"
	changes := map[string]func(*scene, host.Attachment, host.Result){
		"renamed": inside("link set eth0 down", "link set eth0 name mine0"),
		"renamed, another's mark": inside("link set eth0 down", "link set eth0 name mine0",
			"link set mine0 alias "+strange),
		"another MAC": inside("link set eth0 address 02:00:00:00:00:99"),
		"replaced": inside("link set eth0 down", "link set eth0 name mine0",
			"link add eth0 type bridge"),
		"swapped": inside("link set eth0 down", "link add mine0 type veth peer name mine1",
			"link set eth0 name swap0", "link set mine0 name eth0", "link set swap0 name mine0"),
		"the host's end renamed, another alias": func(s *scene, _ host.Attachment, r host.Result) {
			for _, i := range r.Interfaces() {
				name, _ := i["name"].(string)
				if !strings.HasPrefix(name, "veth") {
					continue
				}
				s.h.MustRun("ip", "link", "set", name, "down")
				s.h.MustRun("ip", "link", "set", name, "name", "mine0", "alias", "an operator's")
				s.h.MustRun("ip", "link", "set", "mine0", "up")
			}
		},
	}
	each(t, oneContainer(), func(s *scene) {
		for name, change := range changes {
			if name == "another MAC" && s.config.Type() == "host-device" {
				continue // what a tenant makes of a device stays with it
			}
			s.Run(name, func(t *testing.T) {
				t.Parallel()
				s := newScene(t, s.network)
				a := s.attach("ipam", single())
				before := s.h.Snapshot()
				r := a.MustAdd(t)
				change(s, a, r)
				a.MustDel(t)
				s.clean(before)
				next := s.attach("ipam", single())
				s.healthy(next, next.MustAdd(t))
				next.MustDel(t)
			})
		}
	})
}

// TestCase29TunedDeviceComesBackAsItWas: a device that was renamed in the
// container came back with the container's values.
func TestCase29TunedDeviceComesBackAsItWas(t *testing.T) {
	t.Parallel()
	for name, names := range map[string][]string{
		"renamed": {"link set eth0 down", "link set eth0 name mine0"},
		"swapped": {"link set eth0 down", "link add mine0 type veth peer name mine1", "link set eth0 name swap0",
			"link set mine0 name eth0", "link set swap0 name mine0"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScene(t, network{"host-device", hostDevice("ipam", single()), "eth0"})
			a := s.h.Attach(s.dir, base("tuning", values()...), "eth0")
			a.Before = []host.Config{s.config}
			before := s.h.Snapshot()
			show := func() string { return s.h.MustRun("ip", "-d", "-o", "link", "show", "ens5") }
			was := show()
			a.MustAdd(t)
			for _, c := range names {
				s.h.MustRunIn(a.Netns, "ip", strings.Fields(c)...)
			}
			a.MustDel(t)
			s.clean(before)
			if now := show(); fields(now) != fields(was) {
				t.Errorf("ens5 is\n%s\nit was\n%s", now, was)
			}
		})
	}
}

// fields are what tuning sets of a link, as ip shows them.
func fields(shown string) string {
	var kept []string
	all := strings.Fields(shown)
	for i, f := range all[:len(all)-1] {
		switch f {
		case "mtu", "qlen", "link/ether", "promiscuity", "allmulti":
			kept = append(kept, f, all[i+1])
		}
	}
	return strings.Join(kept, " ")
}
