package host

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/containernetworking/cni/libcni"
	"golang.org/x/sys/unix"
)

func inode(t *testing.T, path string) uint64 {
	t.Helper()
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil {
		t.Fatal(err)
	}
	return st.Ino
}

func TestHostsAreApart(t *testing.T) {
	t.Parallel()
	machine := inode(t, "/proc/thread-self/ns/net")
	var mu sync.Mutex
	seen := map[uint64]bool{machine: true}
	var all sync.WaitGroup
	for range 8 {
		h := New(t)
		all.Go(func() {
			n := inode(t, h.NetnsPath())
			out, err := h.Command("stat", "-L", "-c", "%i", "/proc/self/ns/net").Output()
			if err != nil || strings.TrimSpace(string(out)) != fmt.Sprint(n) {
				t.Errorf("a command ran in namespace %q, %v; want %d", out, err, n)
			}
			mu.Lock()
			defer mu.Unlock()
			if seen[n] {
				t.Errorf("namespace %d twice", n)
			}
			seen[n] = true
		})
	}
	all.Wait()
	if now := inode(t, "/proc/thread-self/ns/net"); now != machine {
		t.Errorf("the test's thread is in another namespace")
	}
}

func TestHostHidesTheMachinesFiles(t *testing.T) {
	t.Parallel()
	h := New(t)
	h.WriteFile("/run/fairlead-test/mark", "x")
	h.WriteFile("/var/lib/fairlead-test/mark", "x")
	for _, path := range []string{"/run/fairlead-test", "/var/lib/fairlead-test"} {
		if _, err := os.Stat(path); !os.IsNotExist(err) {
			t.Errorf("%s is on the machine: %v", path, err)
		}
	}
	if s, ok := h.ReadFile("/run/fairlead-test/mark"); !ok || s != "x" {
		t.Errorf("read %q, %v", s, ok)
	}
	if _, ok := h.ReadFile("/run/none"); ok {
		t.Error("read a file that is not there")
	}
	if got := h.MustRun("ls", "/sys/class/net"); got != "lo\n" {
		t.Errorf("/sys shows %q, not this host's links", got)
	}
}

func TestSnapshotSeesEveryKindOfThing(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, command, want string }{
		{"link", "ip link add v0 type veth peer name v1", "link v0"},
		{"alias", "ip link set lo alias of-a-test", "alias=of-a-test"},
		{"address", "ip address add 192.0.2.1/24 dev lo", "address lo: local=192.0.2.1"},
		{"route", "ip route add blackhole 192.0.2.0/24", "dst=192.0.2.0/24"},
		{"IPv6 route", "ip route add blackhole 2001:db8::/64", "dst=2001:db8::/64"},
		{"route elsewhere", "ip route add blackhole 192.0.2.0/24 table 99", "table=99"},
		{"rule", "ip rule add from 192.0.2.1 table 99", "192.0.2.1"},
		{"IPv6 rule", "ip -6 rule add from 2001:db8::1 table 99", "2001:db8::1"},
		{"neighbour", "ip link add v0 type veth peer name v1; ip neigh add 192.0.2.9 lladdr 02:00:00:00:00:01 dev v0", "neighbour v0: dst=192.0.2.9"},
		{"nft", "nft add table inet x; nft add chain inet x c; nft add rule inet x c ip saddr 192.0.2.1 counter drop", "192.0.2.1"},
		{"nft element", "nft 'add table inet x; add set inet x s { type ipv4_addr; elements = { 192.0.2.1 } }'", "192.0.2.1"},
		{"iptables", "iptables-nft -A FORWARD -s 192.0.2.1 -j DROP", "192.0.2.1"},
		{"old iptables", "iptables-legacy -A FORWARD -s 192.0.2.1 -j DROP", "-A FORWARD -s 192.0.2.1/32 -j DROP"},
		{"old ip6tables", "ip6tables-legacy -A FORWARD -s 2001:db8::1 -j DROP", "2001:db8::1"},
		{"file", "mkdir -p /run/cni && echo x > /run/cni/y", "file /run/cni/y"},
		{"sysctl", "echo 1 > /proc/sys/net/ipv4/ip_forward", "sysctl net/ipv4/ip_forward: 1"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			h := New(t)
			before := h.Snapshot()
			if d := Diff(before, h.Snapshot()); len(d) != 0 {
				t.Fatalf("two pictures of one host differ: %q", d)
			}
			h.MustRun("sh", "-e", "-c", tc.command)
			d := Diff(before, h.Snapshot())
			if !slices.ContainsFunc(d, func(l string) bool {
				return strings.HasPrefix(l, "+ ") && strings.Contains(l, tc.want)
			}) {
				t.Errorf("no %q in %q", tc.want, d)
			}
		})
	}
}

func TestSnapshotIgnoresTraffic(t *testing.T) {
	t.Parallel()
	h := New(t)
	h.MustRun("sh", "-e", "-c", "nft 'add table inet x; add chain inet x c { type filter hook output priority 0; }; add rule inet x c counter accept'")
	before := h.Snapshot()
	if _, err := h.Reach("", "", "127.0.0.1"); err != nil {
		t.Fatal(err)
	}
	if d := Diff(before, h.Snapshot()); len(d) != 0 {
		t.Errorf("traffic changed the picture: %q", d)
	}
}

func TestNetnsOfAContainer(t *testing.T) {
	t.Parallel()
	h := New(t)
	before := h.Snapshot()
	path := h.Netns("of-a-host-test")
	if d := Diff(before, h.Snapshot()); len(d) != 2 {
		t.Errorf("a namespace is a file and a mount, got %q", d)
	}
	h.MustRunIn(path, "ip", "link", "add", "v0", "type", "veth", "peer", "name", "v1")
	if got := h.MustRun("ip", "-o", "link"); strings.Contains(got, "v0") {
		t.Errorf("the container's link is on the host: %s", got)
	}
	if got := h.SnapshotIn(path).Of("link"); len(got) != 3 {
		t.Errorf("links in the container: %v", got)
	}
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Errorf("%s is on the machine: %v", path, err)
	}
	h.DeleteNetns(path)
	h.Same(t, before)
}

func TestDo(t *testing.T) {
	t.Parallel()
	h := New(t)
	defer func() {
		if p := recover(); p != "over" {
			t.Errorf("recovered %v", p)
		}
		h.Do(func() {}) // still at work
	}()
	h.Do(func() { panic("over") })
}

func TestReferencePluginThroughLibcni(t *testing.T) {
	t.Parallel()
	h := New(t)
	e := h.Exec()
	c := h.LibcniWith(Reference(t), e)
	list, err := libcni.ConfListFromBytes([]byte(`{"cniVersion":"1.0.0","name":"n","plugins":[{"type":"loopback"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	rt := &libcni.RuntimeConf{ContainerID: "c1", NetNS: h.Netns("c1"), IfName: "lo"}
	if _, err := c.AddNetworkList(context.Background(), list, rt); err != nil {
		t.Fatal(err)
	}
	if err := c.DelNetworkList(context.Background(), list, rt); err != nil {
		t.Fatal(err)
	}
	list.CNIVersion, list.Plugins[0].Network.CNIVersion = "9.9.9", "9.9.9"
	if _, err := c.AddNetworkList(context.Background(), list, rt); err == nil {
		t.Error("version 9.9.9 was taken")
	}
	if n := len(e.Calls()); n < 3 {
		t.Errorf("%d calls remembered", n)
	}
}

func TestRecorder(t *testing.T) {
	t.Parallel()
	h := New(t)
	dir := t.TempDir()
	netns := h.Netns("c1")
	in, err := json.Marshal(map[string]any{"cniVersion": "1.0.0", "recorder": map[string]any{
		"dir": dir, "look": true, "stderr": "heard",
		"result": map[string]any{"ips": []any{map[string]any{"address": "192.0.2.5/24"}}},
		"errors": map[string]any{"CHECK": map[string]any{"code": 11, "msg": "later"}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	env := Env{"CNI_CONTAINERID": "c1", "CNI_NETNS": netns, "CNI_IFNAME": "eth0", "CNI_ARGS": Unset}
	add := h.RunPlugin(Recorder(t), "recorder", "ADD", env, string(in))
	if !add.OK() || !strings.Contains(add.Stdout, "192.0.2.5/24") || add.Stderr != "heard" {
		t.Errorf("ADD: %+v", add)
	}
	if check := h.RunPlugin(Recorder(t), "recorder", "CHECK", env, string(in)); check.Exit != 1 || !strings.Contains(check.Stdout, "later") {
		t.Errorf("CHECK: %+v", check)
	}
	all := Records(t, dir)
	if len(all) != 2 || all[0].Verb != "ADD" || len(Records(t, dir, "CHECK")) != 1 {
		t.Fatalf("records: %+v", all)
	}
	if v, ok := all[0].Get("CNI_NETNS"); !ok || v != netns {
		t.Errorf("CNI_NETNS %q", v)
	}
	if _, ok := all[0].Get("CNI_ARGS"); ok {
		t.Error("CNI_ARGS was left out, and there")
	}
	if len(all[0].Container) != 1 || len(all[0].Host) != 1 {
		t.Errorf("the recorder looked at %v and %v", all[0].Host, all[0].Container)
	}
}

func TestReboot(t *testing.T) {
	t.Parallel()
	h := New(t)
	const boot = "/proc/sys/kernel/random/boot_id"
	h.WriteFile("/run/fairlead/x", "")
	h.WriteFile("/var/lib/x", "")
	seen := map[string]bool{}
	for range 3 {
		id, _ := h.ReadFile(boot)
		if len(id) != 37 || seen[id] {
			t.Errorf("boot_id %q", id)
		}
		seen[id] = true
		h.Reboot()
	}
	if _, ok := h.ReadFile("/run/fairlead/x"); ok {
		t.Error("/run outlived the reboot")
	}
	if _, ok := h.ReadFile("/var/lib/x"); !ok {
		t.Error("/var/lib did not outlive the reboot")
	}
	if b, err := os.ReadFile(boot); err != nil || seen[string(b)] != true {
		t.Errorf("the machine's own boot_id changed: %q, %v", b, err)
	}
}
