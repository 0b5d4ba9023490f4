//go:build vmtest

package race

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fairlead-net/fairlead/test/host"
)

// chain is a container in the network of macvlan and vrf, called plugin by
// plugin.
type chain struct {
	h       *host.Host
	macvlan host.Attachment
	vrf     host.Attachment
}

func vrfConfig(pairs ...any) host.Config {
	return host.Config{"cniVersion": "1.1.0", "name": "net-red", "type": "vrf", "vrfname": "red", "table": 1001}.With(pairs...)
}

func newHost(t *testing.T) *host.Host {
	t.Helper()
	h := host.New(t)
	h.MustRun("ip", "link", "add", "eth1", "type", "dummy")
	h.MustRun("ip", "link", "set", "eth1", "up")
	return h
}

// newChain adds the container to macvlan; the vrf plugin has not been called.
func newChain(t *testing.T, h *host.Host, vrf host.Config) *chain {
	t.Helper()
	c := &chain{h: h}
	c.macvlan = h.Attach(host.Build(t), host.Config{
		"cniVersion": "1.1.0", "name": "net-red", "type": "macvlan", "master": "eth1",
		"ipam": map[string]any{
			"type": "static", "addresses": []any{
				map[string]any{"address": "198.51.100.10/24", "gateway": "198.51.100.1"},
				map[string]any{"address": "2001:db8:51::10/64", "gateway": "2001:db8:51::1"},
			},
			"routes": []any{map[string]any{"dst": "0.0.0.0/0"}, map[string]any{"dst": "::/0"}, map[string]any{"dst": "10.9.0.0/16", "priority": 70}},
		},
	}, "net1")
	r := c.macvlan.MustAdd(t)
	c.vrf = c.macvlan
	c.vrf.Config = vrf.With("prevResult", r)
	return c
}

func (c *chain) ip(args ...string) string {
	return c.h.MustRunIn(c.macvlan.Netns, "ip", args...)
}

// clean fails the test when the container has more than lo.
func (c *chain) clean(t *testing.T) {
	t.Helper()
	for _, l := range c.h.SnapshotIn(c.macvlan.Netns).Of("link") {
		if l.Name != "lo" {
			t.Errorf("the container has %s", l)
		}
	}
}

// TestCases01And02And03States: whatever became of VRF and interface between ADD
// and DEL, each DEL of the chain succeeds, the first time and again, with the
// journal and without.
func TestCases01And02And03States(t *testing.T) {
	t.Parallel()
	type change func(c *chain)
	run := func(commands ...string) change {
		return func(c *chain) {
			for _, command := range commands {
				c.ip(strings.Fields(command)...)
			}
		}
	}
	for name, s := range map[string]struct {
		change change
		stays  string // a link
	}{
		"healthy":     {change: run()},
		"VRF gone":    {change: run("link del red")},
		"member gone": {change: run("link del net1")},
		"both gone":   {change: run("link del red", "link del net1")},
		"member out":  {change: run("link set net1 nomaster")},
		"VRF of another kind": {
			change: run("link del red", "link add red type dummy"), stays: "red",
		},
		"namespace gone": {change: func(c *chain) { c.h.DeleteNetns(c.macvlan.Netns) }},
	} {
		for _, journal := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, journal %t", name, journal), func(t *testing.T) {
				t.Parallel()
				h := newHost(t)
				before := h.Snapshot()
				c := newChain(t, h, vrfConfig())
				c.vrf.MustAdd(t)
				s.change(c)
				if !journal {
					h.RemoveAll("/run/fairlead")
				}
				for range 2 {
					c.vrf.MustDel(t)
					c.macvlan.MustDel(t)
				}
				if name != "namespace gone" {
					if s.stays != "" {
						c.ip("link", "del", s.stays)
					}
					c.clean(t)
					h.DeleteNetns(c.macvlan.Netns)
				}
				h.SameSoon(t, before, host.Standing)
			})
		}
	}
}

// TestCase21CheckOfAChain: CHECK of both plugins passes on a healthy container,
// though the routes are not where macvlan made them, and fails, and says why,
// for each single thing that is changed.
func TestCase21CheckOfAChain(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	c := newChain(t, h, vrfConfig())
	r := c.vrf.MustAdd(t)
	both := func() (host.Outcome, host.Outcome) { return c.macvlan.Check(r), c.vrf.Check(r) }
	m, v := both()
	if !m.OK() || !v.OK() {
		t.Fatalf("healthy: %s%s", m.Stdout, v.Stdout)
	}
	for _, broken := range []struct {
		by, mend string // without mend the kernel drops more than that
		plugin   string
		says     string
	}{
		{"link set red down", "link set red up", "vrf", "red is down"},
		{"route del table 1001 10.9.0.0/16", "route add table 1001 10.9.0.0/16 via 198.51.100.1 dev net1 metric 70", "macvlan", "route"},
		{"-6 route del table 1001 default", "-6 route add table 1001 default via 2001:db8:51::1 dev net1", "macvlan", "route"},
		{"link set net1 nomaster", "", "vrf", "net1 is not in VRF red"},
		{"address del 198.51.100.10/24 dev net1", "", "macvlan", "address"},
	} {
		c.ip(strings.Fields(broken.by)...)
		a := c.macvlan
		if broken.plugin == "vrf" {
			a = c.vrf
		}
		if o := a.Check(r); o.OK() || !strings.Contains(o.Error(t).Error(), broken.says) {
			t.Errorf("%s: CHECK of %s: %s", broken.by, a.Config.Type(), o.Stdout)
		}
		if broken.mend != "" {
			c.ip(strings.Fields(broken.mend)...)
			continue
		}
		c.vrf.MustDel(t)
		c.macvlan.MustDel(t)
		c = newChain(t, h, vrfConfig())
		r = c.vrf.MustAdd(t)
	}
	c.ip("link", "del", "red")
	if o := c.vrf.Check(r); o.OK() {
		t.Error("CHECK passes without the VRF")
	}
}

// TestVRFTablesOfOneContainer: networks of one container share a VRF or get one
// of their own, and the last to leave takes it away, in any order.
func TestVRFTablesOfOneContainer(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	first := newChain(t, h, vrfConfig("table", nil))
	first.ip("route", "add", "unreachable", "default", "table", "2")
	first.ip("rule", "add", "table", "3")
	on := func(ifName string, pairs ...any) (m, v host.Attachment) {
		m = first.macvlan
		m.IfName, m.Config = ifName, m.Config.With("ipam", nil)
		v = m
		v.Config = vrfConfig("table", nil, "prevResult", m.MustAdd(t)).With(pairs...)
		return m, v
	}
	m2, second := on("net2")
	m3, third := on("net3", "vrfname", "blue")
	m4, fourth := on("net4", "table", 77)
	for _, v := range []host.Attachment{first.vrf, second, third} {
		v.MustAdd(t)
	}
	if o := fourth.Call("ADD"); o.OK() || !strings.Contains(o.Error(t).Error(), "table 1, want 77") {
		t.Errorf("another table: %s", o.Stdout)
	}
	for vrf, want := range map[string]string{"red": "table 1 ", "blue": "table 4 "} {
		if got := first.ip("-d", "link", "show", vrf); !strings.Contains(got, want) {
			t.Errorf("%s, want %s", got, want)
		}
	}
	if o := first.vrf.Call("ADD"); o.OK() {
		t.Error("ADD twice succeeds")
	}
	there := func(vrf string) bool { return strings.Contains(first.ip("-br", "link"), vrf+" ") }
	first.vrf.MustDel(t)
	first.macvlan.MustDel(t)
	if !there("red") || !there("blue") {
		t.Errorf("a VRF in use is gone: %s", first.ip("-br", "link"))
	}
	second.MustDel(t)
	third.MustDel(t)
	if there("red") || there("blue") {
		t.Errorf("a VRF that nobody uses is there: %s", first.ip("-br", "link"))
	}
	for _, m := range []host.Attachment{m2, m3, m4} {
		m.MustDel(t)
	}
	first.clean(t)
}

// TestChainNeedsPrevResult: a chained plugin alone is refused before anything is
// made.
func TestChainNeedsPrevResult(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	c := newChain(t, h, vrfConfig())
	for _, verb := range []string{"ADD", "CHECK"} {
		o := c.vrf.WithConfig("prevResult", nil).Call(verb)
		if e := o.Error(t); e.Code != 7 || !strings.Contains(e.Error(), "prevResult") {
			t.Errorf("%s: %s", verb, o.Stdout)
		}
	}
	c.vrf.WithConfig("prevResult", nil).MustDel(t)
	c.macvlan.MustDel(t)
	c.clean(t)
}
