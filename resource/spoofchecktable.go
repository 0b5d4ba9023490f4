package resource

import (
	"context"
	"errors"

	"golang.org/x/sys/unix"

	"github.com/fairlead-net/fairlead/engine"
	"github.com/fairlead-net/fairlead/kernel"
)

// spoofTable is the table for bridges that the reference uses, and libvirt and
// ebtables with it.
func spoofTable() kernel.NftTableID {
	return kernel.NftTableID{Family: kernel.NftBridge, Name: "nat"}
}

func spoofBase() kernel.NftChainID { return spoofTable().Chain("PREROUTING") }

// spoofTableComment tells the table that we made from another's.
const spoofTableComment = "fairlead"

func spoofHook() kernel.NftHook {
	return kernel.NftHook{Type: "filter", Number: unix.NF_INET_PRE_ROUTING, Priority: -300, Policy: nfAccept}
}

// SpoofCheckTable is the table that SpoofCheck's rules are in, with the chain
// that they start from. One that we did not make stays as it is.
type SpoofCheckTable struct{}

const spoofCheckTableKind = "spoofcheck-table.1"

func (t *SpoofCheckTable) Kind() string       { return spoofCheckTableKind }
func (t *SpoofCheckTable) Key() string        { return spoofTable().String() }
func (t *SpoofCheckTable) Within() engine.Ref { return "" }

func (t *SpoofCheckTable) Create(_ context.Context, env Env) error {
	return ensureSpoofTable(env.Host)
}

// errOtherHook: nothing that is written there would be gone through.
var errOtherHook = errors.New("the chain " + spoofBase().String() + " is there, and is not where it should be: before routing, at priority -300")

// ensureSpoofTable makes what is missing. A table that is there keeps its
// comment, so that it is ours only if we made it.
func ensureSpoofTable(ns *kernel.Namespace) error {
	base, ok, err := ns.NftChain(spoofBase())
	switch {
	case err != nil:
		return err
	case ok && !spoofWorks(base):
		return engine.Conflict(errOtherHook)
	case ok:
		return nil
	}
	var tx kernel.NftTx
	addSpoofTable(&tx)
	return ns.NftCommit(spoofTable().String(), &tx)
}

func addSpoofTable(tx *kernel.NftTx) {
	hook := spoofHook()
	tx.AddTable(kernel.NftTable{NftTableID: spoofTable(), Comment: spoofTableComment})
	tx.AddChain(kernel.NftChain{NftChainID: spoofBase(), Hook: &hook})
}

// spoofWorks: another policy than ours is its owner's business.
func spoofWorks(base kernel.NftChain) bool {
	want := spoofHook()
	if base.Hook != nil {
		want.Policy = base.Hook.Policy
	}
	return base.Hook != nil && *base.Hook == want
}

func (t *SpoofCheckTable) Observe(_ context.Context, env Env) (engine.State, error) {
	base, ok, err := env.Host.NftChain(spoofBase())
	switch {
	case err != nil && !kernel.Unsupported(err):
		return engine.State{}, err
	case !ok:
		return engine.Absent(), nil
	case !spoofWorks(base):
		return engine.Drifted(errOtherHook.Error()), nil
	}
	return engine.Present(), nil
}

// InUse tells whether anything is in the table, or another made it.
func (t *SpoofCheckTable) InUse(_ context.Context, env Env) (bool, error) {
	table, ok, err := env.Host.NftTable(spoofTable())
	if err != nil || !ok {
		if kernel.Unsupported(err) {
			err = nil
		}
		return false, err
	}
	base, ok, err := env.Host.NftChain(spoofBase())
	if err != nil {
		return false, err
	}
	ours := table.Comment == spoofTableComment && table.Flags == 0
	empty := table.Uses == 0 || ok && table.Uses == 1 && base.Uses == 0
	return !ours || !empty, nil
}

// Remove deletes only what is empty: a rule that came meanwhile makes the
// kernel refuse the whole.
func (t *SpoofCheckTable) Remove(ctx context.Context, env Env) error {
	return deleteUnused(func() (kernel.NftTx, error) {
		var tx kernel.NftTx
		_, there, err := env.Host.NftTable(spoofTable())
		if err != nil || !there {
			return tx, err
		}
		_, base, err := env.Host.NftChain(spoofBase())
		if err != nil {
			return tx, err
		}
		if used, err := t.InUse(ctx, env); err != nil || used {
			return tx, err
		}
		if base {
			tx.DeleteEmptyChain(spoofBase())
		}
		tx.DeleteEmptyTable(spoofTable())
		return tx, nil
	}, env.Host, spoofTable())
}

var _ engine.Shared[Env] = (*SpoofCheckTable)(nil)
