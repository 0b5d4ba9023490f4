package cases

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fairlead-net/fairlead/test/host"
)

// A network is a configuration that the cases are tried on.
type network struct {
	name   string
	config host.Config
	ifName string
}

const netName = "net-c"

func hostLocal(subnets ...string) map[string]any {
	var ranges []any
	for _, s := range subnets {
		ranges = append(ranges, []any{map[string]any{"subnet": s}})
	}
	return map[string]any{
		"type": "host-local", "ranges": ranges,
		"routes": []any{map[string]any{"dst": "0.0.0.0/0"}},
	}
}

func base(plugin string, pairs ...any) host.Config {
	return host.Config{"cniVersion": "1.1.0", "name": netName, "type": plugin}.With(pairs...)
}

func bridge(pairs ...any) host.Config {
	return base("bridge", "bridge", "cni0", "isGateway", true, "ipam", hostLocal("10.55.0.0/24")).With(pairs...)
}

func ptp(pairs ...any) host.Config {
	return base("ptp", "ipam", hostLocal("10.55.0.0/24")).With(pairs...)
}

func macvlan(pairs ...any) host.Config {
	return base("macvlan", "master", "ens5", "ipam", hostLocal("10.55.0.0/24")).With(pairs...)
}

// interfaces are networks of plugins that make an interface and call an IPAM
// plugin, with all that they can own beside.
func interfaces() []network {
	dual := hostLocal("10.55.0.0/24", "fd00:55::/64")
	return []network{
		{"bridge", bridge(), "eth0"},
		{"bridge masquerade", bridge("ipMasq", true), "eth0"},
		{"bridge masquerade nftables", bridge("ipMasq", true, "ipMasqBackend", "nftables"), "eth0"},
		{"bridge masquerade iptables", bridge("ipMasq", true, "ipMasqBackend", "iptables"), "eth0"},
		{"bridge masquerade dual stack", bridge("ipMasq", true, "ipam", dual), "eth0"},
		{"bridge anti-spoof", bridge("macspoofchk", true), "eth0"},
		{"ptp", ptp(), "eth0"},
		{"ptp masquerade", ptp("ipMasq", true), "eth0"},
		{"ptp masquerade iptables", ptp("ipMasq", true, "ipMasqBackend", "iptables"), "eth0"},
		{"ptp masquerade dual stack", ptp("ipMasq", true, "ipam", dual), "eth0"},
		{"macvlan", macvlan(), "eth0"},
		{"tap", base("tap", "ipam", hostLocal("10.55.0.0/24")), "eth0"},
	}
}

// oneContainer is interfaces, and those of which one container can have one at
// a time.
func oneContainer() []network {
	return append(interfaces(),
		network{"host-device", hostDevice(), "eth0"},
		network{"host-device dual stack", hostDevice("ipam", hostLocal("10.55.0.0/24", "fd00:55::/64")), "eth0"})
}

func hostDevice(pairs ...any) host.Config {
	return base("host-device", "device", "ens5", "ipam", hostLocal("10.55.0.0/24")).With(pairs...)
}

// plain are one network of each plugin.
func plain() []network {
	return []network{
		{"loopback", base("loopback"), "lo"},
		{"bridge", bridge("ipMasq", true), "eth0"},
		{"ptp", ptp("ipMasq", true), "eth0"},
		{"macvlan", macvlan(), "eth0"},
		{"tap", base("tap", "ipam", hostLocal("10.55.0.0/24")), "eth0"},
		{"host-local", base("host-local", "ipam", hostLocal("10.55.0.0/24")), "eth0"},
		{"static", base("static", "ipam", map[string]any{
			"type": "static", "addresses": []any{map[string]any{"address": "10.55.0.9/24"}}}), "eth0"},
	}
}

// everything is interfaces, and those of plain that make none.
func everything() []network {
	return append(interfaces(), slices.DeleteFunc(plain(), func(n network) bool {
		return slices.Contains([]string{"bridge", "ptp", "macvlan", "tap"}, n.config.Type())
	})...)
}

func plugins(t testing.TB) string {
	t.Helper()
	if dir := os.Getenv("FAIRLEAD_CONFORMANCE_DIR"); dir != "" {
		return dir
	}
	return host.Build(t)
}

// A scene is a host with one network.
type scene struct {
	*testing.T
	network
	h   *host.Host
	dir string
}

func newScene(t *testing.T, n network) *scene {
	t.Helper()
	h := host.New(t)
	for _, key := range []string{"master", "device"} {
		if name, ok := n.config[key].(string); ok {
			nic(h, name)
		}
	}
	return &scene{T: t, network: n, h: h, dir: plugins(t)}
}

// nic makes an interface that the host has before.
func nic(h *host.Host, name string) {
	h.MustRun("ip", "link", "add", name, "type", "veth", "peer", "name", name+"-far")
	h.MustRun("ip", "link", "set", name, "up")
	h.MustRun("ip", "link", "set", name+"-far", "up")
}

// each runs f for every network, on a host of its own.
func each(t *testing.T, list []network, f func(*scene)) {
	t.Parallel()
	for _, n := range list {
		t.Run(n.name, func(t *testing.T) {
			t.Parallel()
			f(newScene(t, n))
		})
	}
}

func (s *scene) attach(pairs ...any) host.Attachment {
	s.Helper()
	return s.h.Attach(s.dir, s.config.With(pairs...), s.ifName)
}

// recorded is attach with the recorder as delegate.
func (s *scene) recorded(instructions ...any) (a host.Attachment, records string) {
	s.Helper()
	records = s.TempDir()
	do := host.Config{"dir": records, "result": map[string]any{
		"ips": []any{map[string]any{"address": "10.55.0.5/24", "gateway": "10.55.0.1"}},
	}}.With(instructions...)
	a = s.attach("ipam", map[string]any{"type": "recorder"}, "recorder", do)
	a.Path = s.dir + string(filepath.ListSeparator) + host.Recorder(s)
	return a, records
}

func refuses(verbs ...string) map[string]any {
	errors := map[string]any{}
	for _, v := range verbs {
		errors[v] = map[string]any{"code": 113, "msg": "the recorder refuses " + v}
	}
	return errors
}

func (s *scene) clean(before host.Picture) {
	s.Helper()
	s.h.Same(s, before, host.Standing, host.Bridge("cni0"))
}

func (s *scene) cleanSoon(before host.Picture) {
	s.Helper()
	s.h.SameSoon(s, before, host.Standing, host.Bridge("cni0"))
}

// untouched fails the test when a container is not as before.
func (s *scene) untouched(a host.Attachment, before host.Picture) {
	s.Helper()
	if d := host.Diff(before, s.h.SnapshotIn(a.Netns)); len(d) > 0 {
		s.Errorf("the container is not as before:\n\t%s", strings.Join(d, "\n\t"))
	}
}

func (s *scene) healthy(a host.Attachment, r host.Result) {
	s.Helper()
	if o := a.Check(r); !o.OK() {
		s.Errorf("CHECK of %s: %s%s", a.Container, o.Stdout, o.Stderr)
	}
}

// fails fails the test unless the call failed with one of the codes, if any is
// given, and returns the message.
func (s *scene) fails(what string, o host.Outcome, codes ...uint) string {
	s.Helper()
	if o.OK() {
		s.Errorf("%s: succeeded and should not: %s", what, o.Stdout)
		return ""
	}
	e := o.Error(s)
	for _, c := range codes {
		if e.Code == c {
			return e.Error()
		}
	}
	if len(codes) > 0 {
		s.Errorf("%s: code %d (%s), want %d", what, e.Code, e.Error(), codes)
	}
	return e.Error()
}

func lease(address string) string { return "/var/lib/cni/networks/" + netName + "/" + address }
