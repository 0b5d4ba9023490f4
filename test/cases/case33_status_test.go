package cases

import (
	"errors"
	"os/exec"
	"testing"

	"github.com/fairlead-net/fairlead/test/host"
)

// TestCase33StatusOfAFullDisk: where nothing can be recorded, no ADD can work.
func TestCase33StatusOfAFullDisk(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ options, fill, free string }{
		"no byte":   {"size=16k", "dd if=/dev/zero of=/run/fairlead/fill bs=4k || true", "rm /run/fairlead/fill"},
		"no inode":  {"nr_inodes=6", "for i in 1 2 3 4 5 6; do touch /run/fairlead/fill$i || true; done", "rm /run/fairlead/fill*"},
		"one inode": {"nr_inodes=6", "for i in 1 2 3 4; do touch /run/fairlead/fill$i; done", "rm /run/fairlead/fill*"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := host.New(t)
			h.MustRun("mkdir", "-m", "700", "/run/fairlead")
			h.MustRun("mount", "-t", "tmpfs", "-o", "mode=700,"+c.options, "tmpfs", "/run/fairlead")
			a := h.Attach(host.Build(t), host.Config{"cniVersion": "1.1.0", "name": "n", "type": "bridge"}, "eth0")
			if o := a.Status(); !o.OK() {
				t.Fatalf("STATUS with room: %s", o.Stdout)
			}
			h.MustRun("sh", "-c", c.fill+" 2>/dev/null")
			if add := a.Call("ADD"); add.OK() {
				t.Fatal("ADD works")
			}
			if o := a.Status(); o.OK() || o.Error(t).Code != 50 {
				t.Errorf("STATUS: exit %d, %s", o.Exit, o.Stdout)
			}
			h.MustRun("sh", "-c", c.free)
			if o := a.Status(); !o.OK() {
				t.Errorf("STATUS with room again: %s", o.Stdout)
			}
			if left := h.MustRun("sh", "-c", "ls -A /run/fairlead | grep -v -e log -e attachments -e locks || true"); left != "" {
				t.Errorf("STATUS leaves %s", left)
			}
		})
	}
}

// TestCase33StatusOfAKindThatTheKernelLacks: what iproute2 can make, STATUS says
// is there, and what it can't, is not.
func TestCase33StatusOfAKindThatTheKernelLacks(t *testing.T) {
	t.Parallel()
	for kind, c := range map[string]struct {
		config host.Config
		link   []string
	}{
		"bridge":  {host.Config{"type": "bridge"}, []string{"type", "bridge"}},
		"ptp":     {host.Config{"type": "ptp"}, []string{"type", "veth"}},
		"macvlan": {host.Config{"type": "macvlan", "master": "up0"}, []string{"link", "up0", "type", "macvlan"}},
		"ipvlan":  {host.Config{"type": "ipvlan", "master": "up0"}, []string{"link", "up0", "type", "ipvlan"}},
		"vlan":    {host.Config{"type": "vlan", "master": "up0", "vlanId": 5}, []string{"link", "up0", "type", "vlan", "id", "5"}},
		"dummy":   {host.Config{"type": "dummy"}, []string{"type", "dummy"}},
		"vrf":     {host.Config{"type": "vrf", "vrfname": "red", "table": 9}, []string{"type", "vrf", "table", "9"}},
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			h := host.New(t)
			h.MustRun("ip", "link", "add", "up0", "type", "veth", "peer", "up1")
			config := c.config.With("cniVersion", "1.1.0", "name", "n")
			if kind == "ptp" || kind == "dummy" {
				config = config.With("ipam", host.Config{"type": "static", "addresses": []any{host.Config{"address": "10.1.2.3/24", "gateway": "10.1.2.1"}}})
			}
			a := h.Attach(host.Build(t), config, "eth0")
			before := h.MustRun("ip", "link")
			o := a.Status()
			if after := h.MustRun("ip", "link"); after != before {
				t.Errorf("STATUS made something:\n%s\nwas\n%s", after, before)
			}
			err := h.Command("ip", append([]string{"link", "add", "x0"}, c.link...)...).Run()
			if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
				t.Fatal(err)
			}
			if made := err == nil; made != o.OK() || !made && o.Error(t).Code != 50 {
				t.Errorf("the kernel makes one: %v; STATUS: exit %d, %s", made, o.Exit, o.Stdout)
			}
		})
	}
}

// TestCase33StatusOfTapsWithoutTheirDevice: a container runtime's own container,
// say, that was given no /dev/net/tun.
func TestCase33StatusOfTapsWithoutTheirDevice(t *testing.T) {
	t.Parallel()
	h := host.New(t)
	a := h.Attach(host.Build(t), host.Config{"cniVersion": "1.1.0", "name": "n", "type": "tap"}, "eth0")
	if o := a.Status(); !o.OK() {
		t.Fatalf("STATUS: %s", o.Stdout)
	}
	h.MustRun("mount", "-t", "tmpfs", "tmpfs", "/dev/net")
	if o := a.Status(); o.OK() || o.Error(t).Code != 50 {
		t.Errorf("STATUS: exit %d, %s", o.Exit, o.Stdout)
	}
}
