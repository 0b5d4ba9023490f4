package oracle

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/fairlead-net/fairlead/lab/host"
)

// attach attaches a container to a bridge, as a plugin would: some of it named
// after the container, some by chance.
func attach(id, vethName string) step {
	return func(h *host.Host) error {
		if _, err := h.AddNetns(id); err != nil {
			return err
		}
		return run(
			"ip link add br0 type bridge", "ip link set br0 up", "ip addr add 10.1.0.1/24 dev br0",
			"ip link add "+vethName+" type veth peer name eth0 netns "+id, "ip link set "+vethName+" master br0 up",
			"ip -n "+id+" link set lo up", "ip -n "+id+" link set eth0 up",
			"ip -n "+id+" addr add 10.1.0.2/24 dev eth0", "ip -n "+id+" addr add 2001:db8::2/64 dev eth0",
			"ip -n "+id+" route add default via 10.1.0.1",
			"nft add table ip t", "nft add chain ip t post {_type_nat_hook_postrouting_priority_100_;_}",
			`nft add rule ip t post ip saddr 10.1.0.2 counter masquerade comment "`+id+`"`,
			"sysctl -q -w net/ipv4/conf/"+vethName+"/rp^filter=0",
			"cp /sys/class/net/"+vethName+"/address /run/"+id,
		)(h)
	}
}

func normal(id string) Options {
	veth := regexp.MustCompile(`\bveth[0-9a-f]{8}\b`)
	return Options{Replace: func(s string) string {
		return veth.ReplaceAllString(strings.ReplaceAll(s, id, "CONTAINER"), "veth*")
	}}
}

// TestSameTwice: of the same thing done in two hosts two equal pictures are taken,
// whatever the kernel draws and whoever was there before.
func TestSameTwice(t *testing.T) {
	t.Parallel()
	one, two := newHost(t), newHost(t)
	do(t, two, run("ip link add other type veth peer name another", "ip link del other")) // other indexes
	do(t, one, attach("c-first", "veth00000001"))
	do(t, two, attach("c-second", "vethffffffff"))
	p, q := look(t, one, normal("c-first")), look(t, two, normal("c-second"))
	if d := Diff(p, q); !d.Empty() {
		t.Errorf("%s", d)
	}
	if !slices.Equal(p.Items(), q.Items()) {
		t.Error("the items differ")
	}
	if d := Diff(look(t, one, Options{}), look(t, two, Options{})); d.Empty() {
		t.Error("the names do not differ")
	}
	for _, want := range []string{
		"host: link veth*: veth mac=drawn up peer=eth0@CONTAINER mtu=1500 master=br0",
		"CONTAINER: link eth0: veth mac=drawn up peer=veth*@host",
		`host: file /run/CONTAINER: "(mac of veth*)\n"`,
		`host: nft ip t post: ip saddr 10.1.0.2 counter masquerade comment "CONTAINER"`,
		"host: namespace CONTAINER: mount /run/netns/CONTAINER",
	} {
		if !slices.ContainsFunc(p.Items(), func(i Item) bool {
			return strings.HasPrefix("host: "+i.String(), want) || strings.HasPrefix(i.String(), want)
		}) {
			t.Errorf("nothing is %q in\n%s", want, p)
		}
	}
}

// TestMACs: one that the kernel drew again is no change, nor that what was drawn
// is set as it is; another one is.
func TestMACs(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	const add = "ip link add v0 type veth peer name v1"
	do(t, h, run(add))
	before := look(t, h, Options{})
	drawn, err := h.Output(h.Command("cat", "/sys/class/net/v0/address"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		does string
		step step
		same bool
	}{
		{"set to what it was", run("ip link set v0 address " + strings.TrimSpace(string(drawn))), true},
		{"set to another", run("ip link set v0 address 02:00:00:00:00:01"), false},
		{"made again", run("ip link del v0", add), true},
	} {
		do(t, h, c.step)
		if d := Diff(before, look(t, h, Options{})); d.Empty() != c.same {
			t.Errorf("%s: %q", c.does, d)
		}
	}
}

// TestNamespaces: a namespace that nothing names is found by what holds it, with
// what is in it; of what every namespace has nothing is told.
func TestNamespaces(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	before := look(t, h, Options{})
	held := h.Command("unshare", "-n", "sh", "-c", "ip link add b0 type bridge; exec sleep 1000")
	if err := h.Start(held); err != nil {
		t.Fatal(err)
	}
	path, err := h.AddNetns("c1")
	if err != nil {
		t.Fatal(err)
	}
	do(t, h, run("ip -n c1 link add b1 type bridge"))
	open := h.Command("sleep", "1001")
	h.Do(func() {
		var f *os.File
		if f, err = os.Open(path); err == nil {
			open.ExtraFiles = []*os.File{f}
			err = open.Start()
			f.Close()
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := h.RemoveNetns("c1"); err != nil {
		t.Fatal(err)
	}
	const want = `+ namespace unnamed (descriptor of sleep): descriptor of sleep
+ namespace unnamed (process sleep): process sleep
+ process sleep 1000
+ process sleep 1001
+ unnamed (descriptor of sleep): link b1: bridge mac=drawn mtu=1500 txqlen=1000
+ unnamed (process sleep): link b0: bridge mac=drawn mtu=1500 txqlen=1000
`
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	last, ok, err := Until(ctx, h, Options{}, func(p Picture) bool { return Diff(before, p).String() == want })
	if err != nil || !ok {
		t.Errorf("%v, %v\n%s", ok, err, Diff(before, last))
	}
	for _, c := range []*os.Process{held.Process, open.Process} {
		if err := c.Kill(); err != nil {
			t.Fatal(err)
		}
	}
	_, _ = held.Wait(), open.Wait()
	last, ok, err = Until(ctx, h, Options{}, func(p Picture) bool { return Diff(before, p).Empty() })
	if err != nil || !ok {
		t.Errorf("when all have ended: %v, %v\n%s", ok, err, Diff(before, last))
	}
}

// TestCovered: a namespace that is mounted where one can't get at it is told.
func TestCovered(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	path, err := h.AddNetns("c1")
	if err != nil {
		t.Fatal(err)
	}
	do(t, h, on(func() error { return unix.Mount("none", "/run/netns", "tmpfs", 0, "") }))
	got := look(t, h, Options{}).Of("namespace")
	if want := (Item{"namespace", "host", "c1", "mount " + path + " (covered: no way in)"}); len(got) != 1 || got[0] != want {
		t.Errorf("%v", got)
	}
}

// TestDamage: what a host has from the beginning, and has no more, is told.
func TestDamage(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	before := look(t, h, Options{})
	do(t, h, run("ip rule del pref 32766", "ip link set lo down"), on(func() error { return unix.Unmount("/sys", 0) }))
	const want = `- address ::1/128 dev lo: proto=1 scope=host
- rule inet 32766: lookup main proto=kernel
+ mount /sys: unmounted
~ link lo: device mtu=65536 txqlen=1000, was device up mtu=65536 txqlen=1000
`
	got := Diff(before, look(t, h, Options{})).String()
	if strings.ReplaceAll(got, "proto=1 ", "") != strings.ReplaceAll(want, "proto=1 ", "") {
		t.Errorf("%s", got)
	}
}

// TestOptions: further trees and settings, and files whose content means nothing.
func TestOptions(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	dir := t.TempDir()
	o := Options{Trees: []string{dir, dir + "/none"}, Sysctls: []string{"ipv4/ip_default_ttl", "none"}, Opaque: []string{"/run/log", "/run/d/**"}}
	do(t, h, run("mkdir -p /run/d/e"), write("/run/log", "1"), write("/run/d/e/x", "1"), write("/run/x", "1"))
	before := look(t, h, o)
	do(t, h, run("sysctl -q -w net/ipv4/ip^default^ttl=77"), write(dir+"/y", "1"), write("/run/log", "2"), write("/run/d/e/x", "2"), write("/run/x", "2"))
	got := Diff(before, look(t, h, o)).String()
	want := fmt.Sprintf("+ file %s/y: \"1\"\n~ file /run/x: \"2\", was \"1\"\n~ sysctl net/ipv4/ip_default_ttl: 77, was 64\n", dir)
	if got != want {
		t.Errorf("%s", got)
	}
}

// TestLookFails: without /proc nothing can be known, and nothing is told.
func TestLookFails(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	do(t, h, on(func() error { return unix.Mount("none", "/proc", "tmpfs", 0, "") }))
	if p, err := Take(h, Options{}); err == nil || len(p.Items()) != 0 {
		t.Errorf("%v, %v", p, err)
	}
}

// TestSettingsAgree: the kernel's list of a link's settings is in the order that
// we take it to be in.
func TestSettingsAgree(t *testing.T) {
	t.Parallel()
	for _, f := range []struct {
		dir      string
		settings []setting
	}{{"ipv4", settings4()}, {"ipv6", settings6()}} {
		for _, s := range f.settings {
			if s.name == "mc_forwarding" || s.name == "addr_gen_mode" || s.name == "forwarding" {
				continue // can't be written, or means more; the first is at 0 in both lists
			}
			t.Run(f.dir+"/"+s.name, func(t *testing.T) {
				t.Parallel()
				agree(t, "net/"+f.dir+"/conf/v0/"+s.name)
			})
		}
	}
}

// agree changes a setting of a link, and sees that and nothing else change.
func agree(t *testing.T, name string) {
	h := newHost(t)
	do(t, h, run(veth))
	before := look(t, h, Options{})
	file := "/proc/sys/" + name
	value := "1"
	do(t, h, on(func() error {
		old, err := os.ReadFile(file)
		if os.IsNotExist(err) {
			value = "" // a kernel without it
			return nil
		}
		if err == nil && strings.TrimSpace(string(old)) == value {
			value = "0"
		}
		if err == nil {
			err = os.WriteFile(file, []byte(value), 0)
		}
		return err
	}))
	if value == "" {
		return
	}
	if got, want := Diff(before, look(t, h, Options{})).String(), "+ sysctl "+name+": "+value+"\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestJSON(t *testing.T) {
	t.Parallel()
	p := look(t, newHost(t), Options{})
	b, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	var q Picture
	if err := json.Unmarshal(b, &q); err != nil {
		t.Fatal(err)
	}
	if d := Diff(p, q); !d.Empty() || len(q.Items()) == 0 {
		t.Errorf("%s", d)
	}
}

func BenchmarkTakeEmpty(b *testing.B) { benchmark(b) }

func BenchmarkTakeNetns(b *testing.B) {
	benchmark(b, func(h *host.Host) error { _, err := h.AddNetns("c1"); return err })
}

func BenchmarkTakeAttachment(b *testing.B) { benchmark(b, attach("c1", "veth0")) }

func benchmark(b *testing.B, steps ...step) {
	h := newHost(b)
	do(b, h, steps...)
	for b.Loop() {
		look(b, h, Options{})
	}
}
