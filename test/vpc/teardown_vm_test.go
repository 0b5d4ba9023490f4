//go:build vmtest

package vpc

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/containernetworking/cni/libcni"

	"github.com/fairlead-net/fairlead/test/host"
)

// both are attachments in either mode, IPv4 and IPv6, with a segment.
func both(t *testing.T, f func(t *testing.T, h *host.Host, c host.Config)) {
	t.Helper()
	for _, mode := range []string{"veth", "tap"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			f(t, host.New(t), conf("blue", "web", "mode", mode, "ipam", addresses("10.1.0.5/24", "fd00:1::5/64"), "srv6", map[string]any{
				"locator": "fc00:0:1::/48", "source": "2001:db8::1",
				"remotes": []any{map[string]any{"prefix": "10.1.1.0/24", "sid": "fc00:0:2::1"}},
			}))
		})
	}
}

// TestCase15LateDEL: of a container that was replaced, by one with the same
// attachment and the same addresses, before its DEL came.
func TestCase15LateDEL(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, h *host.Host, c host.Config) {
		before := h.Snapshot()
		old, next := attach(t, h, c), attach(t, h, c)
		old.MustAdd(t)
		r := next.MustAdd(t)
		healthy(t, next, r)
		within := h.SnapshotIn(next.Netns)
		for range 2 {
			old.MustDel(t)
			healthy(t, next, r)
		}
		h.DeleteNetns(old.Netns)
		old.MustDel(t)
		healthy(t, next, r)
		if d := host.Diff(within, h.SnapshotIn(next.Netns)); len(d) > 0 {
			t.Errorf("the replacement is not as before:\n%s", strings.Join(d, "\n"))
		}
		next.MustDel(t)
		h.DeleteNetns(next.Netns)
		h.SameSoon(t, before, stays)
	})
}

// TestCase16LeaseOutlivesTheLink: while the address is given back, neither the
// link nor the address is there.
func TestCase16LeaseOutlivesTheLink(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, h *host.Host, c host.Config) {
		for name, del := range map[string]func(host.Attachment) host.Attachment{
			"DEL":                   func(a host.Attachment) host.Attachment { return a },
			"DEL without a journal": func(a host.Attachment) host.Attachment { h.RemoveAll("/run/fairlead"); return a },
			"DEL without CNI_NETNS": func(a host.Attachment) host.Attachment { return a.WithEnv("CNI_NETNS", "") },
		} {
			records := t.TempDir()
			a := attach(t, h, c.With("ipam", map[string]any{"type": "recorder"}, "recorder", map[string]any{
				"dir": records, "look": true, "result": map[string]any{
					"ips": []any{map[string]any{"address": "10.1.0.5/24", "gateway": "10.1.0.1"}},
				}}))
			a.Path += ":" + host.Recorder(t)
			a.MustAdd(t)
			del(a).MustDel(t)
			got := host.Records(t, records, "DEL")
			if len(got) != 1 {
				t.Fatalf("%s: %d DELs", name, len(got))
			}
			for _, l := range append(got[0].Host, got[0].Container...) {
				link, _ := l["ifname"].(string)
				if strings.HasPrefix(link, "veth") || strings.HasPrefix(link, "vg") || strings.HasPrefix(link, "tap") || link == "eth0" {
					t.Errorf("%s: %s was there while the address was given back", name, link)
				}
			}
		}
	})
}

// TestDELWithout what a runtime may not have, or not have any more: all is gone
// afterwards, and again.
func TestDELWithout(t *testing.T) {
	t.Parallel()
	for name, without := range map[string]func(*host.Host, host.Attachment) host.Attachment{
		"namespace": func(h *host.Host, a host.Attachment) host.Attachment { h.DeleteNetns(a.Netns); return a },
		"namespace and journal": func(h *host.Host, a host.Attachment) host.Attachment {
			h.DeleteNetns(a.Netns)
			h.RemoveAll("/run/fairlead")
			return a
		},
		"CNI_NETNS": func(_ *host.Host, a host.Attachment) host.Attachment { return a.WithEnv("CNI_NETNS", host.Unset) },
		"a file that is a namespace": func(h *host.Host, a host.Attachment) host.Attachment {
			h.DeleteNetns(a.Netns)
			h.WriteFile(a.Netns, "stale")
			return a
		},
		"journal": func(h *host.Host, a host.Attachment) host.Attachment { h.RemoveAll("/run/fairlead"); return a },
		"CNI_PATH": func(_ *host.Host, a host.Attachment) host.Attachment {
			return a.WithEnv("CNI_PATH", host.Unset)
		},
		"the VRF": func(h *host.Host, a host.Attachment) host.Attachment {
			h.MustRun("ip", "link", "del", "vpc-blue")
			return a
		},
		"a valid srv6 section": func(_ *host.Host, a host.Attachment) host.Attachment {
			return a.WithConfig("srv6", map[string]any{"locator": "none"})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			both(t, func(t *testing.T, h *host.Host, c host.Config) {
				before := h.Snapshot()
				a := attach(t, h, c)
				a.MustAdd(t)
				b := without(h, a)
				for range 2 {
					b.MustDel(t)
				}
				h.RemoveNetns(a.Netns)
				h.SameSoon(t, before, stays, func(f host.Fact) bool { return f.Name == a.Netns })
			})
		})
	}
}

// TestCase07ADDFails: at a later step, or because of another's thing; and
// nothing of it is left, while the other attachment of the VPC goes on.
func TestCase07ADDFails(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(*host.Host, host.Attachment) host.Attachment{
		"no gateway": func(_ *host.Host, a host.Attachment) host.Attachment {
			return a.WithConfig("ipam", map[string]any{"type": "static", "addresses": []any{map[string]any{"address": "10.1.0.6/24"}}})
		},
		"address of another": func(_ *host.Host, a host.Attachment) host.Attachment { return a },
		"another's source": func(_ *host.Host, a host.Attachment) host.Attachment {
			return a.WithConfig("ipam", addresses("10.1.0.6/24"), "srv6", map[string]any{
				"locator": "fc00:0:1::/48", "source": "2001:db8::2", "remotes": []any{map[string]any{"prefix": "10.1.1.0/24", "sid": "fc00:0:2::1"}}})
		},
		"another table": func(_ *host.Host, a host.Attachment) host.Attachment {
			return a.WithConfig("ipam", addresses("10.1.0.6/24"), "table", 77)
		},
		"another VPC with its number": func(_ *host.Host, a host.Attachment) host.Attachment {
			return a.WithConfig("vpc", "red", "ipam", addresses("10.1.0.6/24"), "srv6", map[string]any{"locator": "fc00:0:1::/48", "function": 0x16477688})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			both(t, func(t *testing.T, h *host.Host, c host.Config) {
				first := attach(t, h, c)
				r := first.MustAdd(t)
				a := spoil(h, attach(t, h, c.With("attachment", "db")))
				before := h.Snapshot()
				if o := a.Call("ADD"); o.OK() {
					t.Errorf("ADD succeeded: %s", o.Stdout)
				}
				h.Same(t, before, stays)
				healthy(t, first, r)
				a.MustDel(t)
				h.Same(t, before, stays)
				healthy(t, first, r)
			})
		})
	}
}

// TestSeveralInterfacesOfOnePod: two in one VPC, one in another that has the
// same addresses; each goes alone, in whatever order.
func TestSeveralInterfacesOfOnePod(t *testing.T) {
	t.Parallel()
	for _, order := range [][]int{{0, 1, 2}, {2, 1, 0}, {1, 2, 0}} {
		t.Run(fmt.Sprint(order), func(t *testing.T) {
			t.Parallel()
			h := host.New(t)
			before := h.Snapshot()
			var all []host.Attachment
			var results []host.Result
			for i, c := range []host.Config{
				conf("blue", "pod-0", "ipam", addresses("10.1.0.5/24")),
				conf("blue", "pod-1", "ipam", addresses("10.1.0.6/24")),
				conf("red", "pod-0", "ipam", addresses("10.1.0.5/24")),
			} {
				// One default route is enough.
				if i > 0 {
					delete(c["ipam"].(map[string]any), "routes")
				}
				a := attach(t, h, c)
				if i > 0 {
					h.DeleteNetns(a.Netns)
					a.Container, a.Netns = all[0].Container, all[0].Netns
				}
				a.IfName = fmt.Sprintf("eth%d", i)
				if i == 2 {
					// The same network is there by eth0.
					a = a.WithConfig("ipam", addresses("10.2.0.5/24"))
					delete(a.Config["ipam"].(map[string]any), "routes")
				}
				all, results = append(all, a), append(results, a.MustAdd(t))
			}
			for n, i := range order {
				all[i].MustDel(t)
				all[i].MustDel(t)
				for _, j := range order[n+1:] {
					healthy(t, all[j], results[j])
				}
			}
			h.DeleteNetns(all[0].Netns)
			h.SameSoon(t, before, stays)
		})
	}
}

// TestGC: what a dead container left goes, whatever is on the host of it; what
// lives stays, listed or not.
func TestGC(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, h *host.Host, c host.Config) {
		before := h.Snapshot()
		dead, alive := attach(t, h, c), attach(t, h, c.With("attachment", "db", "ipam", addresses("10.1.0.6/24")))
		dead.MustAdd(t)
		r := alive.MustAdd(t)
		h.DeleteNetns(dead.Netns)
		if o := alive.GC(); !o.OK() {
			t.Errorf("GC: %s%s", o.Stdout, o.Stderr)
		}
		healthy(t, alive, r)
		if out := h.MustRun("ip", "-d", "link"); strings.Contains(out, dead.Container+"/eth0") {
			t.Errorf("left of the dead:\n%s", out)
		}
		h.RemoveAll("/run/fairlead")
		if o := alive.WithEnv("FAIRLEAD_GC_FORCE", "1").GC(); !o.OK() {
			t.Errorf("forced GC: %s%s", o.Stdout, o.Stderr)
		}
		if out := h.MustRun("ip", "-d", "link"); strings.Contains(out, "/eth0") {
			t.Errorf("left of what was not listed:\n%s", out)
		}
		alive.MustDel(t)
		h.DeleteNetns(alive.Netns)
		h.SameSoon(t, before, stays)
	})
}

// TestCase22STATUS: VRFs that share a table keep segments from working.
func TestCase22STATUS(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, h *host.Host, c host.Config) {
		a := attach(t, h, c)
		if o := a.Status(); !o.OK() {
			t.Errorf("%s%s", o.Stdout, o.Stderr)
		}
		h.MustRun("ip", "link", "add", "one", "type", "vrf", "table", "7")
		h.MustRun("ip", "link", "add", "two", "type", "vrf", "table", "7")
		if o := a.Status(); o.OK() || o.Error(t).Code != 50 || !strings.Contains(o.Error(t).Error(), "two") {
			t.Errorf("%s", o.Stdout)
		}
		if o := a.Call("ADD"); o.OK() {
			t.Error("STATUS was wrong")
		}
		if o := a.WithConfig("srv6", nil).Status(); !o.OK() {
			t.Errorf("without segments: %s", o.Stdout)
		}
	})
}

// TestChained: later plugins of a list change the interface, its MAC address
// among all else, and CHECK and the traffic go along.
func TestChained(t *testing.T) {
	t.Parallel()
	h := host.New(t)
	before := h.Snapshot()
	list, err := libcni.NetworkConfFromBytes([]byte(`{"cniVersion": "1.0.0", "name": "net-blue", "plugins": [
		{"type": "vpc", "vpc": "blue", "attachment": "a", "ipam": {
			"type": "host-local", "ranges": [[{"subnet": "10.1.0.0/24"}], [{"subnet": "fd00:1::/64"}]], "routes": [{"dst": "0.0.0.0/0"}, {"dst": "::/0"}]}},
		{"type": "tuning", "mac": "02:00:5e:00:53:77", "mtu": 1300},
		{"type": "sbr"}
	]}`))
	if err != nil {
		t.Fatal(err)
	}
	c, ctx := h.Libcni(host.Build(t)), context.Background()
	one := &libcni.RuntimeConf{ContainerID: "chained", NetNS: h.Netns("chained"), IfName: "eth0"}
	if _, err := c.AddNetworkList(ctx, list, one); err != nil {
		t.Fatal(err)
	}
	plain := attach(t, h, conf("blue", "b", "ipam", addresses("10.1.0.200/24", "fd00:1::200/64")))
	plain.MustAdd(t)
	for _, address := range []string{"10.1.0.2", "fd00:1::2"} {
		if _, err := h.Reach(plain.Netns, one.NetNS, address); err != nil {
			t.Errorf("%v\n%s", err, h.MustRun("ip", "neighbour"))
		}
	}
	if err := c.CheckNetworkList(ctx, list, one); err != nil {
		t.Errorf("CHECK: %v", err)
	}
	plain.MustDel(t)
	if err := c.DelNetworkList(ctx, list, one); err != nil {
		t.Errorf("DEL: %v", err)
	}
	h.RemoveNetns(one.NetNS)
	h.RemoveNetns(plain.Netns)
	h.SameSoon(t, before, stays)
}
