package static

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"

	"github.com/containernetworking/cni/pkg/types"

	"github.com/fairlead-net/fairlead/cni"
	"github.com/fairlead-net/fairlead/ipam"
)

// wire is what the README documents, key by key.
type wire struct {
	IPAM *struct {
		Addresses []struct {
			Address string `json:"address"`
			Gateway string `json:"gateway"`
		} `json:"addresses"`
		Routes []*types.Route `json:"routes"`
		DNS    types.DNS      `json:"dns"`
	} `json:"ipam"`
	Runtime struct {
		IPs []string `json:"ips"`
	} `json:"runtimeConfig"`
	Args struct {
		CNI struct {
			IPs []string `json:"ips"`
		} `json:"cni"`
	} `json:"args"`
}

// address is one that the result will have.
type address struct {
	prefix  netip.Prefix // with the bits of the host
	gateway netip.Addr   // the zero Addr is none
}

type config struct {
	addresses []address
	routes    []*types.Route
	dns       types.DNS
}

// parse reads the configuration. A DEL or a GC wants nothing of it: there is
// nothing to take away.
func parse(req *cni.Request) (*config, error) {
	if req.Removes() {
		return &config{}, nil
	}
	var w wire
	if err := req.Decode(&w); err != nil {
		return nil, err
	}
	named, err := argAddresses(req)
	if err != nil {
		return nil, cni.Errorf(cni.CodeEnvironment, "static: CNI_ARGS: %w", err)
	}
	conf, err := w.read(req, named)
	if err != nil {
		return nil, cni.Errorf(cni.CodeConfig, "static: %w", err)
	}
	return conf, nil
}

func (w *wire) read(req *cni.Request, named []address) (*config, error) {
	if w.IPAM == nil {
		return nil, errors.New("the configuration has no ipam section")
	}
	addrs, err := w.addresses(named)
	if err != nil {
		return nil, err
	}
	if ipam.OneAddressPerFamily(req.Conf.CNIVersion) {
		if err := onePerFamily(addrs, req.Conf.CNIVersion); err != nil {
			return nil, err
		}
	}
	if err := ipam.CheckRoutes(w.IPAM.Routes); err != nil {
		return nil, fmt.Errorf("ipam: %w", err)
	}
	return &config{addresses: addrs, routes: w.IPAM.Routes, dns: w.IPAM.DNS}, nil
}

// addresses are the runtime's where it gives any, else those of args, else
// those of the configuration and the named ones, of CNI_ARGS.
func (w *wire) addresses(named []address) ([]address, error) {
	switch {
	case len(w.Runtime.IPs) > 0:
		return parseAll("runtimeConfig.ips", w.Runtime.IPs)
	case len(w.Args.CNI.IPs) > 0:
		return parseAll("args.cni.ips", w.Args.CNI.IPs)
	}
	given, err := w.configured()
	return append(given, named...), err
}

func (w *wire) configured() ([]address, error) {
	var list []address
	for n, a := range w.IPAM.Addresses {
		prefix, err := parsePrefix(a.Address)
		if err != nil {
			return nil, fmt.Errorf("ipam.addresses %d: %w", n, err)
		}
		entry := address{prefix: prefix}
		if a.Gateway != "" {
			if entry.gateway, err = parseGateway(a.Gateway); err != nil {
				return nil, fmt.Errorf("ipam.addresses %d: %w", n, err)
			}
		}
		list = append(list, entry)
	}
	return list, nil
}

// argAddresses are those of IP in CNI_ARGS, separated by commas. Each of
// GATEWAY goes to the ones in whose network it is.
func argAddresses(req *cni.Request) ([]address, error) {
	var list []address
	if ips := req.Arg("IP"); ips != "" {
		var err error
		if list, err = parseAll("IP", strings.Split(ips, ",")); err != nil {
			return nil, err
		}
	}
	gateways := req.Arg("GATEWAY")
	if gateways == "" {
		return list, nil
	}
	for _, text := range strings.Split(gateways, ",") {
		gw, err := parseGateway(strings.TrimSpace(text))
		if err != nil {
			return nil, fmt.Errorf("GATEWAY: %w", err)
		}
		for i := range list {
			if list[i].prefix.Contains(gw) {
				list[i].gateway = gw
			}
		}
	}
	return list, nil
}

func parseAll(field string, texts []string) ([]address, error) {
	list := make([]address, 0, len(texts))
	for _, text := range texts {
		prefix, err := parsePrefix(strings.TrimSpace(text))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", field, err)
		}
		list = append(list, address{prefix: prefix})
	}
	return list, nil
}

func parsePrefix(text string) (netip.Prefix, error) {
	prefix, err := netip.ParsePrefix(text)
	switch {
	case err != nil:
		return netip.Prefix{}, fmt.Errorf("%q is not an address with a prefix length", text)
	case prefix.Addr().Is4In6() && prefix.Bits() >= 96:
		prefix = netip.PrefixFrom(prefix.Addr().Unmap(), prefix.Bits()-96)
	}
	switch {
	case prefix.Addr().Is4In6():
		return netip.Prefix{}, fmt.Errorf("%q: write an IPv4 address in its IPv4 form", text)
	case prefix.Addr().IsUnspecified() || prefix.Addr().IsMulticast():
		return netip.Prefix{}, fmt.Errorf("%q can't be an interface's address", text)
	}
	return prefix, nil
}

func parseGateway(text string) (netip.Addr, error) {
	addr, err := netip.ParseAddr(text)
	if err != nil || addr.Zone() != "" {
		return netip.Addr{}, fmt.Errorf("gateway %q is not an IP address", text)
	}
	return addr.Unmap(), nil
}

func onePerFamily(addrs []address, version string) error {
	count := map[bool]int{}
	for _, a := range addrs {
		if count[a.prefix.Addr().Is4()]++; count[a.prefix.Addr().Is4()] > 1 {
			return fmt.Errorf("results of CNI version %s hold only one address per family", version)
		}
	}
	return nil
}
