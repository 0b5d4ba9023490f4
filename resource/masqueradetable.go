package resource

import (
	"context"
	"net/netip"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/fairlead-net/fairlead/engine"
	"github.com/fairlead-net/fairlead/kernel"
)

// masqueradeTable is the reference's table for masquerading.
func masqueradeTable() kernel.NftTableID {
	return kernel.NftTableID{Family: kernel.NftInet, Name: "cni_plugins_masquerade"}
}

// masqueradeChecks has the attachments' rules, masqueradeBase leads to them.
func masqueradeChecks() kernel.NftChainID { return masqueradeTable().Chain("masq_checks") }
func masqueradeBase() kernel.NftChainID   { return masqueradeTable().Chain("postrouting") }

const (
	masqueradeTableComment  = "Masquerading for plugins from github.com/containernetworking/plugins"
	masqueradeChecksComment = "Masquerade traffic from certain IPs to any (non-multicast) IP outside their subnet"
)

// MasqueradeTable is the table that Masquerade's rules are in, with the chain
// that leads to them. It goes with the last rule in it, whoever made that.
type MasqueradeTable struct{}

const masqueradeTableKind = "masquerade-table.1"

func (t *MasqueradeTable) Kind() string       { return masqueradeTableKind }
func (t *MasqueradeTable) Key() string        { return masqueradeTable().String() }
func (t *MasqueradeTable) Within() engine.Ref { return "" }

// masqueradeHook is where the base chain is.
func masqueradeHook() kernel.NftHook {
	return kernel.NftHook{Type: "nat", Number: unix.NF_INET_POST_ROUTING, Priority: 100, Policy: nfAccept}
}

const nfAccept = 1 // NF_ACCEPT (linux/netfilter.h)

// masqueradeBaseRules lead all but multicast to the checks.
func masqueradeBaseRules() []kernel.NftRule {
	multicast := func(net string) kernel.NftRule {
		return kernel.NftRule{
			Match:  kernel.NftMatch{Destination: kernel.NftWithin(netip.MustParsePrefix(net))},
			Action: kernel.NftAction{Verb: kernel.NftReturn},
		}
	}
	return []kernel.NftRule{
		multicast("224.0.0.0/4"), multicast("ff00::/8"),
		{Action: kernel.NftAction{Verb: kernel.NftGoto, Chain: masqueradeChecks().Name}},
	}
}

func (t *MasqueradeTable) Create(_ context.Context, env Env) error {
	return needNft(ensureMasqueradeTable(env.Host))
}

// ensureMasqueradeTable makes what is missing.
func ensureMasqueradeTable(ns *kernel.Namespace) error {
	seen, err := lookAtMasqueradeTable(ns)
	if err != nil || seen.works {
		return err
	}
	var tx kernel.NftTx
	addMasqueradeTable(&tx)
	return ns.NftCommit(masqueradeTable().String(), &tx)
}

// addMasqueradeTable makes the table, or completes one that is there. Several
// at once do no harm to one another: the base chain is emptied and filled in
// one transaction.
func addMasqueradeTable(tx *kernel.NftTx) {
	hook := masqueradeHook()
	tx.AddTable(kernel.NftTable{NftTableID: masqueradeTable(), Comment: masqueradeTableComment})
	tx.AddChain(kernel.NftChain{NftChainID: masqueradeChecks(), Comment: masqueradeChecksComment})
	tx.AddChain(kernel.NftChain{NftChainID: masqueradeBase(), Hook: &hook})
	tx.FlushChain(masqueradeBase())
	rules := masqueradeBaseRules()
	for i := range rules {
		tx.AddRule(masqueradeBase(), &rules[i])
	}
}

// masqueradeTableSeen is what a look at the table told.
type masqueradeTableSeen struct {
	exists bool
	works  bool // both chains are there, and the base chain is as it was made
	empty  bool // besides, nothing else is in it
	base   []kernel.NftRule
}

func lookAtMasqueradeTable(ns *kernel.Namespace) (masqueradeTableSeen, error) {
	var seen masqueradeTableSeen
	table, ok, err := ns.NftTable(masqueradeTable())
	if err != nil || !ok {
		return seen, err
	}
	seen.exists = true
	checks, checksOK, err := ns.NftChain(masqueradeChecks())
	if err != nil {
		return seen, err
	}
	base, baseOK, err := ns.NftChain(masqueradeBase())
	if err != nil {
		return seen, err
	}
	if seen.base, err = ns.NftRules(masqueradeBase(), nil); err != nil {
		return seen, err
	}
	seen.works = table.Flags == 0 && checksOK && checks.Hook == nil &&
		baseOK && base.Hook != nil && *base.Hook == masqueradeHook() &&
		slices.EqualFunc(seen.base, masqueradeBaseRules(), func(a, b kernel.NftRule) bool {
			a.Handle = 0
			return a == b
		})
	// The one use of the checks is the way to them, then; two chains are all.
	seen.empty = seen.works && checks.Uses == 1 && table.Uses == 2 &&
		oneOf(table.Comment, "", masqueradeTableComment) && oneOf(checks.Comment, "", masqueradeChecksComment)
	return seen, nil
}

func oneOf(s string, all ...string) bool { return slices.Contains(all, s) }

func (t *MasqueradeTable) Observe(_ context.Context, env Env) (engine.State, error) {
	seen, err := lookAtMasqueradeTable(env.Host)
	switch {
	case err != nil && !kernel.Unsupported(err):
		return engine.State{}, err
	case !seen.exists:
		return engine.Absent(), nil
	case !seen.works:
		return engine.Drifted("the table " + masqueradeTable().String() + " does not lead to its rules"), nil
	}
	return engine.Present(), nil
}

// InUse tells whether anything is in the table that is not always there.
func (t *MasqueradeTable) InUse(_ context.Context, env Env) (bool, error) {
	seen, err := lookAtMasqueradeTable(env.Host)
	if kernel.Unsupported(err) {
		return false, nil
	}
	return seen.exists && !seen.empty, err
}

// Remove deletes exactly what was seen: a rule that came meanwhile, the
// reference's for one, makes the kernel refuse the whole.
func (t *MasqueradeTable) Remove(_ context.Context, env Env) error {
	return deleteUnused(func() (kernel.NftTx, error) {
		var tx kernel.NftTx
		seen, err := lookAtMasqueradeTable(env.Host)
		if err != nil || !seen.empty {
			return tx, err
		}
		for _, r := range seen.base {
			tx.DeleteRule(masqueradeBase(), r.Handle)
		}
		tx.DeleteEmptyChain(masqueradeChecks())
		tx.DeleteEmptyChain(masqueradeBase())
		tx.DeleteEmptyTable(masqueradeTable())
		return tx, nil
	}, env.Host, masqueradeTable())
}

// deleteUnused commits what look gives: the deletion of a table that it saw
// unused. If the kernel refuses since it is in use again, look is asked anew.
func deleteUnused(look func() (kernel.NftTx, error), ns *kernel.Namespace, table kernel.NftTableID) error {
	var failed error
	for range tries {
		tx, err := look()
		if kernel.Unsupported(err) || err == nil && tx.Empty() {
			return nil
		}
		if err != nil {
			return err
		}
		failed = ns.NftCommit(table.String(), &tx)
		if kernel.Absent(kernel.ObjectTable, failed) {
			return nil // gone, or about to be made anew by another
		}
		if !kernel.Busy(failed) {
			return failed
		}
	}
	return failed
}

var _ engine.Shared[Env] = (*MasqueradeTable)(nil)
