package resource

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/fairlead-net/fairlead/attachment"
	"github.com/fairlead-net/fairlead/kernel"
)

// SweepMasquerade removes the rules of a network that are no attachment's of
// those in valid, whichever suite made them; without force it only names them
// (kept): nobody can say of a rule whether its namespace lives.
func SweepMasquerade(ctx context.Context, env Env, network string, valid []attachment.ID, force bool) (removed, kept []string, err error) {
	s := sweep{network: network}
	owners := map[string]bool{}
	ids := map[attachment.ID]bool{}
	for _, id := range valid {
		owners[masqueradeOwner(network, id.Container, id.IfName)] = true
		ids[attachment.ID{Container: id.Container, IfName: id.IfName}] = true
		ids[attachment.ID{Container: id.Container}] = true
	}
	s.judge = func(m mark) sweepVerdict {
		known := owners[m.owner]
		if m.owner == "" {
			known = ids[attachment.ID{Container: m.container, IfName: m.ifName}]
		}
		switch {
		case known:
			return sweepLeave
		case force:
			return sweepRemove
		}
		return sweepName
	}
	err = s.run(ctx, env.Host)
	return s.removed, s.kept, err
}

// Sweep is SweepMasquerade for those who judge by name: what keep says no to is
// removed. A comment may be too short for the container's whole name; such
// rules are kept, and named.
func (m *Masquerade) Sweep(ctx context.Context, env Env, network string, keep func(containerID, ifName string) bool) (removed, kept []string, err error) {
	s := sweep{network: network}
	s.judge = func(m mark) sweepVerdict {
		switch {
		case !m.whole:
			return sweepName
		case keep(m.container, m.ifName):
			return sweepLeave
		}
		return sweepRemove
	}
	err = s.run(ctx, env.Host)
	return s.removed, s.kept, err
}

type sweepVerdict int

const (
	sweepLeave sweepVerdict = iota
	sweepName
	sweepRemove
)

// mark is whose a rule is, as far as it says.
type mark struct {
	owner     string // "" where only the container is known
	container string
	ifName    string // "" where it is not known
	whole     bool   // the names are complete
}

type sweep struct {
	network       string
	judge         func(mark) sweepVerdict
	removed, kept []string
}

func (s *sweep) run(ctx context.Context, ns *kernel.Namespace) error {
	return errors.Join(s.nft(ns), s.iptables(ctx, ns, kernel.NftIPv4), s.iptables(ctx, ns, kernel.NftIPv6))
}

// passes judges a thing and tells whether it is to be removed.
func (s *sweep) passes(m mark, what string) bool {
	v := s.judge(m)
	if v == sweepName {
		s.kept = append(s.kept, what)
	}
	return v == sweepRemove
}

func (s *sweep) nft(ns *kernel.Namespace) error {
	prefix := masqueradeNetwork(s.network) + "-"
	rules, err := ns.NftRules(masqueradeChecks(), func(c string) bool { return strings.HasPrefix(c, prefix) })
	if kernel.Unsupported(err) {
		return nil
	}
	if err != nil {
		return err
	}
	var stale []kernel.NftRule
	for _, r := range rules {
		if s.passes(readMark(s.network, r.Comment), "masquerade rule "+r.Comment) {
			stale = append(stale, r)
		}
	}
	// One by one: that another call deletes one of them does not keep the rest.
	for _, r := range stale {
		err := deleteRules(ns, r.Comment, masqueradeChecks(), []kernel.NftRule{r})
		if err != nil && !kernel.Absent(kernel.ObjectNftRule, err) {
			return err
		}
		s.removed = append(s.removed, "masquerade rule "+r.Comment)
	}
	return nil
}

// readMark reads a comment. The hash at its head tells whether the names after
// it are complete.
func readMark(network, comment string) mark {
	owner, rest, _ := strings.Cut(comment, ", ")
	m := mark{owner: owner}
	_, rest, ok := strings.Cut(rest, ", if: ")
	if !ok {
		return m
	}
	m.ifName, m.container, _ = strings.Cut(rest, ", id: ")
	m.whole = masqueradeOwner(network, m.container, m.ifName) == owner
	return m
}

// iptables looks for chains of the network's containers, by what jumps to them.
func (s *sweep) iptables(ctx context.Context, ns *kernel.Namespace, f kernel.NftFamily) error {
	jumps, err := ns.NftRules(natTable(f).Chain(postrouting), nil)
	if err != nil && !kernel.Unsupported(err) {
		return err
	}
	legacy, err := ns.IPTablesLegacyTable(f, "nat")
	if err != nil {
		return err
	}
	if legacy {
		chains, err := ns.IPTablesLegacyRules(ctx, f, "nat")
		if err != nil {
			return err
		}
		jumps = append(jumps, chains[postrouting]...)
	}
	seen := map[string]bool{}
	for _, j := range jumps {
		var network, container string
		n, _ := fmt.Sscanf(j.Comment, "name: %q id: %q", &network, &container)
		if n != 2 || network != s.network || j.Action.Chain != natChain(network, container) || seen[container] {
			continue
		}
		seen[container] = true
		if err := s.container(ctx, ns, f, container); err != nil {
			return err
		}
	}
	return nil
}

// container judges the owners of a container's chain, one after another.
func (s *sweep) container(ctx context.Context, ns *kernel.Namespace, f kernel.NftFamily, container string) error {
	m := &Masquerade{Network: s.network, Container: container}
	traces, err := m.natTraces(ctx, ns, f)
	if err != nil {
		return err
	}
	for _, t := range traces {
		if err := s.trace(ctx, ns, m, t); err != nil {
			return err
		}
	}
	return nil
}

func (s *sweep) trace(ctx context.Context, ns *kernel.Namespace, m *Masquerade, t natTrace) error {
	var jumps, marks []kernel.NftRule
	var what []string
	for _, j := range t.jumps {
		whose := mark{container: m.Container, whole: true}
		if c := t.markOf(j); c != "" {
			whose = readMark(s.network, c)
			whose.container = m.Container // never cut, in the jump's comment
			whose.whole = masqueradeOwner(s.network, m.Container, whose.ifName) == whose.owner
		}
		name := fmt.Sprintf("masquerade chain %s for %s of container %s", j.Action.Chain, j.Match.Source.Prefix, m.Container)
		if !s.passes(whose, name) {
			continue
		}
		jumps, what = append(jumps, j), append(what, name)
		for _, r := range t.chain {
			if r.Action.Verb == kernel.NftNothing && r.Match == j.Match {
				marks = append(marks, r)
			}
		}
	}
	if len(jumps) == 0 {
		return nil
	}
	whole := len(jumps) == len(t.jumps)
	if whole {
		marks = nil
	}
	err := m.deleteNAT(ctx, ns, t, jumps, marks, whole)
	if err == nil {
		s.removed = append(s.removed, what...)
	}
	return err
}
