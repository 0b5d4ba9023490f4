package resource

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"strings"

	"github.com/fairlead-net/fairlead/engine"
	"github.com/fairlead-net/fairlead/kernel"
)

// With iptables an attachment has rules in a chain of its container, and one
// rule an address that jumps there. In the reference's chain nothing tells
// which interface an address is of (case 27). So we put a rule without a target
// beside them that does: from the address, with the comment that nftables rules
// have. The reference's DEL empties the chain, and takes it away too.

const postrouting = "POSTROUTING"

func natTable(f kernel.NftFamily) kernel.NftTableID {
	return kernel.NftTableID{Family: f, Name: "nat"}
}

// natTrace is what there is of a container's chain.
type natTrace struct {
	family kernel.NftFamily
	legacy bool
	chain  []kernel.NftRule
	jumps  []kernel.NftRule // in POSTROUTING, to the chain
}

// natTraces finds the container's chain in either family, made by either
// variant of iptables. Nothing is forked unless the legacy variant has it.
func (m *Masquerade) natTraces(ctx context.Context, ns *kernel.Namespace, family kernel.NftFamily) ([]natTrace, error) {
	name := natChain(m.Network, m.Container)
	var traces []natTrace
	_, ok, err := ns.NftChain(natTable(family).Chain(name))
	if err != nil && !kernel.Unsupported(err) {
		return nil, err
	}
	if ok {
		t, err := nftTrace(ns, family, name)
		if err != nil {
			return nil, err
		}
		traces = append(traces, t)
	}
	ok, err = ns.IPTablesLegacyChain(family, "nat", name)
	if err != nil && !kernel.Unsupported(err) {
		return nil, err
	}
	if ok {
		chains, err := ns.IPTablesLegacyRules(ctx, family, "nat")
		if err != nil {
			return nil, err
		}
		traces = append(traces, natTrace{family: family, legacy: true, chain: chains[name], jumps: jumpsTo(name, chains[postrouting])})
	}
	return traces, nil
}

func nftTrace(ns *kernel.Namespace, family kernel.NftFamily, name string) (natTrace, error) {
	t := natTrace{family: family}
	var err error
	if t.chain, err = ns.NftRules(natTable(family).Chain(name), nil); err != nil {
		return t, err
	}
	rules, err := ns.NftRules(natTable(family).Chain(postrouting), nil)
	t.jumps = jumpsTo(name, rules)
	return t, err
}

func jumpsTo(chain string, rules []kernel.NftRule) []kernel.NftRule {
	return slices.DeleteFunc(slices.Clone(rules), func(r kernel.NftRule) bool {
		return r.Action != kernel.NftAction{Verb: kernel.NftJump, Chain: chain}
	})
}

// markOf is the mark that the chain has for the jump's address; "" where the
// reference made it.
func (t natTrace) markOf(jump kernel.NftRule) string {
	for _, r := range t.chain {
		if r.Action.Verb == kernel.NftNothing && r.Match == jump.Match {
			return r.Comment
		}
	}
	return ""
}

// mine tells whether a jump is this attachment's: by its mark, else by the
// address if we know ours, else it is taken for ours, as the reference does.
func (m *Masquerade) mine(t natTrace, jump kernel.NftRule) bool {
	if mark := t.markOf(jump); mark != "" {
		return strings.HasPrefix(mark, m.owner())
	}
	if len(m.Addresses) == 0 {
		return true
	}
	return slices.ContainsFunc(m.Addresses, func(a netip.Prefix) bool {
		// Older releases of the reference wrote the network.
		return jump.Match.Source.Prefix == host(a.Addr()) || jump.Match.Source.Prefix == a.Masked()
	})
}

// families are the families that the attachment has addresses of.
func (m *Masquerade) families() []kernel.NftFamily {
	var all []kernel.NftFamily
	for _, f := range []kernel.NftFamily{kernel.NftIPv4, kernel.NftIPv6} {
		if len(m.Addresses) == 0 || len(m.in(f)) > 0 {
			all = append(all, f)
		}
	}
	return all
}

func (m *Masquerade) in(f kernel.NftFamily) []netip.Prefix {
	return slices.DeleteFunc(slices.Clone(m.Addresses), func(a netip.Prefix) bool {
		return a.Addr().Is4() != (f == kernel.NftIPv4)
	})
}

func (m *Masquerade) createIPTables(ctx context.Context, ns *kernel.Namespace) error {
	if len(m.Addresses) == 0 {
		return nil
	}
	for i, f := range m.families() {
		if err := m.createNAT(ctx, ns, f); err != nil {
			if i > 0 {
				return engine.Partial(err)
			}
			return unsure(err)
		}
	}
	return nil
}

// createNAT adds to a chain that is there what it lacks: it may be that of
// another interface of the container.
func (m *Masquerade) createNAT(ctx context.Context, ns *kernel.Namespace, f kernel.NftFamily) error {
	traces, err := m.natTraces(ctx, ns, f)
	if err != nil {
		return err
	}
	var lines []string
	t := natTrace{family: f}
	if len(traces) == 0 {
		lines = append(lines, "-N "+natChain(m.Network, m.Container))
	} else {
		t = traces[0]
	}
	lines = append(lines, m.missingNAT(t)...)
	return ns.IPTablesRestore(ctx, f, t.legacy, "nat", lines)
}

// natRules is what the attachment needs: marks, then exceptions, then what is
// masqueraded, all in the chain; and the jumps.
func (m *Masquerade) natRules(f kernel.NftFamily) (chain, jumps []kernel.NftRule) {
	multicast := netip.MustParsePrefix("224.0.0.0/4")
	if f == kernel.NftIPv6 {
		multicast = netip.MustParsePrefix("ff00::/8")
	}
	comment := natComment(m.Network, m.Container)
	for _, a := range m.in(f) {
		from := kernel.NftMatch{Source: kernel.NftWithin(host(a.Addr()))}
		jumps = append(jumps, kernel.NftRule{
			Match: from, Comment: comment,
			Action: kernel.NftAction{Verb: kernel.NftJump, Chain: natChain(m.Network, m.Container)},
		})
		chain = append(chain,
			kernel.NftRule{Match: from, Comment: m.comment()},
			kernel.NftRule{
				Match: kernel.NftMatch{Destination: kernel.NftWithin(a)}, Comment: comment,
				Action: kernel.NftAction{Verb: kernel.NftAccept},
			})
	}
	return append(chain, kernel.NftRule{
		Match: kernel.NftMatch{Destination: kernel.NftOutside(multicast)}, Comment: comment,
		Action: kernel.NftAction{Verb: kernel.NftMasquerade},
	}), jumps
}

// missingNAT is what adds the rules that the trace lacks. The chain's
// exceptions go to its head: at its end they would come too late.
func (m *Masquerade) missingNAT(t natTrace) []string {
	var lines []string
	chain, jumps := m.natRules(t.family)
	name := natChain(m.Network, m.Container)
	for _, r := range chain {
		how := "-I "
		if r.Action.Verb == kernel.NftMasquerade {
			how = "-A "
		}
		if !hasRule(t.chain, r) {
			lines = append(lines, how+name+natWords(r))
		}
	}
	for _, r := range jumps {
		if !hasRule(t.jumps, r) {
			lines = append(lines, "-A "+postrouting+natWords(r))
		}
	}
	return lines
}

func hasRule(rules []kernel.NftRule, want kernel.NftRule) bool {
	return slices.ContainsFunc(rules, func(r kernel.NftRule) bool {
		return !r.Foreign && r.Match == want.Match && r.Action == want.Action &&
			(want.Action.Verb != kernel.NftNothing || r.Comment == want.Comment)
	})
}

// natWords writes a rule as iptables-restore takes it.
func natWords(r kernel.NftRule) string {
	words := ""
	for _, c := range []struct {
		option string
		net    kernel.NftNet
	}{{"-s", r.Match.Source}, {"-d", r.Match.Destination}} {
		if c.net.Not {
			words += " !"
		}
		if c.net.Prefix.IsValid() {
			words += " " + c.option + " " + c.net.Prefix.String()
		}
	}
	switch r.Action.Verb {
	case kernel.NftAccept:
		words += " -j ACCEPT"
	case kernel.NftMasquerade:
		words += " -j MASQUERADE"
	case kernel.NftJump:
		words += " -j " + r.Action.Chain
	}
	return words + " -m comment --comment " + kernel.IPTablesQuote(r.Comment)
}

func (m *Masquerade) observeIPTables(ctx context.Context, ns *kernel.Namespace) (engine.State, error) {
	var d drift
	found := false
	for _, f := range m.families() {
		traces, err := m.natTraces(ctx, ns, f)
		if err != nil {
			return engine.State{}, err
		}
		var t natTrace
		for _, t = range traces {
			found = found || slices.ContainsFunc(t.jumps, func(j kernel.NftRule) bool { return m.mine(t, j) })
		}
		chain, jumps := m.natRules(f)
		for _, r := range jumps {
			if !hasRule(t.jumps, r) {
				d.add("no rule masquerades %s", r.Match.Source.Prefix.Addr())
			}
		}
		for _, r := range chain {
			// The reference makes no marks.
			if r.Action.Verb != kernel.NftNothing && len(jumps) > 0 && !hasRule(t.chain, r) {
				d.add("the chain %s lacks%s", natChain(m.Network, m.Container), natWords(r))
			}
		}
	}
	if !found {
		return engine.Absent(), nil
	}
	return d.state(), nil
}

// removeIPTables takes away the attachment's jumps, and the chain once nothing
// jumps to it.
func (m *Masquerade) removeIPTables(ctx context.Context, ns *kernel.Namespace) error {
	for _, f := range []kernel.NftFamily{kernel.NftIPv4, kernel.NftIPv6} {
		if err := m.removeNAT(ctx, ns, f); err != nil {
			return err
		}
	}
	return nil
}

func (m *Masquerade) removeNAT(ctx context.Context, ns *kernel.Namespace, f kernel.NftFamily) error {
	var failed error
	for range tries {
		traces, err := m.natTraces(ctx, ns, f)
		if err != nil {
			return err
		}
		failed = nil
		for _, t := range traces {
			failed = errors.Join(failed, m.removeTrace(ctx, ns, t))
		}
		if failed == nil {
			return nil
		}
		// Others may have changed the rules meanwhile: look again.
	}
	return failed
}

func (m *Masquerade) removeTrace(ctx context.Context, ns *kernel.Namespace, t natTrace) error {
	isMine := func(j kernel.NftRule) bool { return m.mine(t, j) }
	if !slices.ContainsFunc(t.jumps, func(j kernel.NftRule) bool { return !isMine(j) }) {
		return m.deleteNAT(ctx, ns, t, t.jumps, nil, true)
	}
	jumps := slices.DeleteFunc(slices.Clone(t.jumps), func(j kernel.NftRule) bool { return !isMine(j) })
	marks := slices.DeleteFunc(slices.Clone(t.chain), func(r kernel.NftRule) bool {
		return r.Action.Verb != kernel.NftNothing || !strings.HasPrefix(r.Comment, m.owner())
	})
	return m.deleteNAT(ctx, ns, t, jumps, marks, false)
}

// deleteNAT deletes jumps and marks, and the whole chain if asked to, in one
// transaction. What the nft variant of iptables made needs no iptables for it.
func (m *Masquerade) deleteNAT(ctx context.Context, ns *kernel.Namespace, t natTrace, jumps, marks []kernel.NftRule, whole bool) error {
	name := natChain(m.Network, m.Container)
	if t.legacy {
		var lines []string
		for _, r := range jumps {
			lines = append(lines, "-D "+postrouting+natWords(r))
		}
		for _, r := range marks {
			lines = append(lines, "-D "+name+natWords(r))
		}
		if whole {
			lines = append(lines, "-F "+name, "-X "+name)
		}
		if len(lines) == 0 {
			return nil
		}
		return ns.IPTablesRestore(ctx, t.family, true, "nat", lines)
	}
	table := natTable(t.family)
	var tx kernel.NftTx
	for _, r := range jumps {
		tx.DeleteRule(table.Chain(postrouting), r.Handle)
	}
	for _, r := range marks {
		tx.DeleteRule(table.Chain(name), r.Handle)
	}
	if whole {
		tx.DeleteChain(table.Chain(name))
	}
	return ns.NftCommit(name, &tx)
}
