package inject

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/fairlead-net/fairlead/test/host"
)

// TestStorm: a caller that is hit by signals all the time makes each call once.
func TestStorm(t *testing.T) {
	t.Parallel()
	n := 0
	cmd := target("storm")
	var errs bytes.Buffer
	cmd.Stderr = &errs
	err := Run(cmd, Sends(), func(c *Call) Verdict {
		if b, err := c.Sent(); err != nil || string(b) != "x" {
			t.Errorf("%q, %v", b, err)
		}
		n++
		return Verdict{}
	})
	if err != nil || n != threads*perThread {
		t.Errorf("%d calls, want %d; %v, %s", n, threads*perThread, err, errs.String())
	}
}

// TestStartedAnew: what the kernel starts anew, since the network is changed by
// somebody else, is one call.
func TestStartedAnew(t *testing.T) {
	t.Parallel()
	h := host.New(t)
	other := host.New(t).Command("sh", "-c", "while :; do ip link add x type veth peer name y; ip link del x; done")
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = other.Process.Kill()
		_ = other.Wait() // it was killed
	}()
	n := 0
	out, _ := under(t, h, target("forward"), func(c *Call) Verdict {
		if e, err := c.Event(); err != nil {
			t.Error(err)
		} else if e.Text == "pwrite64 /proc/sys/net/ipv4/ip_forward" {
			n++
		}
		return Verdict{}
	})
	if n != forwards || out != "" {
		t.Errorf("%d calls, want %d; %q", n, forwards, out)
	}
}

// TestOwnListener: a program with a listener of its own can't have it, as the
// kernel says.
func TestOwnListener(t *testing.T) {
	t.Parallel()
	if out, _ := under(t, nil, target("listen"), func(*Call) Verdict { return Verdict{} }); out != "true\n" {
		t.Errorf("%q", out)
	}
}

// trace collects what is done, without what Go does for itself.
func trace(t *testing.T, to *[]string) Hook {
	t.Helper()
	return func(c *Call) Verdict {
		e, err := c.Event()
		if err != nil {
			t.Error(err)
		}
		if !strings.Contains(e.Text, "eventfd") {
			*to = append(*to, e.Program+": "+e.Text)
		}
		return Verdict{}
	}
}

// TestPrograms: who a process is follows what it executes, by whichever way.
func TestPrograms(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	script := filepath.Join(dir, "script")
	if err := os.WriteFile(script, []byte("#!/bin/sh\n/bin/mkdir \"$1\"/inner\nexec /bin/rmdir \"$1\"/inner\n"), 0o700); err != nil { //nolint:gosec // it is executed
		t.Fatal(err)
	}
	// env executes by itself, sh by fork, Go (vfork) in TestEveryCallIsSeen.
	link := filepath.Join(dir, "called")
	if err := os.Symlink(script, link); err != nil {
		t.Fatal(err)
	}
	for _, calls := range [][]int{All(), Files()} {
		var got []string
		cmd := exec.Command("env", link, dir)
		if err := Run(cmd, calls, trace(t, &got)); err != nil {
			t.Fatal(err)
		}
		want := []string{
			"env: execve " + link + " " + dir,
			"called: execve /bin/mkdir " + dir + "/inner",
			"mkdir: mkdir " + dir + "/inner",
			"called: execve /bin/rmdir " + dir + "/inner",
			"rmdir: rmdir " + dir + "/inner",
		}
		if len(calls) < len(All()) {
			want = slices.DeleteFunc(want, func(s string) bool { return strings.Contains(s, "execve") })
		}
		got = slices.DeleteFunc(got, func(s string) bool { return strings.Contains(s, "fcntl") || strings.Contains(s, "/dev/") })
		if !slices.Equal(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestFresh: a process is fresh from its fork until it executes.
func TestFresh(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var got []string
	hook := func(c *Call) Verdict {
		e, err := c.Event()
		if err != nil {
			t.Error(err)
		}
		if e.Kind == KindExec || e.Path == filepath.Join(dir, "by-child") || e.Path == filepath.Join(dir, "by-self") {
			got = append(got, e.Call+map[bool]string{true: " fresh"}[e.Fresh])
		}
		return Verdict{}
	}
	cmd := exec.Command("sh", "-c", `: >by-self; (: >by-child; exec /bin/true); true`)
	cmd.Dir = dir
	if err := Run(cmd, All(), hook); err != nil {
		t.Fatal(err)
	}
	for i := range got {
		got[i] = strings.TrimSuffix(strings.Replace(got[i], "openat", "open", 1), "at")
	}
	if want := []string{"open", "open fresh", "execve fresh"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// network is what the plugins are called with in TestTraceIsStable.
const network = `{"cniVersion": "1.0.0", "name": "net", "type": "bridge", "bridge": "br0", "isGateway": true, "ipMasq": true,
  "ipam": {"type": "host-local", "subnet": "10.1.2.0/24", "dataDir": "/run/leases"}}`

// TestTraceIsStable: runs that do the same give the same, but for what is drawn.
func TestTraceIsStable(t *testing.T) {
	t.Parallel()
	const runs = 15
	dir := host.Build(t)
	var first []string
	drawn := regexp.MustCompile(`mac=[0-9a-f:]+`)
	for i := range runs {
		h := host.New(t)
		env := host.Env{"CNI_CONTAINERID": "c1", "CNI_NETNS": h.Netns("c1"), "CNI_IFNAME": "eth0"}
		var got []string
		for _, verb := range []string{"ADD", "DEL"} {
			cmd := h.Plugin(dir, "bridge", verb, env, network)
			if out, _ := under(t, h, cmd.Cmd, trace(t, &got)); strings.Contains(out, "code") {
				t.Fatal(out)
			}
		}
		for k := range got {
			got[k] = drawn.ReplaceAllString(got[k], "mac=*")
		}
		if i == 0 {
			first = got
			t.Logf("%d calls", len(got))
		}
		if len(got) < 100 || !slices.Equal(got, first) {
			for k := range min(len(got), len(first)) {
				if got[k] != first[k] {
					t.Errorf("run %d, call %d: %q, want %q", i, k, got[k], first[k])
					break
				}
			}
			t.Fatalf("run %d: %d calls, the first had %d", i, len(got), len(first))
		}
	}
}

// TestTexts: what real programs do, in words.
func TestTexts(t *testing.T) {
	t.Parallel()
	h := host.New(t)
	netns := h.Netns("c1")
	for _, c := range []struct{ command, want string }{
		{"ip link add v0 type veth peer name v1", "route RTM_NEWLINK create excl name=v0 kind=veth peer=v1"},
		{"ip link set v0 up mtu 1400 alias x", `route RTM_NEWLINK link=v0 up mtu=1400 alias="x"`},
		{"ip link add br0 type bridge", "route RTM_NEWLINK create excl name=br0 kind=bridge"},
		{"ip link set v0 master br0", "route RTM_NEWLINK link=v0 master=br0"},
		{"ip link set v0 nomaster", "route RTM_NEWLINK link=v0 master=none"},
		{"ip link set v0 name w0", "route RTM_NEWLINK link=v0 name=w0"},
		{"ip link set w0 address 02:00:00:00:00:01", "route RTM_NEWLINK link=w0 mac=02:00:00:00:00:01"},
		{"ip addr add 192.0.2.1/24 dev w0", "route RTM_NEWADDR create excl link=w0 addr=192.0.2.1/24"},
		{"ip -6 addr add 2001:db8::1/64 dev w0 nodad", "route RTM_NEWADDR create excl inet6 link=w0 addr=2001:db8::1/64"},
		{"ip route add 198.51.100.0/24 via 192.0.2.2 table 7", "route RTM_NEWROUTE create excl dst=198.51.100.0/24 via=192.0.2.2 table=7"},
		{"ip route del 198.51.100.0/24 table 7", "route RTM_DELROUTE dst=198.51.100.0/24 table=7"},
		{"ip rule add from 192.0.2.1 table 7 priority 99", "route RTM_NEWRULE create excl from=192.0.2.1/32 table=7 priority=99"},
		{"ip neigh add 192.0.2.9 lladdr 02:00:00:00:00:09 dev w0", "route RTM_NEWNEIGH create excl link=w0 addr=192.0.2.9 mac=02:00:00:00:00:09"},
		{"tc qdisc add dev w0 root handle 1: tbf rate 1mbit burst 10k latency 1ms", "route RTM_NEWQDISC create excl link=w0 kind=tbf handle=1:0 parent=ffff:ffff"},
		{"ip link set v1 netns c1", "route RTM_NEWLINK link=v1 to-netns"},
		{"ip netns exec c1 true", "setns " + netns + " CLONE_NEWNET"},
		{"ip link del br0", "route RTM_DELLINK link=br0"},
		{"nft add table inet t", "netfilter NFT_MSG_NEWTABLE inet table=t"},
		{"nft add chain inet t c", "netfilter NFT_MSG_NEWCHAIN inet table=t chain=c"},
		{`nft add rule inet t c accept comment "why"`, `netfilter NFT_MSG_NEWRULE inet table=t chain=c comment="why"`},
		{"ip tuntap add dev t0 mode tap", "ioctl TUNSETIFF name=t0"},
		{"ip tuntap del dev t0 mode tap", "ioctl TUNSETPERSIST 0"},
		{"iptables-legacy -t nat -N old", "iptables replace table=nat"},
		{"mount -t tmpfs none /mnt", "mount none /mnt tmpfs"},
		{"umount -l /mnt", "umount2 /mnt MNT_DETACH"},
		{"unshare -m true", "unshare CLONE_NEWNS"},
		{"flock /run/lock.x true", "flock /run/lock.x LOCK_EX"},
		{"ln -s there /run/link.x", "symlinkat there /run/link.x"},
	} {
		words := strings.Fields(c.command)
		var got []string
		out, _ := under(t, h, h.Command(words[0], words[1:]...).Cmd, trace(t, &got))
		if !slices.Contains(got, words[0]+": "+c.want) {
			t.Errorf("%s (%s): %q is not in\n%s", c.command, out, c.want, strings.Join(got, "\n"))
		}
	}
}

// TestNamesAreWhereTheSocketIs: an interface is looked up where the socket is, not
// where the thread is.
func TestNamesAreWhereTheSocketIs(t *testing.T) {
	t.Parallel()
	h := host.New(t)
	netns := h.Netns("c1")
	h.MustRun("ip", "link", "add", "there", "netns", "c1", "index", "4242", "type", "bridge")
	h.MustRun("ip", "link", "add", "here", "index", "4242", "type", "bridge")
	for at, want := range map[string]string{"": "here", netns: "there"} {
		fd := -1
		make := func() { fd, _ = unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_ROUTE) }
		if at == "" {
			h.Do(make)
		} else {
			h.Inside(at, make)
		}
		name, err := lookUp(fd, 4242)
		unix.Close(fd)
		if err != nil || name != want {
			t.Errorf("%q, %v, want %q", name, err, want)
		}
	}
}
