package resource

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/fairlead-net/fairlead/engine"
	"github.com/fairlead-net/fairlead/kernel"
)

// VRFTable is the fact which routing table a VRF has, or is to have: that of
// the VRF which is there, else Table, else the lowest that nobody uses.
type VRFTable struct {
	VRF   string
	Table uint32 // wanted; 0: any
	// VPC is the one that the VRF stands for, on the host; "": it is in the
	// container. Its table is within First and Last, unless one is wanted.
	VPC         string
	First, Last uint32
}

// VRFTableName is the name of the fact.
const VRFTableName = "vrf-table"

func (VRFTable) Name() string { return VRFTableName }
func (VRFTable) Lock() string { return VRFTableName }

// Within is the container: each has tables of its own, and a lock of its own.
func (f VRFTable) Within() engine.Ref { return f.vrf().Within() }

func (f VRFTable) vrf() *VRF { return &VRF{Name: f.VRF, VPC: f.VPC, Table: f.Table} }

// Find looks it up.
func (f VRFTable) Find(_ context.Context, env Env) (any, error) { return f.Look(env) }

// Look is Find, with its type.
func (f VRFTable) Look(env Env) (uint32, error) {
	ns, err := env.At(f.vrf().side())
	if err != nil {
		return 0, err
	}
	link, kind, err := vrfLink(ns, f.VRF)
	switch {
	case err != nil:
		return 0, err
	case link != nil && f.VPC != "" && !f.vrf().ofVPC(*link):
		return 0, engine.Conflict(fmt.Errorf("VRF %s is another's %s", f.VRF, aliasOf(*link)))
	case link != nil && f.Table != 0 && f.Table != kind.Table:
		return 0, engine.Conflict(f.vrf().otherTable(kind.Table))
	case link != nil:
		return kind.Table, nil
	case f.VPC != "":
		return f.choose(ns)
	case f.Table != 0:
		return f.Table, nil
	}
	return lowestTable(ns)
}

// KernelTable tells whether a routing table is one that the kernel, and every
// tool, uses by itself: default, main and local.
func KernelTable(table uint32) bool {
	return table >= unix.RT_TABLE_DEFAULT && table <= unix.RT_TABLE_LOCAL
}

var errNoTable = errors.New("every routing table is in use")

// lowestTable is the first table that no VRF, route or rule names.
func lowestTable(ns *kernel.Namespace) (uint32, error) {
	taken, err := usedTables(ns)
	if err != nil {
		return 0, fmt.Errorf("find a routing table: %w", err)
	}
	for table := uint32(1); table != 0; table++ {
		if !taken[table] && !KernelTable(table) {
			return table, nil
		}
	}
	return 0, errNoTable
}

// usedTables are the tables that VRFs, routes and rules of the namespace name.
func usedTables(ns *kernel.Namespace) (map[uint32]bool, error) {
	taken, err := namedTables(ns)
	if err != nil {
		return nil, err
	}
	routes, err := ns.Routes(kernel.RouteFilter{AllTables: true})
	for _, r := range routes {
		taken[r.Table] = true
	}
	return taken, err
}

// namedTables are those that VRFs and rules name.
func namedTables(ns *kernel.Namespace) (map[uint32]bool, error) {
	taken := map[uint32]bool{}
	vrfs, err := ns.LinksOfKind("vrf")
	if err != nil {
		return nil, err
	}
	for _, l := range vrfs {
		if kind, ok := l.Info.(kernel.VRFKind); ok {
			taken[kind.Table] = true
		}
	}
	rules, err := ns.Rules(0)
	if err != nil {
		return nil, err
	}
	for _, r := range rules {
		taken[r.Table] = true
	}
	return taken, nil
}

// choose is the table of a VPC that has no VRF yet: one that nobody else has a
// route, a rule or a VRF for. Routes of VPCs are none: they are what is left of
// one, and go when the VRF is made.
func (f VRFTable) choose(ns *kernel.Namespace) (uint32, error) {
	first, last := f.First, f.Last
	if f.Table != 0 {
		first, last = f.Table, f.Table
	}
	taken, err := namedTables(ns)
	if err != nil {
		return 0, fmt.Errorf("find a routing table: %w", err)
	}
	for table := first; table >= first && table <= last; table++ {
		if taken[table] || KernelTable(table) {
			continue
		}
		routes, err := ns.Routes(kernel.RouteFilter{Table: table})
		if err != nil {
			return 0, fmt.Errorf("find a routing table: %w", err)
		}
		if !slices.ContainsFunc(routes, func(r kernel.Route) bool { return r.Protocol != RouteProtocol }) {
			return table, nil
		}
	}
	if f.Table != 0 {
		return 0, engine.Conflict(fmt.Errorf("table %d is in use by others", f.Table))
	}
	return 0, fmt.Errorf("from %d to %d: %w", first, last, errNoTable)
}
