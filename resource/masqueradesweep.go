package resource

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"

	"github.com/fairlead-net/fairlead/kernel"
)

// Sweep removes the rules of a network that are no valid attachment's,
// whichever suite made them: with force; without, it only names them.
func (m *Masquerade) Sweep(ctx context.Context, env Env, asked Sweep) (removed, kept []string, err error) {
	s := sweep{network: asked.Network, env: env, asked: m.Backend == BackendIPTables}
	owners := map[string]bool{}
	containers := map[string]bool{}
	for id := range asked.Valid {
		owners[masqueradeOwner(asked.Network, id.Container, id.IfName)] = true
		containers[id.Container] = true
	}
	s.judge = func(m mark) sweepVerdict {
		known := owners[m.owner]
		if m.owner == "" {
			known = containers[m.container]
		}
		switch {
		case known:
			return sweepLeave
		case asked.Force:
			return sweepRemove
		}
		return sweepName
	}
	err = s.run(ctx)
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
}

type sweep struct {
	network string
	env     Env
	// asked: iptables is what the network is to have.
	asked         bool
	judge         func(mark) sweepVerdict
	removed, kept []string
}

func (s *sweep) run(ctx context.Context) error {
	ns := s.env.Host
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
		if s.passes(readMark(r.Comment), "masquerade rule "+r.Comment) {
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

// readMark reads a comment: the hash at its head is the owner, whatever of the
// names after it was cut.
func readMark(comment string) mark {
	owner, _, _ := strings.Cut(comment, ", ")
	return mark{owner: owner}
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
		if errors.Is(err, exec.ErrNotFound) && !s.asked {
			// Another's, most likely: a network of nftables has nothing in it, unless
			// it was one of iptables once. DEL asks the kernel for its own chain.
			s.env.warn("the %s table of the legacy iptables was not looked through for rules of network %s: %v", natTable(f), s.network, err)
			chains, err = nil, nil
		}
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
		whose := mark{container: m.Container}
		if c := t.markOf(j); c != "" {
			whose = readMark(c)
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
