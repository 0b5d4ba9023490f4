package oracle

import (
	"errors"
	"net"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/fairlead-net/fairlead/lab/host"
)

// change is one that is made to a host and taken back.
type change struct {
	name       string
	first      []string // commands before
	do, undo   step
	want       string // the one line of the difference, "+ ..." or "~ ..."
	notExactly bool   // the line begins so
}

const veth = "ip link add v0 address 02:00:00:00:00:01 type veth peer name v1 address 02:00:00:00:00:02"

func linkChanges() []change {
	up := []string{veth, "ip link set v1 up", "ip link set v0 up"}
	const pair = "veth mac=02:00:00:00:00:01"
	const rest = "peer=v1 mtu=1500 txqlen=1000 txqueues=2 rxqueues=2"
	set := func(name, do, undo, want string) change {
		return change{name: name, first: []string{veth}, do: run(do), undo: run(undo), want: "~ link v0: " + want + ", was " + pair + " " + rest}
	}
	return []change{
		{name: "bridge", do: run("ip link add br0 type bridge"), undo: run("ip link del br0"), want: "+ link br0: bridge mac=drawn mtu=1500 txqlen=1000"},
		{name: "vxlan", do: run("ip link add vx type vxlan id 7 dstport 4789 local 192.0.2.1"), undo: run("ip link del vx"), want: "+ link vx: vxlan mac=drawn", notExactly: true},
		{name: "tap", do: run("ip tuntap add t0 mode tap"), undo: run("ip tuntap del t0 mode tap"), want: "+ link t0: tun mac=drawn mtu=1500", notExactly: true},
		{name: "macvlan", first: []string{veth}, do: run("ip link add m0 link v0 type macvlan mode vepa"), undo: run("ip link del m0"), want: "+ link m0: macvlan mac=drawn on=v0 mtu=1500", notExactly: true},
		set("up", "ip link set v0 up", "ip link set v0 down", pair+" up "+rest),
		set("mtu", "ip link set v0 mtu 1400", "ip link set v0 mtu 1500", pair+" peer=v1 mtu=1400 txqlen=1000 txqueues=2 rxqueues=2"),
		set("mac", "ip link set v0 address 02:00:00:00:00:09", "ip link set v0 address 02:00:00:00:00:01", "veth mac=02:00:00:00:00:09 "+rest),
		set("alias", "ip link set v0 alias of_mine", "ip link set v0 alias ''", pair+` peer=v1 mtu=1500 txqlen=1000 alias="of mine" txqueues=2 rxqueues=2`),
		set("promiscuous", "ip link set v0 promisc on", "ip link set v0 promisc off", pair+" promisc peer=v1 mtu=1500 txqlen=1000 promiscuity=1 txqueues=2 rxqueues=2"),
		set("group", "ip link set v0 group 7", "ip link set v0 group 0", pair+" peer=v1 mtu=1500 txqlen=1000 group=7 txqueues=2 rxqueues=2"),
		set("queue", "ip link set v0 txqueuelen 7", "ip link set v0 txqueuelen 1000", pair+" peer=v1 mtu=1500 txqlen=7 txqueues=2 rxqueues=2"),
		{
			name: "master", first: []string{veth, "ip link add br0 address 02:00:00:00:00:08 type bridge"}, do: run("ip link set v0 master br0"), undo: run("ip link set v0 nomaster"),
			want: "~ link v0: veth mac=02:00:00:00:00:01 peer=v1 mtu=1500 master=br0", notExactly: true,
		},
		{
			name: "port", first: []string{veth, "ip link add br0 type bridge", "ip link set v0 master br0"},
			do: run("bridge link set dev v0 hairpin on"), undo: run("bridge link set dev v0 hairpin off"), want: "~ link v0: veth mac=02:00:00:00:00:01", notExactly: true,
		},
		{name: "altname", first: []string{veth}, do: run("ip link property add dev v0 altname other"), undo: run("ip link property del dev v0 altname other"), want: "+ altname other: of v0"},
		{name: "address", first: up, do: run("ip addr add 192.0.2.1/24 brd + dev v0"), undo: run("ip addr del 192.0.2.1/24 dev v0"), want: "+ address 192.0.2.1/24 dev v0: brd=192.0.2.255"},
		{name: "address of a link that is down", first: []string{veth}, do: run("ip addr add 192.0.2.1/24 dev v0"), undo: run("ip addr del 192.0.2.1/24 dev v0"), want: "+ address 192.0.2.1/24 dev v0"},
		{name: "address with a peer", first: up, do: run("ip addr add 192.0.2.1 peer 192.0.2.2 dev v0"), undo: run("ip addr del 192.0.2.1 peer 192.0.2.2 dev v0"), want: "+ address 192.0.2.1/32 dev v0: peer=192.0.2.2"},
		{name: "IPv6 address", first: up, do: run("ip addr add 2001:db8::1/64 dev v0 nodad"), undo: run("ip addr del 2001:db8::1/64 dev v0"), want: "+ address 2001:db8::1/64 dev v0: nodad"},
		{
			name: "the route of an address", first: append(up, "ip addr add 192.0.2.1/24 dev v0"), want: "~ address 192.0.2.1/24 dev v0: (its prefix has no route), was (nothing)",
			do: run("ip route del 192.0.2.0/24 dev v0"), undo: run("ip route add 192.0.2.0/24 dev v0 proto kernel scope link src 192.0.2.1"),
		},
	}
}

func routingChanges() []change {
	up := []string{veth, "ip link set v1 up", "ip link set v0 up", "ip addr add 192.0.2.1/24 dev v0", "ip addr add 2001:db8::1/64 dev v0 nodad"}
	both := func(name, args, want string) change {
		return change{name: name, first: up, do: run("ip " + strings.Replace(args, " ", " add ", 1)), undo: run("ip " + strings.Replace(args, " ", " del ", 1)), want: want}
	}
	return []change{
		both("route", "route 198.51.100.0/24 via 192.0.2.9 mtu 1300", "+ route 198.51.100.0/24 dev=v0: via=192.0.2.9 proto=boot mtu=1300"),
		both("default route", "route default via 192.0.2.9 metric 7", "+ route default dev=v0 metric=7: via=192.0.2.9 proto=boot"),
		both("route on a link", "route 198.51.100.0/24 dev v0 proto static src 192.0.2.1", "+ route 198.51.100.0/24 dev=v0: src=192.0.2.1 proto=static scope=link"),
		both("route of another table", "route 198.51.100.0/24 dev v0 table 777", "+ route 198.51.100.0/24 dev=v0 table=777: proto=boot scope=link"),
		both("blackhole", "route blackhole 198.51.100.0/24", "+ route blackhole 198.51.100.0/24: proto=boot"),
		both("multipath", "route 198.51.100.0/24 nexthop via 192.0.2.8 nexthop via 192.0.2.9 weight 3", "+ route 198.51.100.0/24: proto=boot [dev=v0 weight=1 via=192.0.2.8] [dev=v0 weight=3 via=192.0.2.9]"),
		both("onlink", "route 198.51.100.0/24 via 203.0.113.1 dev v0 onlink", "+ route 198.51.100.0/24 dev=v0: via=203.0.113.1 proto=boot onlink"),
		both("the other family", "route 198.51.100.0/24 via inet6 2001:db8::9 dev v0", "+ route 198.51.100.0/24 dev=v0: via=2001:db8::9 proto=boot"),
		both("IPv6 default route", "route default via 2001:db8::9 dev v0", "+ route default6 dev=v0 metric=1024: via=2001:db8::9 proto=boot"),
		both("local route", "route local 198.51.100.0/24 dev lo table 777", "+ route local 198.51.100.0/24 dev=lo table=777: proto=boot scope=host"),
		{name: "nexthop", first: up, do: run("ip nexthop add id 9 via 192.0.2.9 dev v0"), undo: run("ip nexthop del id 9"), want: "+ nexthop 9: dev=v0 via=192.0.2.9"},
		both("rule", "rule from 198.51.100.0/24 to 203.0.113.1 iif v0 fwmark 5 lookup 777 pref 99", "+ rule inet 99: from 198.51.100.0/24 to 203.0.113.1/32 iif=v0 fwmark=5 lookup 777"),
		both("rule that lets nothing pass", "rule not from 198.51.100.0/24 prohibit pref 99", "+ rule inet 99: not from 198.51.100.0/24 prohibit"),
		{name: "IPv6 rule", do: run("ip -6 rule add from 2001:db8::/64 lookup 777 pref 99"), undo: run("ip -6 rule del pref 99"), want: "+ rule inet6 99: from 2001:db8::/64 lookup 777"},
		both("neighbour", "neigh 192.0.2.7 lladdr 02:00:00:00:00:07 dev v0 nud permanent", "+ neighbour 192.0.2.7 dev v0: 02:00:00:00:00:07"),
		both("proxied neighbour", "neigh proxy 192.0.2.7 dev v0", "+ neighbour 192.0.2.7 dev v0: proxy"),
		{
			name: "a gateway changed", first: append(up, "ip route add 198.51.100.0/24 via 192.0.2.8"), want: "~ route 198.51.100.0/24 dev=v0: via=192.0.2.9 proto=boot, was via=192.0.2.8 proto=boot",
			do: run("ip route replace 198.51.100.0/24 via 192.0.2.9"), undo: run("ip route replace 198.51.100.0/24 via 192.0.2.8"),
		},
		{
			name: "forwarding entry", first: append(up, "ip link add br0 type bridge", "ip link set v0 master br0"), want: "+ fdb 02:00:00:00:00:07 dev v0: master=br0 static",
			do: run("bridge fdb add 02:00:00:00:00:07 dev v0 master static"), undo: run("bridge fdb del 02:00:00:00:00:07 dev v0 master"),
		},
		{
			name: "far end of a tunnel", first: append(up, "ip link add vx type vxlan id 7 dstport 4789 local 192.0.2.1"), want: "+ fdb 02:00:00:00:00:07 dev vx: dst=192.0.2.7 static",
			do: run("bridge fdb append 02:00:00:00:00:07 dev vx dst 192.0.2.7"), undo: run("bridge fdb del 02:00:00:00:00:07 dev vx dst 192.0.2.7"),
		},
	}
}

func filterChanges() []change {
	table := []string{"nft add table inet t", "nft add chain inet t c", "nft add set inet t s {_type_ipv4^addr_;_}"}
	both := func(name, add, del, want string) change {
		return change{name: name, first: table, do: run("nft add " + add), undo: run("nft " + del), want: want}
	}
	return []change{
		{name: "table", do: run("nft add table ip6 t"), undo: run("nft delete table ip6 t"), want: "+ nft table ip6 t"},
		both("chain", "chain inet t d { type_nat_hook_postrouting_priority_100_;_}", "delete chain inet t d", "+ nft chain inet t d: type nat hook postrouting priority 100; policy accept;"),
		both("rule", `rule inet t c ip saddr {_192.0.2.9,_192.0.2.1_} counter accept comment "of_c1"`, "flush chain inet t c", `+ nft inet t c: ip saddr { 192.0.2.1, 192.0.2.9 } counter accept comment "of c1"`),
		both("set", "set inet t s2 {_type_inet^service_;_}", "delete set inet t s2", "+ nft set inet t s2: type inet_service"),
		both("element", "element inet t s {_192.0.2.1_}", "flush set inet t s", "+ nft element inet t s 192.0.2.1"),
		both("counter", "counter inet t n", "delete counter inet t n", "+ nft counter inet t n"),
		{
			name: "iptables", first: []string{"iptables-nft -t nat -A POSTROUTING -j ACCEPT"}, want: `+ nft ip nat POSTROUTING: ip saddr 192.0.2.1 counter masquerade # comment="of c1" MASQUERADE(01)`,
			do:   run("iptables-nft -t nat -A POSTROUTING -s 192.0.2.1 -m comment --comment of_c1 -j MASQUERADE"),
			undo: run("iptables-nft -t nat -D POSTROUTING -s 192.0.2.1 -m comment --comment of_c1 -j MASQUERADE"),
		},
		{
			name: "old iptables", first: []string{"iptables-legacy -t nat -A POSTROUTING -j ACCEPT"}, want: `+ iptables ip nat POSTROUTING -s 192.0.2.1/32 -m comment --comment "of c1" -j MASQUERADE`,
			do:   run("iptables-legacy -t nat -A POSTROUTING -s 192.0.2.1 -m comment --comment of_c1 -j MASQUERADE"),
			undo: run("iptables-legacy -t nat -D POSTROUTING -s 192.0.2.1 -m comment --comment of_c1 -j MASQUERADE"),
		},
	}
}

func trafficChanges() []change {
	first := []string{veth}
	return []change{
		{name: "discipline", first: first, do: run("tc qdisc add dev v0 root handle 1: tbf rate 8mbit burst 4000 latency 10ms"), undo: run("tc qdisc del dev v0 root"), want: "+ qdisc 1: root dev v0: tbf rate=1000000 limit=14000", notExactly: true},
		{name: "clsact", first: first, do: run("tc qdisc add dev v0 clsact"), undo: run("tc qdisc del dev v0 clsact"), want: "+ qdisc ffff: ingress dev v0: clsact"},
		{
			name: "class", first: []string{veth, "tc qdisc add dev v0 root handle 1: htb"}, want: "+ class 1:1 root dev v0: htb ", notExactly: true,
			do: run("tc class add dev v0 parent 1: classid 1:1 htb rate 1mbit"), undo: run("tc class del dev v0 classid 1:1"),
		},
		{
			name: "filter", first: []string{veth, "ip link add ifb0 type ifb", "tc qdisc add dev v0 ingress"}, notExactly: true,
			want: "+ filter dev v0 ingress pref 49152 proto 0003 handle 80000800: u32 match=0100010000000000000000000000000000000000000000000000000000000000 action=redirect to ifb0",
			do:   run("tc filter add dev v0 parent ffff: protocol all u32 match u32 0 0 action mirred egress redirect dev ifb0"), undo: run("tc filter del dev v0 parent ffff:"),
		},
	}
}

func settingChanges() []change {
	return []change{
		{name: "setting of a link", first: []string{veth}, do: run("sysctl -q -w net/ipv4/conf/v0/rp^filter=2"), undo: run("sysctl -q -w net/ipv4/conf/v0/rp^filter=0"), want: "+ sysctl net/ipv4/conf/v0/rp_filter: 2"},
		{name: "IPv6 setting of a link", first: []string{veth}, do: run("sysctl -q -w net/ipv6/conf/v0/disable^ipv6=1"), undo: run("sysctl -q -w net/ipv6/conf/v0/disable^ipv6=0"), want: "+ sysctl net/ipv6/conf/v0/disable_ipv6: 1"},
		{name: "setting of all", do: run("sysctl -q -w net/ipv4/conf/all/rp^filter=2"), undo: run("sysctl -q -w net/ipv4/conf/all/rp^filter=0"), want: "~ sysctl net/ipv4/conf/all/rp_filter: 2, was 0"},
		{name: "setting of the namespace", do: run("sysctl -q -w net/ipv4/ip^nonlocal^bind=1"), undo: run("sysctl -q -w net/ipv4/ip^nonlocal^bind=0"), want: "~ sysctl net/ipv4/ip_nonlocal_bind: 1, was 0"},
	}
}

func otherChanges() []change {
	return []change{
		{name: "namespace", do: func(h *host.Host) error { _, err := h.AddNetns("c1"); return err }, undo: func(h *host.Host) error { return h.RemoveNetns("c1") }, want: "+ namespace c1: mount /run/netns/c1"},
		{name: "mount", do: on(func() error { return unix.Mount("some", "/mnt", "tmpfs", 0, "") }), undo: on(func() error { return unix.Unmount("/mnt", 0) }), want: "+ mount /mnt: / of tmpfs from some"},
		{name: "mount of another sort of namespace", do: on(func() error {
			if err := os.WriteFile("/run/uts", nil, 0o600); err != nil {
				return err
			}
			return unix.Mount("/proc/self/ns/uts", "/run/uts", "", unix.MS_BIND, "")
		}), undo: on(func() error { return errors.Join(unix.Unmount("/run/uts", 0), os.Remove("/run/uts")) }), want: "+ mount /run/uts: uts namespace"},
		{name: "file", do: write("/run/lease", "c1\neth0"), undo: remove("/run/lease"), want: `+ file /run/lease: "c1\neth0"`},
		{name: "empty file", do: write("/var/lib/lease", ""), undo: remove("/var/lib/lease"), want: "+ file /var/lib/lease: empty"},
		{name: "long file", do: write("/run/x", strings.Repeat("x", 1000)), undo: remove("/run/x"), want: "+ file /run/x: 1000 bytes, sha256 44", notExactly: true},
		{name: "content", first: []string{"cp /proc/sys/kernel/ostype /run/x"}, do: write("/run/x", "y"), undo: write("/run/x", "Linux\n"), want: `~ file /run/x: "y", was "Linux\n"`},
		{name: "directory", do: on(func() error { return os.Mkdir("/run/d", 0o700) }), undo: remove("/run/d"), want: "+ file /run/d: directory"},
		{name: "link", do: on(func() error { return os.Symlink("x", "/run/l") }), undo: remove("/run/l"), want: "+ file /run/l: link to x"},
		{name: "pipe", do: on(func() error { return unix.Mkfifo("/run/p", 0o600) }), undo: remove("/run/p"), want: "+ file /run/p: pipe"},
		{name: "plain file where a namespace was", do: write("/run/netns/c1", ""), undo: remove("/run/netns/c1"), want: "+ file /run/netns/c1: empty"},
		{name: "socket", do: on(func() error {
			l, err := net.ListenUnix("unix", &net.UnixAddr{Name: "/run/s"})
			if err != nil {
				return err
			}
			l.SetUnlinkOnClose(false)
			return l.Close()
		}), undo: remove("/run/s"), want: "+ file /run/s: socket"},
	}
}

// TestEachItem: of each sort of thing, that one is made is seen as one line, and
// as no more when it is taken away.
func TestEachItem(t *testing.T) {
	t.Parallel()
	for _, group := range [][]change{linkChanges(), routingChanges(), filterChanges(), trafficChanges(), settingChanges(), otherChanges()} {
		for _, c := range group {
			t.Run(c.name, func(t *testing.T) {
				t.Parallel()
				c.check(t)
			})
		}
	}
}

func (c change) check(t *testing.T) {
	h := newHost(t)
	do(t, h, run(c.first...))
	before := look(t, h, Options{})
	do(t, h, c.do)
	with := look(t, h, Options{})
	got := strings.TrimSuffix(Diff(before, with).String(), "\n")
	if got != c.want && (!c.notExactly || !strings.HasPrefix(got, c.want) || strings.Contains(got, "\n")) {
		t.Errorf("made:\n%s\nwant:\n%s", got, c.want)
	}
	do(t, h, c.undo)
	after := look(t, h, Options{})
	if d := Diff(before, after); !d.Empty() {
		t.Errorf("made and taken away:\n%s", d)
	}
	d := Diff(with, after)
	if n := len(d.New) + len(d.Gone) + len(d.Changed); n != 1 || (c.want[0] == '+') != (len(d.Gone) == 1) {
		t.Errorf("taken away:\n%s", d)
	}
}
