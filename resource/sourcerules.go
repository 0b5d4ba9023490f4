package resource

import (
	"context"
	"fmt"
	"net/netip"
	"slices"

	"github.com/fairlead-net/fairlead/attachment"
	"github.com/fairlead-net/fairlead/engine"
	"github.com/fairlead-net/fairlead/kernel"
)

// SourceRules are the rules of the container by which packets from addresses of
// an interface are routed by tables of their own. They do not go with the
// interface.
type SourceRules struct {
	On
	Rules   []SourceRule  `json:"rules,omitempty"`   // none, and none carried: not known
	Carried []CarriedRule `json:"carried,omitempty"` // from the host, in order
	// What a removal without the journal goes by: whose the interface is, the
	// table that the configuration names, and the interface's addresses as far
	// as known.
	Owner     attachment.Owner `json:"owner,omitempty"`
	Table     uint32           `json:"table,omitempty"`
	Addresses []netip.Addr     `json:"addresses,omitempty"`

	// Index is what Create saw of the interface: a hint.
	Index int `json:"index,omitempty"`
}

// SourceRule says which table packets from an address are routed by.
type SourceRule struct {
	From  netip.Addr `json:"from"`
	Table uint32     `json:"table"`
}

func (r SourceRule) String() string {
	return fmt.Sprintf("the rule from %s to table %d", r.From, r.Table)
}

// sourceRuleProtocol is who the kernel says made our rules: a number that is
// in no list of them.
const sourceRuleProtocol = 0x66

// rule is how the kernel's room says it.
func (r SourceRule) rule() kernel.Rule {
	return kernel.Rule{From: netip.PrefixFrom(r.From, r.From.BitLen()), Table: r.Table, Protocol: sourceRuleProtocol}
}

func (s *SourceRules) Kind() string { return "source-rules.1" }
func (s *SourceRules) Key() string  { return s.key() }

// AnySuites says that a rule is one whoever made it.
func (s *SourceRules) AnySuites() {}

// Create adds the rules. One of ours that is there already is another call's;
// the kernel would take a second one.
func (s *SourceRules) Create(_ context.Context, env Env) error {
	ns, link, _, err := s.find(env) // index 0 where there is none
	if err != nil {
		return err
	}
	s.Index = link.Index
	all, err := ns.Rules(0)
	if err != nil {
		return err
	}
	for _, r := range s.Rules {
		if slices.ContainsFunc(all, func(k kernel.Rule) bool { return r.isOf(k) && k.Protocol == sourceRuleProtocol }) {
			return engine.Conflict(fmt.Errorf("%s is there already", r))
		}
	}
	for _, r := range s.Carried {
		if slices.ContainsFunc(all, func(k kernel.Rule) bool { return r.isOf(k, s.Link) }) {
			return engine.Conflict(fmt.Errorf("the rule %s is there already", r.rule(s.Link)))
		}
	}
	for i, r := range s.rules() {
		if err := ns.AddRule(r); err != nil && i == 0 {
			return unsure(err)
		} else if err != nil {
			return engine.Partial(err)
		}
	}
	return nil
}

// rules are all, as the kernel's room says them.
func (s *SourceRules) rules() []kernel.Rule {
	list := make([]kernel.Rule, 0, len(s.Rules)+len(s.Carried))
	for _, r := range s.Rules {
		list = append(list, r.rule())
	}
	for _, r := range s.Carried {
		list = append(list, r.rule(s.Link))
	}
	return list
}

// Observe asks for each rule, or where none is known for one from each address.
func (s *SourceRules) Observe(_ context.Context, env Env) (engine.State, error) {
	ns, err := env.At(s.Side)
	if err != nil {
		return engine.State{}, err
	}
	all, err := ns.Rules(0)
	if err != nil {
		return engine.State{}, err
	}
	wanted := s.Rules
	for _, a := range s.Addresses {
		wanted = append(wanted[:len(wanted):len(wanted)], SourceRule{From: a, Table: s.Table})
	}
	var d drift
	for _, w := range wanted {
		if !slices.ContainsFunc(all, w.isOf) {
			d.add("%s is missing", w)
		}
	}
	for _, r := range s.Carried {
		if !slices.ContainsFunc(all, func(k kernel.Rule) bool { return r.isOf(k, s.Link) }) {
			d.add("the rule %s is missing", r.rule(s.Link))
		}
	}
	if len(d) > 0 && len(d) == len(wanted)+len(s.Carried) {
		return engine.State{Is: engine.IsAbsent, Detail: d.state().Detail}, nil
	}
	return d.state(), nil
}

// isOf tells whether the kernel's rule is this one; table 0 is any.
func (r SourceRule) isOf(k kernel.Rule) bool {
	from, ok := sourceOf(k)
	return ok && from == r.From && (r.Table == 0 || r.Table == k.Table)
}

// sourceOf is the address whose packets a rule sends to a table; false for a
// rule that says anything else.
func sourceOf(k kernel.Rule) (netip.Addr, bool) {
	plain := kernel.Rule{
		Family: k.Family, Priority: k.Priority, From: k.From, Table: k.Table,
		Action: kernel.RuleToTable, Protocol: k.Protocol,
	}
	return k.From.Addr(), k == plain && k.From.IsValid() && k.From.IsSingleIP()
}

func (s *SourceRules) Remove(_ context.Context, env Env) error {
	ns, err := env.At(s.Side)
	if err != nil {
		return err
	}
	rules := s.rules()
	if len(rules) == 0 {
		if rules, err = s.strays(env, ns); err != nil {
			return err
		}
	}
	for _, r := range rules {
		if _, err := ns.DelRule(r); err != nil && !kernel.Unsupported(err) {
			return err
		}
	}
	return nil
}
