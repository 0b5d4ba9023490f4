package bench

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"strings"

	"github.com/fairlead-net/fairlead/kernel"
)

// makeBridge makes the bridge with the gateway's address, up.
func makeBridge(ns *kernel.Namespace) error {
	if err := ns.AddLink(kernel.LinkSpec{Name: bridgeName, Kind: kernel.BridgeKind{}, Up: true}); err != nil {
		return err
	}
	bridge, _, err := ns.Link(bridgeName)
	if err != nil {
		return err
	}
	prefix := netip.PrefixFrom(gateway(), subnet().Bits())
	if err := ns.AddAddress(kernel.Address{Link: bridge.Index, Prefix: prefix}); err != nil {
		return err
	}
	return os.WriteFile("/proc/sys/net/ipv4/ip_forward", []byte("1"), 0o644)
}

// makeMaster makes a network that a link of a container can be on.
func makeMaster(ns *kernel.Namespace) error {
	const far = masterName + "-far"
	pair := kernel.LinkSpec{Name: masterName, Kind: kernel.VethKind{Peer: kernel.LinkSpec{Name: far}}, Up: true}
	if err := ns.AddLink(pair); err != nil {
		return fmt.Errorf("the master %s: %w", masterName, err)
	}
	peer, _, err := ns.Link(far)
	if err != nil {
		return err
	}
	up := true
	return ns.SetLink(peer.Index, kernel.LinkChange{Up: &up})
}

// kernelLacks says whether the kernel has no links of the kind that the scenario
// wants. It makes one to know, on a host of its own.
func kernelLacks(s scenario) (lacks bool, err error) {
	if s.kind == nil {
		return false, nil
	}
	n, err := newNode()
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, n.close()) }()
	err = n.do(func() error {
		return withHost(func(ns *kernel.Namespace) error {
			if err := makeMaster(ns); err != nil {
				return err
			}
			probe := kernel.LinkSpec{Name: "probe", Kind: s.kind}
			if s.master {
				master, _, err := ns.Link(masterName)
				if err != nil {
					return err
				}
				probe.Parent = master.Index
			}
			return ns.AddLink(probe)
		})
	})
	if kernel.Unsupported(err) {
		return true, nil
	}
	return false, err
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
