package campaign

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/containernetworking/cni/libcni"
	"golang.org/x/sys/unix"
)

// A parent is an interface of the host that a network is built upon. It is an
// end of a veth pair, up, with addresses and the default routes if it is the
// first one. The other end is up too, so that it has a carrier.
type parent struct {
	name  string
	first bool
}

// parents are those that a network names. One that names none gets eth0, for
// plugins that take the interface of the default route.
func parents(list *libcni.NetworkConfigList) ([]parent, error) {
	var names []string
	for _, p := range list.Plugins {
		var conf struct {
			Master string `json:"master"`
			Device string `json:"device"`
			IPAM   struct {
				Master string `json:"master"`
			} `json:"ipam"`
		}
		if err := json.Unmarshal(p.Bytes, &conf); err != nil {
			return nil, fmt.Errorf("configuration of %s: %w", p.Network.Type, err)
		}
		for _, name := range []string{conf.Master, conf.Device, conf.IPAM.Master} {
			if name != "" && name != "lo" && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	if len(names) == 0 {
		names = []string{"eth0"}
	}
	all := make([]parent, 0, len(names))
	for i, name := range names {
		all = append(all, parent{name: name, first: i == 0})
	}
	return all, nil
}

// The parents' addresses are of those that are kept for documents.
const (
	hostAddress4, hostGateway4 = "203.0.113.2/24", "203.0.113.1"
	hostAddress6, hostGateway6 = "2001:db8:ffff::2/64", "2001:db8:ffff::1"
)

// commands make a parent. They are run as they are, without a shell.
func (p parent) commands(n int) []string {
	wire := fmt.Sprintf("wire%d", n)
	all := []string{
		fmt.Sprintf("ip link add %s address 02:00:5e:00:00:%02x type veth peer name %s address 02:00:5e:00:01:%02x", p.name, n+1, wire, n+1),
		"ip link set " + wire + " up",
		"ip link set " + p.name + " up",
	}
	if !p.first {
		return all
	}
	all = append(all,
		"ip address add "+hostAddress4+" dev "+p.name,
		"ip route add default via "+hostGateway4+" dev "+p.name,
	)
	if !hasIPv6() {
		return all
	}
	return append(all,
		"ip address add "+hostAddress6+" nodad dev "+p.name,
		"ip route add default via "+hostGateway6+" dev "+p.name,
	)
}

// hasIPv6 tells whether the kernel does: not one that began with ipv6.disable=1,
// nor one built without.
func hasIPv6() bool {
	s, err := unix.Socket(unix.AF_INET6, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return !errors.Is(err, unix.EAFNOSUPPORT)
	}
	_ = unix.Close(s)
	return true
}

// furniture is what is run on each new host: for the network's parents, then
// what the user asked for.
func furniture(list *libcni.NetworkConfigList, prepare []string) ([][]string, error) {
	all, err := parents(list)
	if err != nil {
		return nil, err
	}
	var lines []string
	for i, p := range all {
		lines = append(lines, p.commands(i)...)
	}
	lines = append(lines, prepare...)
	argvs := make([][]string, 0, len(lines))
	for _, line := range lines {
		if argv := strings.Fields(line); len(argv) > 0 {
			argvs = append(argvs, argv)
		}
	}
	return argvs, nil
}
