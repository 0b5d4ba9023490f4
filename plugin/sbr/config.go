package sbr

import (
	"fmt"
	"math"
	"net/netip"

	"github.com/fairlead-net/fairlead/cni"
)

// config is what the README documents, key by key.
type config struct {
	Table          *int64   `json:"table"`
	Gateways       []string `json:"gateways"`
	AddSourceHints bool     `json:"addSourceHints"`

	table uint32 // 0: tables are chosen
	// gateways has at most one of each family.
	gateways []netip.Addr
	// sources are the interface's addresses; none where there is no prevResult.
	sources []source
}

// source is an address whose packets are routed by a table of their own.
type source struct {
	prefix  netip.Prefix // with its network's length
	gateway netip.Addr   // of the default route; may be none
}

func parse(req *cni.Request) (*config, error) {
	c := &config{}
	if err := req.Decode(c); err != nil {
		return nil, err
	}
	for _, step := range []func(*cni.Request) error{c.readTable, c.readGateways, c.readSources} {
		// A removal goes by what could be read.
		if err := step(req); err != nil && !req.Removes() {
			return nil, err
		}
	}
	return c, nil
}

func (c *config) readTable(*cni.Request) error {
	if c.Table == nil {
		return nil
	}
	if *c.Table < 1 || *c.Table > math.MaxUint32 {
		return fmt.Errorf("table %d is not within 1 and %d", *c.Table, math.MaxUint32)
	}
	c.table, c.AddSourceHints = uint32(*c.Table), false
	return nil
}

// readGateways leaves them out where the table is given: routes stay then.
func (c *config) readGateways(*cni.Request) error {
	if c.Table != nil {
		return nil
	}
	for _, text := range c.Gateways {
		gw, err := netip.ParseAddr(text)
		if err != nil || gw.Zone() != "" {
			return fmt.Errorf("gateways: %q is no address", text)
		}
		gw = gw.Unmap()
		if other := c.gateway(gw.Is4()); other.IsValid() {
			return fmt.Errorf("gateways: %s and %s are of one family", other, gw)
		}
		c.gateways = append(c.gateways, gw)
	}
	return nil
}

// gateway is the configured one of a family.
func (c *config) gateway(v4 bool) netip.Addr {
	for _, gw := range c.gateways {
		if gw.Is4() == v4 {
			return gw
		}
	}
	return netip.Addr{}
}

// readSources takes the addresses that prevResult gives to the interface, or to
// none that it names.
func (c *config) readSources(req *cni.Request) error {
	prev := req.Conf.PrevResult
	if prev == nil {
		return nil
	}
	for _, ip := range prev.IPs {
		if n := ip.Interface; n != nil && *n >= 0 && *n < len(prev.Interfaces) && prev.Interfaces[*n].Name != req.IfName {
			continue
		}
		p, err := cni.Prefix(ip.Address)
		if err != nil {
			return fmt.Errorf("prevResult: %w", err)
		}
		gw := cni.Gateway(ip.Gateway)
		if configured := c.gateway(p.Addr().Is4()); configured.IsValid() {
			gw = configured
		}
		c.sources = append(c.sources, source{p, gw})
	}
	if len(c.sources) == 0 && req.Verb == cni.Add {
		return fmt.Errorf("prevResult has no address of %s", req.IfName)
	}
	return nil
}
