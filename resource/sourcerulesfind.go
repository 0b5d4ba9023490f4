package resource

import (
	"net/netip"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/fairlead-net/fairlead/kernel"
)

// strays finds the interface's rules without the journal, ours and those of the
// reference suite, which say of nobody that they made them. A rule is the
// interface's if it is from one of its addresses to the configured table, or if
// its table is empty or routes by way of this interface alone. Then it must not
// be from an address of another interface: that one's table may be as empty.
// What we carried into the container may ask for more than an address, and lead
// to a table that everybody uses, or to none. None are the interface's, where that
// is another owner's.
func (s *SourceRules) strays(env Env, ns *kernel.Namespace) ([]kernel.Rule, error) {
	all, err := ns.Rules(0)
	if err != nil {
		return nil, err
	}
	candidates := slices.DeleteFunc(all, func(r kernel.Rule) bool {
		_, plain := sourceOf(r)
		theirs := plain && r.Protocol == unix.RTPROT_UNSPEC && !common(r.Table)
		return !r.From.IsValid() || r.Protocol != sourceRuleProtocol && !theirs
	})
	if len(candidates) == 0 {
		return nil, nil
	}
	link, _, err := ns.Link(s.Link) // index 0 where there is none
	if err != nil {
		return nil, err
	}
	if other, err := anothers(env, link, s.Owner); err != nil || other {
		return nil, err
	}
	addresses, err := ns.Addresses(0)
	if err != nil {
		return nil, err
	}
	var found []kernel.Rule
	for _, r := range candidates {
		own, others := s.whose(r.From, link.Index, addresses)
		ours := own && r.Table == s.Table
		switch {
		case ours || others:
		case common(r.Table):
			ours = own
		default:
			if ours, err = emptyOrBy(ns, r.Table, link.Index); err != nil {
				return nil, err
			}
		}
		if ours {
			found = append(found, r)
		}
	}
	return found, nil
}

// common tells whether the table is no interface's own.
func common(table uint32) bool { return table == 0 || KernelTable(table) }

// whose tells whether the address, or one of the network, is known to be the
// interface's, and whether one is another's.
func (s *SourceRules) whose(from netip.Prefix, link int, addresses []kernel.Address) (own, others bool) {
	own = slices.ContainsFunc(s.Addresses, from.Contains)
	for _, k := range addresses {
		if from.Contains(k.Prefix.Addr()) {
			own, others = own || k.Link == link, others || k.Link != link
		}
	}
	return own, others
}

// emptyOrBy tells whether every route of the table leads by the link.
func emptyOrBy(ns *kernel.Namespace, table uint32, link int) (bool, error) {
	routes, err := ns.Routes(kernel.RouteFilter{Table: table})
	return !slices.ContainsFunc(routes, func(r kernel.Route) bool {
		return link == 0 || len(r.NextHops) > 0 || r.Link != link
	}), err
}
