package resource

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/fairlead-net/fairlead/engine"
	"github.com/fairlead-net/fairlead/kernel"
)

// tries is how often a change is tried anew when others changed what it rests
// on between the look and the change.
const tries = 5

// masqueradeRule is the rule of one address.
func masqueradeRule(addr netip.Prefix) kernel.NftRule {
	return kernel.NftRule{
		Match: kernel.NftMatch{
			Source:      kernel.NftWithin(host(addr.Addr())),
			Destination: kernel.NftOutside(addr),
		},
		Action: kernel.NftAction{Verb: kernel.NftMasquerade},
	}
}

// host is the prefix that has one address.
func host(addr netip.Addr) netip.Prefix { return netip.PrefixFrom(addr, addr.BitLen()) }

func (m *Masquerade) createNft(ns *kernel.Namespace) error {
	err := m.addRules(ns, &kernel.NftTx{})
	if kernel.Absent(kernel.ObjectChain, err) {
		// Somebody flushed the rule set since the table was made.
		var tx kernel.NftTx
		addMasqueradeTable(&tx)
		err = m.addRules(ns, &tx)
	}
	return needNft(unsure(err))
}

// addRules adds the rules to what is in tx, and commits it.
func (m *Masquerade) addRules(ns *kernel.Namespace, tx *kernel.NftTx) error {
	rules := make([]kernel.NftRule, len(m.Addresses))
	for i, addr := range m.Addresses {
		rules[i] = masqueradeRule(addr)
		rules[i].Comment = m.comment()
		tx.AddRule(masqueradeChecks(), &rules[i])
	}
	if err := ns.NftCommit(m.owner(), tx); err != nil {
		return err
	}
	m.Handles = nil
	for _, r := range rules {
		m.Handles = append(m.Handles, r.Handle)
	}
	return nil
}

// findNft gives the attachment's rules. sure: they are those that Create made,
// each found by its handle, at a cost that does not depend on others' rules.
// Else the chain was gone through.
func (m *Masquerade) findNft(ns *kernel.Namespace) (rules []kernel.NftRule, sure bool, err error) {
	mine := func(comment string) bool { return strings.HasPrefix(comment, m.owner()) }
	for _, handle := range m.Handles {
		// In a table that was made anew the handle may be another's.
		r, ok, err := ns.NftRule(masqueradeChecks(), handle)
		if err != nil {
			return nil, false, err
		}
		if ok && mine(r.Comment) {
			rules = append(rules, r)
		}
	}
	if len(rules) > 0 && len(rules) == len(m.Handles) {
		return rules, true, nil
	}
	rules, err = ns.NftRules(masqueradeChecks(), mine)
	return rules, false, err
}

func (m *Masquerade) compareNft(rules []kernel.NftRule) engine.State {
	if len(m.Addresses) == 0 {
		return engine.Present()
	}
	var d drift
	same := func(want kernel.NftRule) func(kernel.NftRule) bool {
		return func(r kernel.NftRule) bool {
			return !r.Foreign && r.Match == want.Match && r.Action == want.Action
		}
	}
	wanted := make([]kernel.NftRule, 0, len(m.Addresses))
	for _, addr := range m.Addresses {
		want := masqueradeRule(addr)
		wanted = append(wanted, want)
		if !slices.ContainsFunc(rules, same(want)) {
			d.add("no rule masquerades %s", addr)
		}
	}
	for _, r := range rules {
		if !slices.ContainsFunc(wanted, same(r)) || r.Foreign {
			d.add("rule %d of %s is not as it was made", r.Handle, masqueradeChecks())
		}
	}
	return d.state()
}

// removeNft deletes the attachment's rules. sure is findNft's.
func (m *Masquerade) removeNft(ns *kernel.Namespace) (sure bool, err error) {
	for range tries {
		var rules []kernel.NftRule
		rules, sure, err = m.findNft(ns)
		if kernel.Unsupported(err) {
			return false, nil
		}
		if err != nil || len(rules) == 0 {
			return false, err
		}
		err = deleteRules(ns, m.owner(), masqueradeChecks(), rules)
		if !kernel.Absent(kernel.ObjectNftRule, err) {
			return sure, err
		}
		// Another call deleted some of them meanwhile.
	}
	return sure, fmt.Errorf("the rules change all the time: %w", err)
}

func deleteRules(ns *kernel.Namespace, about string, chain kernel.NftChainID, rules []kernel.NftRule) error {
	var tx kernel.NftTx
	for _, r := range rules {
		tx.DeleteRule(chain, r.Handle)
	}
	return ns.NftCommit(about, &tx)
}
