//go:build vmtest

package tool

import (
	"bufio"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-net/fairlead/test/host"
)

const (
	toCome   = "2999-01-01T00:00:00Z"
	holdOpen = `exec 3<"$0"; echo ready; read x`
)

// TestCase28AbandonedGoesWithItsOwnSwitch: the runtime was killed while it made
// the pod. A plain GC keeps what it left and says so, with a list and without.
func TestCase28AbandonedGoesWithItsOwnSwitch(t *testing.T) {
	t.Parallel()
	for _, cache := range []bool{true, false} {
		for _, args := range [][]string{{"gc"}, {"gc", "/run/net.conflist"}} {
			h, path, netns := abandon(t, longAgo)
			if !cache {
				h.MustRun("rm", "-r", "/var/lib/cni/results")
			}
			// Devices that modules put into every namespace are down.
			h.MustRunIn(netns, "ip", "link", "add", "down0", "type", "veth", "peer", "down1")
			args = append(args, "--path", path)
			if out := h.MustRun(binary(t), args...); !strings.Contains(out, "nobody is in it") || !strings.Contains(out, "c1") {
				t.Errorf("%v does not tell: %s", args, out)
			}
			if list := h.MustRun(binary(t), "list"); !strings.Contains(list, "c1") {
				t.Errorf("%v took it: %s", args, list)
			}
			h.MustRun(binary(t), append(args, "--abandoned")...)
			if list := h.MustRun(binary(t), "list"); strings.Contains(list, "c1") {
				t.Errorf("%v --abandoned kept it: %s", args, list)
			}
			if left := h.MustRun("sh", "-c", "ls /var/lib/cni/networks/net; ip -br link show type veth"); strings.Contains(left, "10.5.0.2") || strings.Contains(left, "veth") {
				t.Errorf("%v left: %s", args, left)
			}
		}
	}
}

// TestCase28AbandonedIsProvenOrKept: whoever may use the namespace keeps it.
func TestCase28AbandonedIsProvenOrKept(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		when     string
		args     []string
		somebody func(h *host.Host, netns string) *host.Cmd // writes a line when it is there
		do       func(h *host.Host, netns string)
	}{
		"a process": {somebody: func(h *host.Host, netns string) *host.Cmd {
			return h.CommandIn(netns, "sh", "-c", "echo ready; read x")
		}},
		"a descriptor": {somebody: func(h *host.Host, netns string) *host.Cmd { return h.Command("sh", "-c", holdOpen, netns) }},
		"a persistent tap device": {do: func(h *host.Host, netns string) {
			h.MustRunIn(netns, "ip", "tuntap", "add", "tap7", "mode", "tap")
			h.MustRunIn(netns, "ip", "link", "set", "tap7", "up")
		}},
		"a router": {do: func(h *host.Host, netns string) {
			h.MustRunIn(netns, "ip", "link", "add", "out0", "type", "veth", "peer", "out1")
			h.MustRunIn(netns, "ip", "link", "set", "out0", "up")
		}},
		"young":              {when: "now"},
		"attached in future": {when: toCome},
		"valid":              {args: []string{"--valid", "c1/eth0"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			when := longAgo
			switch c.when {
			case "now":
				when = time.Now().UTC().Format(time.RFC3339)
			case toCome:
				when = toCome
			}
			h, path, netns := abandon(t, when)
			if c.do != nil {
				c.do(h, netns)
			}
			if c.somebody != nil {
				started(t, c.somebody(h, netns))
			}
			for _, args := range [][]string{{binary(t), "gc"}, {binary(t), "gc", "/run/net.conflist"}} {
				args = append(args, "--abandoned", "--path", path)
				h.MustRun(args[0], append(args[1:], c.args...)...)
				if list := h.MustRun(binary(t), "list"); !strings.Contains(list, "c1") {
					t.Fatalf("%v took it: %s", args, list)
				}
			}
			h.MustRunIn(netns, "ip", "link", "show", "eth0")
		})
	}
}

// TestCase28AbandonedWithASocket: who made it is in another namespace by now.
func TestCase28AbandonedWithASocket(t *testing.T) {
	t.Parallel()
	h, path, netns := abandon(t, longAgo)
	var conn net.PacketConn
	h.Inside(netns, func() {
		var err error
		if conn, err = net.ListenPacket("udp", ":0"); err != nil {
			t.Error(err)
		}
	})
	if conn == nil {
		t.FailNow()
	}
	h.MustRun(binary(t), "gc", "--abandoned", "--path", path)
	if list := h.MustRun(binary(t), "list"); !strings.Contains(list, "c1") {
		t.Fatalf("taken with a socket open: %s", list)
	}
	if err := conn.Close(); err != nil {
		t.Fatal(err)
	}
	h.MustRun(binary(t), "gc", "--abandoned", "--path", path)
	if list := h.MustRun(binary(t), "list"); strings.Contains(list, "c1") {
		t.Fatalf("kept with the socket closed: %s", list)
	}
}

// started waits until the command has written a line; it ends with the test.
func started(t *testing.T, c *host.Cmd) {
	t.Helper()
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close()
		_ = c.Wait()
	})
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
}
