//go:build vmtest

package switching

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/containernetworking/cni/libcni"

	"github.com/fairlead-net/fairlead/test/host"
)

// vrfNetwork is a list of macvlan and vrf.
func vrfNetwork(t *testing.T, n int) *libcni.NetworkConfigList {
	t.Helper()
	list, err := libcni.ConfListFromBytes(fmt.Appendf(nil, `{
		"cniVersion": "1.0.0", "name": "net-red%d",
		"plugins": [
			{"type": "macvlan", "master": "eth1", "ipam": {"type": "static", "addresses": [
				{"address": "198.51.10%d.10/24", "gateway": "198.51.10%d.1"},
				{"address": "2001:db8:%d::10/64", "gateway": "2001:db8:%d::1"}]}},
			{"type": "vrf", "vrfname": "red"}
		]}`, n, n, n, n, n))
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// TestRule13VRFChain: of three networks of one container that share a VRF, the
// first two are from before the change, the third from after it. The VRF stays
// until the last goes.
func TestRule13VRFChain(t *testing.T) {
	t.Parallel()
	for _, d := range directions(t) {
		for _, journal := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s to %s, journal %t", d[0].name, d[1].name, journal), func(t *testing.T) {
				t.Parallel()
				h := host.New(t)
				h.MustRun("ip", "link", "add", "eth1", "type", "dummy")
				h.MustRun("ip", "link", "set", "eth1", "up")
				before := h.Snapshot()
				netns, cache, ctx := h.Netns("c"), t.TempDir(), context.Background()
				var suites []*libcni.CNIConfig
				for _, s := range d {
					suites = append(suites, libcni.NewCNIConfigWithCacheDir([]string{s.dir}, cache, h.Exec()))
				}
				from, to := suites[0], suites[1]
				rt := func(n int) *libcni.RuntimeConf {
					return &libcni.RuntimeConf{ContainerID: "c", NetNS: netns, IfName: fmt.Sprintf("net%d", n)}
				}
				add := func(c *libcni.CNIConfig, n int) {
					if _, err := c.AddNetworkList(ctx, vrfNetwork(t, n), rt(n)); err != nil {
						t.Fatalf("ADD of net%d: %v", n, err)
					}
				}
				check := func(n int) {
					// The reference suite's macvlan looks for a default route by
					// each gateway in the main table only: its CHECK of its own
					// work fails too.
					if d[1].name == "reference" {
						return
					}
					if err := to.CheckNetworkList(ctx, vrfNetwork(t, n), rt(n)); err != nil {
						t.Errorf("CHECK of net%d: %v", n, err)
					}
				}
				del := func(n int, left ...string) {
					if err := to.DelNetworkList(ctx, vrfNetwork(t, n), rt(n)); err != nil {
						t.Errorf("DEL of net%d: %v", n, err)
					}
					if got := linkNames(h.SnapshotIn(netns)); got != strings.Join(append([]string{"lo"}, left...), " ") {
						t.Errorf("after the DEL of net%d there are %s", n, got)
					}
				}
				add(from, 1)
				add(from, 2)
				check(1)
				check(2)
				add(to, 3)
				check(1)
				check(3)
				if !journal {
					h.RemoveAll("/run/fairlead")
				}
				del(1, "net2", "net3", "red")
				check(3)
				del(2, "net3", "red")
				del(3)
				del(3)
				h.DeleteNetns(netns)
				h.Same(t, before, host.Standing, books)
			})
		}
	}
}

func linkNames(p host.Picture) string {
	var names []string
	for _, l := range p.Of("link") {
		names = append(names, l.Name)
	}
	return strings.Join(names, " ")
}
