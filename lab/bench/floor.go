package main

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/vishvananda/netlink"
)

// Where the floor's masquerading is.
const (
	masqTable = "floor"
	masqSet   = "masqueraded"
)

// floor is test/bench/floor. It has no part in a scenario that needs no kernel.
type floor struct{ path string }

func (floor) name() string         { return nameProcess }
func (floor) runs(s scenario) bool { return s.floor != nil }

// prepare makes what the plugins make at their first ADD and then leave.
func (floor) prepare(s scenario) error {
	if err := makeLeases(s.leases); err != nil {
		return err
	}
	if err := makeBridge(); err != nil {
		return fmt.Errorf("the floor's bridge: %w", err)
	}
	return makeMasquerade()
}

func (f floor) process(s scenario, op operation, c *call) process {
	add, del := s.floor(c)
	p := process{path: f.path, args: del, env: c.environment(op, "/nowhere")}
	if op == opAdd {
		p.args = add
	}
	return p
}

// own is the time that the floor says it took itself.
func (floor) own(stdout []byte) (time.Duration, error) {
	ns, err := strconv.ParseInt(string(stdout), 10, 64)
	if err != nil {
		err = fmt.Errorf("the floor's time: %w", err)
	}
	return time.Duration(ns), err
}

// floorCalls gives the floor's arguments for ADD and for DEL.
type floorCalls func(c *call) (add, del []string)

func floorBridge(c *call) (add, del []string) {
	return []string{"bridge-add", bridgeName, c.hostIf, c.netns, "eth0", c.prefix(), gateway().String()},
		[]string{"bridge-del", c.hostIf}
}

func floorBridgeMasq(c *call) (add, del []string) {
	return []string{"bridge-masq-add", bridgeName, c.hostIf, c.netns, "eth0", c.prefix(), gateway().String(), masqTable, masqSet},
		[]string{"bridge-masq-del", c.hostIf, c.prefix(), masqTable, masqSet}
}

func floorPTP(c *call) (add, del []string) {
	return []string{"ptp-add", c.hostIf, c.netns, "eth0", c.prefix(), gateway().String()},
		[]string{"ptp-del", c.hostIf}
}

func floorPTPMasq(c *call) (add, del []string) {
	return []string{"ptp-masq-add", c.hostIf, c.netns, "eth0", c.prefix(), gateway().String(), masqTable, masqSet},
		[]string{"ptp-masq-del", c.hostIf, c.prefix(), masqTable, masqSet}
}

// floorChild is that of a plugin that makes one link in the container, on a
// master or none ("-").
func floorChild(kind, master string) floorCalls {
	return func(c *call) (add, del []string) {
		return []string{"child-add", kind, master, c.netns, "eth0", c.prefix(), gateway().String()},
			[]string{"child-del", c.netns, "eth0"}
	}
}

func floorLoopback(c *call) (add, del []string) {
	return []string{"loopback-add", c.netns}, []string{"loopback-del", c.netns}
}

func floorLease(c *call) (add, del []string) {
	file := filepath.Join(leaseDir, c.address.String())
	return []string{"lease-add", file, c.container, "eth0"}, []string{"lease-del", file}
}

// makeBridge makes the bridge with the gateway's address, up.
func makeBridge() error {
	attrs := netlink.NewLinkAttrs()
	attrs.Name = bridgeName
	bridge := &netlink.Bridge{LinkAttrs: attrs}
	if err := netlink.LinkAdd(bridge); err != nil {
		return err
	}
	if err := netlink.AddrAdd(bridge, &netlink.Addr{IPNet: ipNet(netip.PrefixFrom(gateway(), subnet().Bits()))}); err != nil {
		return err
	}
	if err := netlink.LinkSetUp(bridge); err != nil {
		return err
	}
	return os.WriteFile("/proc/sys/net/ipv4/ip_forward", []byte("1"), 0o644)
}

func ipNet(p netip.Prefix) *net.IPNet {
	return &net.IPNet{IP: p.Addr().AsSlice(), Mask: net.CIDRMask(p.Bits(), p.Addr().BitLen())}
}

// makeMaster makes a network that a link of a container can be on.
func makeMaster() error {
	attrs := netlink.NewLinkAttrs()
	attrs.Name = masterName
	far := masterName + "-far"
	master := &netlink.Veth{LinkAttrs: attrs, PeerName: far}
	if err := netlink.LinkAdd(master); err != nil {
		return fmt.Errorf("the master %s: %w", masterName, err)
	}
	peer, err := netlink.LinkByName(far)
	if err != nil {
		return err
	}
	return errors.Join(netlink.LinkSetUp(master), netlink.LinkSetUp(peer))
}

// makeMasquerade makes one rule for all addresses in a set.
func makeMasquerade() error {
	cmd := exec.Command("nft", "-f", "-")
	cmd.Stdin = strings.NewReader(fmt.Sprintf(`
		table inet %s {
			set %s { type ipv4_addr; }
			chain postrouting {
				type nat hook postrouting priority srcnat;
				ip daddr 224.0.0.0/4 return
				ip saddr @%s ip daddr != %s masquerade
			}
		}`, masqTable, masqSet, masqSet, subnet()))
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("the floor's masquerading (nft, from the package nftables): %w %s", err, out)
	}
	return nil
}
