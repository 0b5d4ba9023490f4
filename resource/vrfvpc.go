package resource

import (
	"bytes"
	"errors"
	"fmt"
	"net/netip"
	"strings"

	"github.com/fairlead-net/fairlead/attachment"
	"github.com/fairlead-net/fairlead/engine"
	"github.com/fairlead-net/fairlead/kernel"
)

// RouteProtocol is what the routes of VPCs carry (rtm_protocol), on the host: by
// it they are known from others' in the same table.
const RouteProtocol = 70

const vpcMarkPrefix = "fairlead:vpc "

// vpcMark is the alias of a VPC's VRF.
func vpcMark(vpc string) string { return vpcMarkPrefix + vpc }

// lastMetric is the first of the metrics that only routes which close a VPC
// have: any other route comes before them.
const lastMetric = 0xff000000

// vpcMetric tells the routes of one VPC from those of another that has the
// table later.
func vpcMetric(vpc string) int { return lastMetric | int(attachment.Number(vpc)>>8) }

// walls send whatever the table has no route for nowhere: without them it would
// be looked for in the main table.
func (v *VRF) walls() []kernel.Route {
	var list []kernel.Route
	for _, anywhere := range []netip.Addr{netip.IPv4Unspecified(), netip.IPv6Unspecified()} {
		list = append(list, kernel.Route{
			Dst: netip.PrefixFrom(anywhere, 0), Type: kernel.RouteUnreachable,
			Table: v.Table, Metric: vpcMetric(v.VPC), Protocol: RouteProtocol,
		})
	}
	return list
}

// ofVPC tells whether a VRF is the one that stands for the VPC: by its mark, or,
// where that was not set yet, by the address that it was made with.
func (v *VRF) ofVPC(link kernel.Link) bool {
	return link.Alias == vpcMark(v.VPC) || link.Alias == "" && bytes.Equal(link.MAC, vrfMAC(v.Name))
}

// begin makes a VRF that was just made the VPC's. What is in the table with our
// mark is of an earlier VRF: nobody chose the table before that one was gone.
func (v *VRF) begin(ns *kernel.Namespace) error {
	if err := flush(ns, v.Table); err != nil {
		return err
	}
	return v.close(ns)
}

// close marks the VRF and sees to its walls.
func (v *VRF) close(ns *kernel.Namespace) error {
	link, _, err := vrfLink(ns, v.Name)
	if err == nil && link == nil {
		err = fmt.Errorf("VRF %s is gone already: %w", v.Name, errNoLink)
	}
	if err != nil {
		return err
	}
	if mark := vpcMark(v.VPC); link.Alias != mark {
		if err := ns.SetLink(link.Index, kernel.LinkChange{Alias: &mark}); err != nil {
			return err
		}
	}
	for _, wall := range v.walls() {
		if err := build(ns, wall); err != nil {
			return err
		}
	}
	return nil
}

// build adds a wall, unless the kernel has no packets that it would stop.
func build(ns *kernel.Namespace, wall kernel.Route) error {
	err := ns.AddRoute(wall)
	if kernel.Exists(err) {
		return nil
	}
	if wall.Dst.Addr().Is6() && kernel.Unsupported(err) {
		switch has, lookErr := hasIPv6(ns); {
		case lookErr != nil:
			return errors.Join(err, lookErr)
		case !has:
			return nil
		}
	}
	return err
}

// hasIPv6 tells whether the kernel has IPv6 at all.
func hasIPv6(ns *kernel.Namespace) (bool, error) {
	_, has, err := ns.Sysctl("net/ipv6/conf/all/forwarding")
	return has, err
}

func (v *VRF) compareWalls(ns *kernel.Namespace, table uint32, d *drift) error {
	closed := *v
	closed.Table = table
	ipv6, err := hasIPv6(ns)
	if err != nil {
		return err
	}
	for _, wall := range closed.walls() {
		if wall.Dst.Addr().Is6() && !ipv6 {
			continue // this kernel has none
		}
		_, ok, err := ns.Route(wall)
		if err != nil {
			return err
		}
		if !ok {
			d.add("VRF %s is open: table %d has no unreachable route to %s", v.Name, table, wall.Dst)
		}
	}
	return nil
}

// removeVPC takes our routes away while the VRF still holds its table, so that
// they are nobody else's.
func (v *VRF) removeVPC(ns *kernel.Namespace) error {
	link, kind, err := vrfLink(ns, v.Name)
	switch {
	case err != nil:
		return err
	case link == nil && v.Table == 0:
		return nil
	case link == nil:
		// Another VPC may have the table by now.
		return dropRoutes(ns, v.walls())
	case !v.ofVPC(*link):
		return nil
	}
	if err := flush(ns, kind.Table); err != nil {
		return err
	}
	_, err = ns.DelLink(link.Index)
	return err
}

// flush takes the routes of VPCs out of a table.
func flush(ns *kernel.Namespace, table uint32) error {
	if table == 0 {
		return errUnknownTable
	}
	all, err := ns.Routes(kernel.RouteFilter{Table: table, Protocol: RouteProtocol})
	if err != nil {
		return err
	}
	return dropRoutes(ns, all)
}

// dropRoutes removes those that are there, by what names them.
func dropRoutes(ns *kernel.Namespace, all []kernel.Route) error {
	for _, r := range all {
		err := drop(ns, kernel.Route{
			Dst: r.Dst, Table: r.Table, Metric: r.Metric, Type: r.Type, Protocol: r.Protocol, Link: r.Link, Gateway: r.Gateway,
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// strictMode has the kernel see to it that no two VRFs have one table: it wants
// that of segments which lead to a VRF's.
const strictMode = "net/vrf/strict_mode"

// StrictVRFs is that parameter, switched on.
func StrictVRFs() *EnsuredSysctl { return &EnsuredSysctl{Side: Host, Name: strictMode, Value: "1"} }

// StrictVRFsReady tells whether it could be switched on: not while VRFs share a
// table. It is there as soon as the kernel has loaded its module.
func StrictVRFsReady(env Env) error {
	if known, err := env.Host.KnowsVRF(); err != nil || !known {
		return err // that there are none is said by the VRF itself
	}
	value, ok, err := env.Host.Sysctl(strictMode)
	switch {
	case err != nil:
		return err
	case !ok:
		return fmt.Errorf("this kernel has no %s", strings.ReplaceAll(strictMode, "/", "."))
	case value == "1":
		return nil
	}
	vrfs, err := env.Host.LinksOfKind("vrf")
	if err != nil {
		return err
	}
	has := map[uint32]string{}
	for _, l := range vrfs {
		kind, _ := l.Info.(kernel.VRFKind)
		if other := has[kind.Table]; other != "" {
			return fmt.Errorf("net.vrf.strict_mode can't be switched on: %s and %s both have table %d", other, l.Name, kind.Table)
		}
		has[kind.Table] = l.Name
	}
	return nil
}

var _ engine.Shared[Env] = (*VRF)(nil)
