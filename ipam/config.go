package ipam

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"

	"github.com/containernetworking/cni/pkg/types"
)

// DefaultDataDir is where leases are kept when the configuration names no
// place; it is the reference's.
const DefaultDataDir = "/var/lib/cni/networks"

// Wire is what host-local reads of a network configuration.
type Wire struct {
	CNIVersion string    `json:"cniVersion"`
	IPAM       *WireIPAM `json:"ipam"`
	Runtime    struct {
		IPRanges [][]WireRange `json:"ipRanges"`
		IPs      []string      `json:"ips"`
	} `json:"runtimeConfig"`
	Args struct {
		CNI struct {
			IPs []string `json:"ips"`
		} `json:"cni"`
	} `json:"args"`
}

// WireIPAM is the configuration's "ipam" object. The embedded range is the
// older form, with a single range stated flat.
type WireIPAM struct {
	WireRange
	Ranges     [][]WireRange  `json:"ranges"`
	Routes     []*types.Route `json:"routes"`
	DataDir    string         `json:"dataDir"`
	ResolvConf string         `json:"resolvConf"`
}

// Config is a validated configuration.
type Config struct {
	DataDir    string
	ResolvConf string
	Routes     []*types.Route
	// Ranges has the sets in order: the runtime's first, then the flat form's,
	// then the configuration's.
	Ranges []RangeSet
	// Requested are the addresses asked for by name, each of another set.
	Requested []netip.Addr
}

// Config validates. argIP is the value of IP in CNI_ARGS, "" if there is none.
func (w *Wire) Config(argIP string) (*Config, error) {
	if w.IPAM == nil {
		return nil, errors.New("the configuration has no ipam section")
	}
	c := &Config{DataDir: w.IPAM.DataDir, ResolvConf: w.IPAM.ResolvConf, Routes: w.IPAM.Routes}
	if c.DataDir == "" {
		c.DataDir = DefaultDataDir
	}
	var err error
	if c.Ranges, err = w.sets(); err != nil {
		return nil, err
	}
	if c.Requested, err = w.requested(argIP); err != nil {
		return nil, err
	}
	if _, err := assign(c.Ranges, c.Requested); err != nil {
		return nil, err
	}
	return c, CheckRoutes(c.Routes)
}

// CheckRoutes refuses routes that lead nowhere: no result could say them.
func CheckRoutes(routes []*types.Route) error {
	for n, r := range routes {
		if r == nil || r.Dst.IP == nil {
			return fmt.Errorf("routes %d: dst is missing", n)
		}
	}
	return nil
}

func (w *Wire) sets() ([]RangeSet, error) {
	wires := append([][]WireRange(nil), w.Runtime.IPRanges...)
	if w.IPAM.Subnet != "" {
		wires = append(wires, []WireRange{w.IPAM.WireRange})
	}
	wires = append(wires, w.IPAM.Ranges...)
	if len(wires) == 0 {
		return nil, errors.New("ipam has no ranges to allocate from")
	}
	sets := make([]RangeSet, 0, len(wires))
	for i, wire := range wires {
		set, err := ParseRangeSet(wire)
		if err != nil {
			return nil, fmt.Errorf("range set %d: %w", i, err)
		}
		for j, other := range sets {
			if other.overlaps(set) {
				return nil, fmt.Errorf("range set %d (%s) overlaps set %d (%s)", j, other, i, set)
			}
		}
		sets = append(sets, set)
	}
	return sets, checkFamilies(w.CNIVersion, sets)
}

// checkFamilies: results before 0.3.0 hold one address a family.
func checkFamilies(version string, sets []RangeSet) error {
	if !OneAddressPerFamily(version) {
		return nil
	}
	count := map[bool]int{}
	for _, s := range sets {
		if count[s.Is6()]++; count[s.Is6()] > 1 {
			return fmt.Errorf("results of CNI version %q hold only one address per family", version)
		}
	}
	return nil
}

// OneAddressPerFamily tells whether results of this CNI version can hold only
// one IPv4 and one IPv6 address.
func OneAddressPerFamily(version string) bool {
	return version == "" || version == "0.1.0" || version == "0.2.0"
}

func (w *Wire) requested(argIP string) ([]netip.Addr, error) {
	var all []netip.Addr
	add := func(from, text string) error {
		addr, ok, err := ParseRequest(text)
		if err != nil {
			return fmt.Errorf("%s: %w", from, err)
		}
		if !ok {
			return nil
		}
		for _, a := range all {
			if a == addr {
				return nil
			}
		}
		all = append(all, addr)
		return nil
	}
	if err := add("IP in CNI_ARGS", argIP); err != nil {
		return nil, err
	}
	for _, text := range w.Args.CNI.IPs {
		if err := add("args.cni.ips", text); err != nil {
			return nil, err
		}
	}
	for _, text := range w.Runtime.IPs {
		if err := add("runtimeConfig.ips", text); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// ParseRequest reads an address asked for by name, with or without a prefix
// length (which is ignored: the range has its own). An empty text asks for
// nothing.
func ParseRequest(text string) (addr netip.Addr, ok bool, err error) {
	if text == "" {
		return netip.Addr{}, false, nil
	}
	bare := text
	if strings.Contains(text, "/") {
		p, err := netip.ParsePrefix(text)
		if err != nil {
			return netip.Addr{}, false, fmt.Errorf("%q is not an IP address", text)
		}
		bare = p.Addr().String()
	}
	addr, err = parseAddr(bare)
	return addr, err == nil, err
}

// assign tells which requested address each set has to give; the zero Addr
// where any will do.
func assign(sets []RangeSet, requested []netip.Addr) ([]netip.Addr, error) {
	out := make([]netip.Addr, len(sets))
	for _, addr := range requested {
		i, r, err := setFor(sets, out, addr)
		if err != nil {
			return nil, err
		}
		if addr == r.Gateway {
			return nil, fmt.Errorf("the requested address %s is the gateway of %s", addr, r.Subnet)
		}
		out[i] = addr
	}
	return out, nil
}

func setFor(sets []RangeSet, taken []netip.Addr, addr netip.Addr) (int, Range, error) {
	for i, set := range sets {
		r, ok := set.rangeOf(addr)
		switch {
		case !ok:
		case taken[i].IsValid():
			return 0, Range{}, fmt.Errorf("%s and %s were requested of range set %d, which gives one address", taken[i], addr, i)
		default:
			return i, r, nil
		}
	}
	return 0, Range{}, fmt.Errorf("the requested address %s is in none of the ranges", addr)
}
