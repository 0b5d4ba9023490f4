package vpc

import (
	"net/netip"
	"strings"

	"github.com/fairlead-net/fairlead/attachment"
	"github.com/fairlead-net/fairlead/cni"
	"github.com/fairlead-net/fairlead/resource"
)

// config is what the README documents, key by key.
type config struct {
	VPC        string `json:"vpc"`
	Attachment string `json:"attachment"`
	Mode       string `json:"mode"`
	MTU        int    `json:"mtu"`
	Table      uint32 `json:"table"`
	Tables     tables `json:"tables"`

	MultiQueue *bool   `json:"multiQueue"`
	Owner      *uint32 `json:"owner"`
	Group      *uint32 `json:"group"`

	Routes []routeConfig `json:"routes"`
	SRv6   *srv6Config   `json:"srv6"`

	routes []route
	srv6   *srv6
}

type tables struct {
	First uint32 `json:"first"`
	Last  uint32 `json:"last"`
}

type routeConfig struct {
	Dst string `json:"dst"`
	Via string `json:"via"`
}

type srv6Config struct {
	Locator  string         `json:"locator"`
	Function uint32         `json:"function"`
	Source   string         `json:"source"`
	Remotes  []remoteConfig `json:"remotes"`
}

type remoteConfig struct {
	Prefix string `json:"prefix"`
	SID    string `json:"sid"`
}

// route is what else is reached by way of an attachment.
type route struct {
	dst netip.Prefix
	via netip.Addr // the zero Addr: the attachment itself
}

// srv6 is how a VPC reaches other nodes.
type srv6 struct {
	segment netip.Addr // where this node gets what is for the VPC
	source  netip.Addr
	remotes []remote
}

type remote struct {
	prefix  netip.Prefix
	segment netip.Addr
}

const (
	modeVeth = "veth"
	modeTap  = "tap"

	// idMax leaves room for both IDs in a link's alias.
	idMax = 63
	// The tables of VPCs, if none are named.
	firstTable, lastTable = 100000, 199999
	// A locator must leave room for the number that follows it.
	locatorMin, locatorMax, functionBits = 16, 96, 32
)

func parse(req *cni.Request) (*config, error) {
	c := &config{}
	if err := req.Decode(c); err != nil {
		return nil, err
	}
	c.defaults()
	err := c.validate()
	if req.Removes() {
		return c, nil // by what is valid of it
	}
	return c, err
}

func (c *config) defaults() {
	if c.Mode == "" {
		c.Mode = modeVeth
	}
	if c.Tables == (tables{}) {
		c.Tables = tables{First: firstTable, Last: lastTable}
	}
	if c.MultiQueue == nil {
		yes := true
		c.MultiQueue = &yes
	}
}

// validate checks everything, and keeps what is right of what can be many.
func (c *config) validate() error {
	var first error
	for _, check := range []func() error{c.checkIDs, c.checkMode, c.checkTables, c.readRoutes, c.readSRv6} {
		if err := check(); err != nil && first == nil {
			first = err
		}
	}
	return first
}

func (c *config) checkIDs() error {
	for _, id := range []struct {
		key   string
		value *string
	}{{"vpc", &c.VPC}, {"attachment", &c.Attachment}} {
		if validID(*id.value) {
			continue
		}
		err := cni.Errorf(cni.CodeConfig, "%s %q: wants a letter or digit, then letters, digits, '_', '.' or '-', at most %d", id.key, *id.value, idMax)
		c.VPC, c.Attachment = "", "" // no attachment can have these, so there is nothing to remove
		return err
	}
	return nil
}

func validID(id string) bool {
	word := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
	}
	return id != "" && len(id) <= idMax && word(rune(id[0])) &&
		!strings.ContainsFunc(id, func(r rune) bool { return !word(r) && r != '_' && r != '.' && r != '-' })
}

func (c *config) checkMode() error {
	if c.Mode != modeVeth && c.Mode != modeTap {
		return cni.Errorf(cni.CodeUnsupportedField, "mode %q is neither %q nor %q", c.Mode, modeVeth, modeTap)
	}
	return cni.ValidateMTU(c.MTU)
}

func (c *config) checkTables() error {
	if resource.KernelTable(c.Table) {
		return cni.Errorf(cni.CodeConfig, "table %d is one that the kernel uses by itself: 253 to 255 can't be a VPC's", c.Table)
	}
	if c.Tables.First == 0 || c.Tables.First > c.Tables.Last {
		return cni.Errorf(cni.CodeConfig, "tables: first is %d and last %d, which is no range", c.Tables.First, c.Tables.Last)
	}
	return nil
}

func (c *config) readRoutes() error {
	var first error
	seen := map[netip.Prefix]bool{}
	for _, r := range c.Routes {
		got, err := r.read()
		if err == nil && seen[got.dst] {
			err = cni.Errorf(cni.CodeConfig, "routes: %s occurs twice", got.dst)
		}
		if err != nil {
			first = orElse(first, err)
			continue
		}
		seen[got.dst] = true
		c.routes = append(c.routes, got)
	}
	return first
}

func (r routeConfig) read() (route, error) {
	dst, err := network("routes: dst", r.Dst)
	if err != nil || r.Via == "" {
		return route{dst: dst}, err
	}
	via, err := netip.ParseAddr(r.Via)
	if err != nil || via.Is4() != dst.Addr().Is4() || via.Zone() != "" {
		return route{}, cni.Errorf(cni.CodeConfig, "routes: via %q is no address of the family of %s", r.Via, dst)
	}
	return route{dst, via}, nil
}

// network reads a prefix that has no bits beyond its length.
func network(key, text string) (netip.Prefix, error) {
	p, err := netip.ParsePrefix(text)
	if err != nil || p != p.Masked() || p.Addr().Is4In6() {
		return netip.Prefix{}, cni.Errorf(cni.CodeConfig, "%s %q is no network", key, text)
	}
	return p, nil
}

func (c *config) readSRv6() error {
	if c.SRv6 == nil {
		return nil
	}
	s := c.SRv6
	locator, err := network("srv6.locator", s.Locator)
	if err != nil {
		return err
	}
	if !locator.Addr().Is6() || locator.Bits() < locatorMin || locator.Bits() > locatorMax {
		return cni.Errorf(cni.CodeConfig, "srv6.locator %s is no IPv6 prefix of %d to %d bits", locator, locatorMin, locatorMax)
	}
	function := s.Function
	if function == 0 {
		function = attachment.Number(c.VPC)
	}
	c.srv6 = &srv6{segment: segment(locator, function)}
	if s.Source != "" {
		if c.srv6.source, err = unicast6("srv6.source", s.Source); err != nil {
			return err
		}
	}
	return c.readRemotes()
}

func (c *config) readRemotes() error {
	var first error
	seen := map[netip.Prefix]bool{}
	for _, r := range c.SRv6.Remotes {
		prefix, err := network("srv6.remotes: prefix", r.Prefix)
		if err == nil && seen[prefix] {
			err = cni.Errorf(cni.CodeConfig, "srv6.remotes: prefix %s occurs twice", prefix)
		}
		var sid netip.Addr
		if err == nil {
			sid, err = unicast6("srv6.remotes: sid", r.SID)
		}
		if err == nil && sid == c.srv6.segment {
			err = cni.Errorf(cni.CodeConfig, "srv6.remotes: sid %s is this node's own", sid)
		}
		if err != nil {
			first = orElse(first, err)
			continue
		}
		seen[prefix] = true
		c.srv6.remotes = append(c.srv6.remotes, remote{prefix, sid})
	}
	return first
}

func unicast6(key, text string) (netip.Addr, error) {
	a, err := netip.ParseAddr(text)
	if err != nil || !a.Is6() || a.Is4In6() || a.Zone() != "" || a.IsUnspecified() || a.IsMulticast() || a.IsLoopback() || a.IsLinkLocalUnicast() {
		return netip.Addr{}, cni.Errorf(cni.CodeConfig, "%s %q is no IPv6 address that can be reached from elsewhere", key, text)
	}
	return a, nil
}

// segment puts the number right behind the locator's bits.
func segment(locator netip.Prefix, function uint32) netip.Addr {
	b := locator.Addr().As16()
	for i := range functionBits {
		if function&(1<<(functionBits-1-i)) != 0 {
			at := locator.Bits() + i
			b[at/8] |= 1 << (7 - at%8)
		}
	}
	return netip.AddrFrom16(b)
}

func orElse(first, err error) error {
	if first != nil {
		return first
	}
	return err
}
