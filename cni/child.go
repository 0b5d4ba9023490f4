package cni

import (
	"context"
	"strings"

	current "github.com/containernetworking/cni/pkg/types/100"

	"github.com/fairlead-net/fairlead/resource"
)

// Child is the statement of the plugins that put one link into the container
// and nothing on the host: macvlan, ipvlan, vlan, dummy.
type Child struct {
	Base
	// Child is the link, its master left open.
	Child *resource.ChildLink
	// Master says where its master is found; nil: it has none.
	Master *resource.FindMaster
	// MTUWithinMaster refuses an MTU over the master's.
	MTUWithinMaster bool
	// DAD is Guest's.
	DAD bool
	// Announce has the kernel tell the network of the addresses when the link
	// comes up.
	Announce bool
	// Passed has the addresses of an earlier plugin, where there is no IPAM
	// plugin and they are for this link; else nil.
	Passed *current.Result
}

// Facts is the master.
func (c *Child) Facts() []Fact {
	if c.Master == nil {
		return nil
	}
	return []Fact{*c.Master}
}

// Link is the link. Where nothing is known it has no master, and needs none to
// be removed.
func (c *Child) Link(facts Facts) ([]resource.Resource, error) {
	link := *c.Child
	if c.Master == nil {
		return []resource.Resource{&link}, nil
	}
	link.Master, link.MasterSide = c.Master.Link, c.Master.Side
	var master resource.Master
	known, err := facts.Get(c.Master.Name(), &master)
	if err != nil || !known {
		return []resource.Resource{&link}, err
	}
	if master.Name == "" {
		return nil, Errorf(CodeConfig, "master: there is no %s", c.Master)
	}
	if c.MTUWithinMaster && link.MTU > master.MTU {
		return nil, Errorf(CodeConfig, "mtu %d is over that of the master %s, which is %d", link.MTU, master.Name, master.MTU)
	}
	link.Master = master.Name
	return []resource.Resource{&link}, nil
}

// Network is the link's addresses and routes, or, without any, that it is up.
func (c *Child) Network(_ Facts, ipam Known[*current.Result]) ([]resource.Resource, error) {
	on := c.Child.On()
	if c.Req.Conf.IPAM.Type == "" {
		if c.Passed == nil {
			return []resource.Resource{&resource.LinkUp{On: on}}, nil
		}
		ipam = Know(c.Passed)
	}
	guest := Guest{On: on, Leases: c.Lease(), DAD: c.DAD}
	if c.Announce {
		guest.Sysctls = announcements()
	}
	return guest.Configure(ipam)
}

// Result is the link, and every address is its.
func (c *Child) Result(made Made) (*current.Result, error) {
	out := &current.Result{}
	switch {
	case made.IPAM != nil:
		out = CopyResult(made.IPAM)
	case c.Passed != nil:
		out = CopyResult(c.Passed)
	}
	link := &current.Interface{Name: c.Child.Name, Sandbox: c.Req.Netns}
	for _, r := range made.Link {
		if l, ok := r.(*resource.ChildLink); ok {
			link.Mac = l.FoundMAC
		}
	}
	out.Interfaces = []*current.Interface{link}
	for _, ip := range out.IPs {
		ip.Interface = current.Int(0)
	}
	out.DNS = MergeDNS(c.Req.Conf.DNS, out.DNS)
	return out, nil
}

// Status asks whether the master is there. One in a container can't be asked
// for.
func (c *Child) Status(_ context.Context, env resource.Env) error {
	if c.Master == nil || c.Master.Side != resource.Host {
		return nil
	}
	master, err := c.Master.Look(env)
	if err == nil && master.Name == "" {
		err = Errorf(CodeNotAvailable, "master: there is no %s", c.Master)
	}
	return err
}

var _ Statuser = (*Child)(nil)

// MasterOf is where the master of that name is; "" is the default route's.
func MasterOf(name string, inContainer bool) *resource.FindMaster {
	if inContainer {
		return &resource.FindMaster{Link: name, Side: resource.Container}
	}
	return &resource.FindMaster{Link: name, Side: resource.Host}
}

// altNameMax is ALTIFNAMSIZ less the terminating zero: the name of a link that
// is there may be one of its alternative ones.
const altNameMax = 127

// ValidateMaster checks the name of a master; "" is none given.
func ValidateMaster(name string) error {
	if name == "" || len(name) <= altNameMax && name != "." && name != ".." && !strings.ContainsFunc(name, badInIfName) {
		return nil
	}
	return Errorf(CodeConfig, "master %q is no name that an interface can have", name)
}

// ValidateMTU checks an MTU; 0 leaves it to the kernel.
func ValidateMTU(mtu int) error {
	if mtu < 0 || mtu > 65535 {
		return Errorf(CodeConfig, "mtu %d is not within 0 and 65535", mtu)
	}
	return nil
}
