package bench

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"strings"
)

// expectation is what an ADD brings about in the namespace. Every candidate's
// is held against it in the warm-up, so that none is quick by doing less.
type expectation struct {
	ifName       string // "": nothing
	addresses    int    // IPv4
	defaultRoute bool
	stays        bool // DEL leaves the interface: another plugin made it
}

// added checks the calling thread's namespace after ADD.
func (e expectation) added() error {
	if e.ifName == "" {
		return nil
	}
	link, err := net.InterfaceByName(e.ifName)
	if err != nil {
		return err
	}
	if link.Flags&net.FlagUp == 0 {
		return fmt.Errorf("%s is not up", e.ifName)
	}
	addresses, err := link.Addrs()
	if err != nil {
		return err
	}
	got := 0
	for _, a := range addresses {
		if p, ok := a.(*net.IPNet); ok && p.IP.To4() != nil {
			got++
		}
	}
	if got != e.addresses {
		return fmt.Errorf("%s has %d IPv4 addresses, not %d", e.ifName, got, e.addresses)
	}
	route, err := hasDefaultRoute()
	if err == nil && route != e.defaultRoute {
		err = fmt.Errorf("default route: %t, not %t", route, e.defaultRoute)
	}
	return err
}

// there checks that the interface is.
func (e expectation) there() error {
	_, err := net.InterfaceByName(e.ifName)
	return err
}

// deleted checks it after DEL: lo stays, but down; another link is gone.
func (e expectation) deleted() error {
	links, err := net.Interfaces()
	if err != nil {
		return err
	}
	for _, l := range links {
		if l.Name == e.ifName && (e.ifName != "lo" || l.Flags&net.FlagUp != 0) {
			return fmt.Errorf("%s is still there after DEL", e.ifName)
		}
	}
	return nil
}

// nothingOnHost checks that no host's end of a veth pair is left.
func nothingOnHost() error {
	links, err := net.Interfaces()
	if err != nil {
		return err
	}
	for _, l := range links {
		if strings.HasPrefix(l.Name, "veth") {
			return fmt.Errorf("%s is left on the host after DEL", l.Name)
		}
	}
	return nil
}

// hasDefaultRoute reads the kernel's table of IPv4 routes, whose second column
// is the destination and whose eighth is the mask.
func hasDefaultRoute() (bool, error) {
	f, err := os.Open("/proc/thread-self/net/route")
	if err != nil {
		return false, err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		if c := strings.Fields(lines.Text()); len(c) > 7 && c[1] == "00000000" && c[7] == "00000000" {
			return true, nil
		}
	}
	return false, lines.Err()
}
