package resource

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/fairlead-net/fairlead/engine"
	"github.com/fairlead-net/fairlead/kernel"
)

// VRFTable is the fact which routing table a VRF has, or is to have: that of
// the VRF which is there, else Table, else the lowest that nobody uses.
type VRFTable struct {
	VRF   string
	Table uint32 // wanted; 0: any
}

// VRFTableName is the name of the fact.
const VRFTableName = "vrf-table"

func (VRFTable) Name() string { return VRFTableName }
func (VRFTable) Lock() string { return VRFTableName }

// Within is the container: each has tables of its own, and a lock of its own.
func (VRFTable) Within() engine.Ref { return Sandbox }

// Find looks it up.
func (f VRFTable) Find(_ context.Context, env Env) (any, error) { return f.Look(env) }

// Look is Find, with its type.
func (f VRFTable) Look(env Env) (uint32, error) {
	ns, err := env.At(Container)
	if err != nil {
		return 0, err
	}
	link, kind, err := vrfLink(ns, f.VRF)
	switch {
	case err != nil:
		return 0, err
	case link != nil && f.Table != 0 && f.Table != kind.Table:
		return 0, engine.Conflict((&VRF{Name: f.VRF, Table: f.Table}).otherTable(kind.Table))
	case link != nil:
		return kind.Table, nil
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
	routes, err := ns.Routes(kernel.RouteFilter{AllTables: true})
	if err != nil {
		return nil, err
	}
	for _, r := range routes {
		taken[r.Table] = true
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
