package resource

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/fairlead-net/fairlead/attachment"
	"github.com/fairlead-net/fairlead/engine"
	"github.com/fairlead-net/fairlead/kernel"
)

// VPCZone is that connections of a VPC are tracked in a zone of their own, so
// that filters and address translation tell them from those of another VPC with
// the same addresses. The VRF and the links in it are in a group (IFLA_GROUP)
// that has the zone's number in it; two rules of a table of ours, for all VPCs,
// look up the zone by the group, before connections are tracked.
//
// Packets get no further with it than without: a kernel that has no such rules
// gets none.
type VPCZone struct {
	VPC  string `json:"vpc"`
	VRF  string `json:"vrf"`
	Zone uint16 `json:"zone,omitempty"` // 0: not known
}

const vpcZoneKind = "vpc-zone.1"

// The zones of VPCs; others number theirs from either end. The upper half of a
// group says that the lower one is a zone.
const (
	firstZone, lastZone = 20000, 59999
	zoneGroup           = 0x46560000
	zoneMask            = 0xffff
)

// groupOf is the group of the links in a zone, zoneOf the zone of a group; 0:
// none.
func groupOf(zone uint16) uint32 { return zoneGroup | uint32(zone) }

func zoneOf(group uint32) uint16 {
	if group&^zoneMask != zoneGroup {
		return 0
	}
	return uint16(group & zoneMask)
}

func zoneTable() kernel.NftTableID {
	return kernel.NftTableID{Family: kernel.NftInet, Name: "fairlead_vpc"}
}

func zoneMap() kernel.NftZonesID { return kernel.NftZonesID{Table: zoneTable(), Name: "zones"} }

// zoneChain is a chain of the table, with its one rule.
type zoneChain struct {
	chain kernel.NftChain
	verb  kernel.NftVerb
}

// zoneChains see packets before connections are tracked: what comes in, and what
// the host itself sends.
func zoneChains() []zoneChain {
	hook := func(name string, number uint32) kernel.NftChain {
		return kernel.NftChain{
			NftChainID: zoneTable().Chain(name),
			Hook:       &kernel.NftHook{Type: "filter", Number: number, Priority: -300, Policy: nfAccept},
		}
	}
	return []zoneChain{
		{hook("prerouting", unix.NF_INET_PRE_ROUTING), kernel.NftZoneOfIn},
		{hook("output", unix.NF_INET_LOCAL_OUT), kernel.NftZoneOfOut},
	}
}

func (c zoneChain) action() kernel.NftAction {
	return kernel.NftAction{Verb: c.verb, Map: zoneMap().Name}
}

func (z *VPCZone) Kind() string       { return vpcZoneKind }
func (z *VPCZone) Key() string        { return z.VRF }
func (z *VPCZone) Within() engine.Ref { return "" }

func (z *VPCZone) vrf() *VRF { return &VRF{Name: z.VRF, VPC: z.VPC} }

// Needs is the VRF: it says by its group which zone is taken.
func (z *VPCZone) Needs() []engine.Ref { return []engine.Ref{z.vrf().Ref()} }

func (z *VPCZone) Create(_ context.Context, env Env) error {
	if z.Zone == 0 {
		return fmt.Errorf("VRF %s: the zone is unknown", z.VRF)
	}
	if err := z.join(env.Host); err != nil {
		return err
	}
	seen, err := z.look(env.Host)
	if err == nil && !seen.works {
		err = z.add(env.Host, seen)
	}
	if kernel.Unsupported(err) {
		return z.without(env, err)
	}
	return unsure(err)
}

// without tells that there is no zone, unless nothing tracks connections.
func (z *VPCZone) without(env Env, cause error) error {
	_, tracked, err := env.Host.Sysctl("net/netfilter/nf_conntrack_max")
	if tracked {
		env.warn("connections of VPC %s are not told from those of other VPCs: %v", z.VPC, cause)
	}
	return err
}

// join puts the VRF in the group, and before it the links that were in it when
// it had none: the version before gave none.
func (z *VPCZone) join(ns *kernel.Namespace) error {
	vrf, _, err := vrfLink(ns, z.VRF)
	if err == nil && vrf == nil {
		err = fmt.Errorf("VRF %s: %w", z.VRF, errNoLink)
	}
	group := groupOf(z.Zone)
	if err != nil || vrf.Group == group {
		return err
	}
	members, err := ns.LinksOfMaster(vrf.Index)
	if err != nil {
		return err
	}
	for _, l := range append(members, *vrf) {
		if err := ns.SetLink(l.Index, kernel.LinkChange{Group: &group}); err != nil {
			return unsure(err)
		}
	}
	return nil
}

// add makes what is missing, in one transaction, and the rules anew.
func (z *VPCZone) add(ns *kernel.Namespace, seen zoneSeen) error {
	var tx kernel.NftTx
	tx.AddTable(kernel.NftTable{NftTableID: zoneTable()})
	tx.AddZones(zoneMap())
	for _, c := range zoneChains() {
		tx.AddChain(c.chain)
		tx.FlushChain(c.chain.NftChainID)
		tx.AddRule(c.chain.NftChainID, &kernel.NftRule{Action: c.action()})
	}
	if seen.zone != 0 && seen.zone != z.Zone {
		tx.DeleteZone(zoneMap(), groupOf(z.Zone))
	}
	tx.AddZone(zoneMap(), groupOf(z.Zone), z.Zone)
	err := ns.NftCommit(zoneMap().String(), &tx)
	if kernel.Absent(kernel.ObjectChain, err) {
		// All that it names is in it, save the kernel's own words.
		return &kernel.Error{Errno: unix.EOPNOTSUPP, Message: "this kernel has no zones in nftables: " + err.Error()}
	}
	return err
}

// zoneSeen is what a look at the table told of one VPC.
type zoneSeen struct {
	zone  uint16 // 0: its group is in none
	works bool   // it is in its own, and the rules are as they were made
}

func (z *VPCZone) look(ns *kernel.Namespace) (zoneSeen, error) {
	var seen zoneSeen
	zone, ok, err := ns.NftZone(zoneMap(), groupOf(z.Zone))
	if err != nil || !ok {
		return seen, err
	}
	seen.zone = zone
	for _, c := range zoneChains() {
		chain, ok, err := ns.NftChain(c.chain.NftChainID)
		if err != nil || !ok || chain.Hook == nil || *chain.Hook != *c.chain.Hook {
			return seen, err
		}
		rules, err := ns.NftRules(c.chain.NftChainID, nil)
		if err != nil || len(rules) != 1 || rules[0].Foreign || rules[0].Action != c.action() || rules[0].Match != (kernel.NftMatch{}) {
			return seen, err
		}
	}
	seen.works = zone == z.Zone
	return seen, nil
}

func (z *VPCZone) Observe(_ context.Context, env Env) (engine.State, error) {
	vrf, _, err := vrfLink(env.Host, z.VRF)
	if err != nil || vrf == nil {
		return absentUnless(err)
	}
	var d drift
	if z.Zone == 0 {
		return engine.State{}, fmt.Errorf("VRF %s: the zone is unknown", z.VRF)
	}
	if vrf.Group != groupOf(z.Zone) {
		d.add("VRF %s is in group %#x, want %#x", z.VRF, vrf.Group, groupOf(z.Zone))
	}
	seen, err := z.look(env.Host)
	switch {
	case kernel.Unsupported(err):
	case err != nil:
		return engine.State{}, err
	case seen.zone == 0:
		return engine.Absent(), nil
	case !seen.works:
		d.add("the table %s does not put VRF %s in zone %d", zoneTable(), z.VRF, z.Zone)
	}
	return d.state(), nil
}

// InUse is that of the VRF.
func (z *VPCZone) InUse(ctx context.Context, env Env) (bool, error) { return z.vrf().InUse(ctx, env) }

// Remove takes the VPC's group out of the table, and the table away with the
// last.
func (z *VPCZone) Remove(_ context.Context, env Env) error {
	vrf, _, err := vrfLink(env.Host, z.VRF)
	switch {
	case err != nil:
		return err
	case vrf != nil && !z.vrf().ofVPC(*vrf):
		return nil
	case vrf != nil && zoneOf(vrf.Group) != 0:
		err = dropZone(env.Host, zoneOf(vrf.Group))
	case z.Zone != 0:
		err = dropLostZone(env.Host, z.Zone)
	default:
		return nil
	}
	if err != nil {
		return err
	}
	return removeZoneTable(env.Host)
}

// dropLostZone takes out a zone whose VRF is gone, unless another has it by now.
// One that takes it meanwhile is in the group before it looks whether the zone
// is there: it makes the zone anew, or is seen here.
func dropLostZone(ns *kernel.Namespace, zone uint16) error {
	used, err := usedZones(ns)
	if err != nil || used[zone] {
		return err
	}
	if err := dropZone(ns, zone); err != nil {
		return err
	}
	if used, err = usedZones(ns); err != nil || !used[zone] {
		return err
	}
	return (&VPCZone{Zone: zone}).add(ns, zoneSeen{})
}

func dropZone(ns *kernel.Namespace, zone uint16) error {
	group := groupOf(zone)
	_, there, err := ns.NftZone(zoneMap(), group)
	if kernel.Unsupported(err) || err == nil && !there {
		return nil
	}
	if err != nil {
		return err
	}
	var tx kernel.NftTx
	tx.DeleteZone(zoneMap(), group)
	err = ns.NftCommit(zoneMap().String(), &tx)
	if kernel.Absent(kernel.ObjectElement, err) {
		return nil
	}
	return err
}

// removeZoneTable deletes the table if no VPC is in it. One that comes meanwhile
// makes the kernel refuse that.
func removeZoneTable(ns *kernel.Namespace) error {
	err := deleteUnused(func() (kernel.NftTx, error) {
		var tx kernel.NftTx
		_, there, err := ns.NftTable(zoneTable())
		if err != nil || !there {
			return tx, err
		}
		zones, err := ns.NftZones(zoneMap())
		if err != nil || len(zones) > 0 {
			return tx, err
		}
		for _, c := range zoneChains() {
			rules, err := ns.NftRules(c.chain.NftChainID, nil)
			if err != nil {
				return tx, err
			}
			for _, r := range rules {
				tx.DeleteRule(c.chain.NftChainID, r.Handle)
			}
			tx.DeleteEmptyChain(c.chain.NftChainID)
		}
		tx.DeleteEmptyZones(zoneMap())
		tx.DeleteEmptyTable(zoneTable())
		return tx, nil
	}, ns, zoneTable())
	if kernel.Busy(err) {
		return nil // something of others' is in it
	}
	return err
}

// usedZones are those that VRFs of the host are in.
func usedZones(ns *kernel.Namespace) (map[uint16]bool, error) {
	vrfs, err := ns.LinksOfKind("vrf")
	used := map[uint16]bool{}
	for _, l := range vrfs {
		used[zoneOf(l.Group)] = true
	}
	return used, err
}

var errNoZone = errors.New("every zone of connection tracking is in use")

// FindVPCZone is the fact which zone a VPC has, or is to have: that of the VRF
// which is there, else one that no VRF has. It starts at a number that follows
// from the VPC's ID, so that what is tracked of a VPC that has gone is not taken
// for another's.
type FindVPCZone struct{ VPC, VRF string }

// VPCZoneName is the name of the fact.
const VPCZoneName = "vpc-zone"

func (FindVPCZone) Name() string { return VPCZoneName }
func (FindVPCZone) Lock() string { return VPCZoneName }

// Find looks it up.
func (f FindVPCZone) Find(_ context.Context, env Env) (any, error) {
	vrf, _, err := vrfLink(env.Host, f.VRF)
	if err != nil {
		return nil, err
	}
	if vrf != nil && zoneOf(vrf.Group) != 0 {
		return zoneOf(vrf.Group), nil
	}
	used, err := usedZones(env.Host)
	if err != nil {
		return nil, err
	}
	const all = lastZone - firstZone + 1
	start := attachment.Number(f.VPC) % all
	for i := range uint32(all) {
		if zone := uint16(firstZone + (start+i)%all); !used[zone] {
			return zone, nil
		}
	}
	return nil, errNoZone
}

// RemoveUnusedZones takes away the zones whose VRF is gone: those of attachments
// whose record was lost.
func RemoveUnusedZones(env Env) (report Unused, err error) {
	zones, err := env.Host.NftZones(zoneMap())
	if kernel.Unsupported(err) || err == nil && len(zones) == 0 {
		return report, nil
	}
	var used map[uint16]bool
	if err == nil {
		used, err = usedZones(env.Host)
	}
	if err != nil {
		return report, err
	}
	var errs []error
	for _, group := range slices.Sorted(maps.Keys(zones)) {
		zone := zoneOf(group)
		if zone == 0 || used[zone] {
			continue
		}
		if err := dropLostZone(env.Host, zone); err != nil {
			errs = append(errs, err)
			continue
		}
		report.Removed = append(report.Removed, fmt.Sprintf("zone %d of nftables table %s", zone, zoneTable()))
	}
	if len(report.Removed) > 0 {
		errs = append(errs, removeZoneTable(env.Host))
	}
	return report, errors.Join(errs...)
}

var _ engine.Shared[Env] = (*VPCZone)(nil)
