package resource

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/fairlead-net/fairlead/engine"
	"github.com/fairlead-net/fairlead/kernel"
)

// VRFRules is that packets of a VRF are looked up in its table: in each family
// there is the rule for all VRFs (ip rule: l3mdev), which the kernel makes with
// the first VRF of a namespace, and never again. One that is gone is made anew.
//
// On the host, where a VPC's isolation rests on it, no rule that could take a
// packet of the VRF elsewhere comes before it. Such a rule is its owner's: it is
// named, and left alone.
type VRFRules struct {
	Side Side   `json:"side"`
	VRF  string `json:"vrf"`
}

// vrfRulePriority is where the kernel puts its rule for VRFs.
const vrfRulePriority = 1000

func (v *VRFRules) Kind() string { return "vrf-rules.1" }
func (v *VRFRules) Key() string  { return string(v.Side) + " " + v.VRF }
func (v *VRFRules) Ensured()     {}

func (v *VRFRules) Within() engine.Ref {
	if v.Side == Container {
		return Sandbox
	}
	return ""
}

// AnySuites says that it is the same whoever made it.
func (v *VRFRules) AnySuites() {}

func (v *VRFRules) Create(_ context.Context, env Env) error {
	ns, err := env.At(v.Side)
	if err != nil {
		return err
	}
	seen, err := v.look(ns)
	if err != nil {
		return err
	}
	for _, s := range seen {
		if err := s.obstacle(); err != nil {
			return err
		}
	}
	for _, s := range seen {
		if s.works() {
			continue
		}
		err := ns.AddRule(kernel.Rule{Family: s.family, Priority: vrfRulePriority, L3MDev: true, Protocol: RouteProtocol})
		if err != nil && !kernel.Exists(err) {
			return unsure(err)
		}
	}
	return nil
}

func (v *VRFRules) Observe(_ context.Context, env Env) (engine.State, error) {
	ns, err := env.At(v.Side)
	if err != nil {
		return engine.State{}, err
	}
	seen, err := v.look(ns)
	if err != nil {
		return engine.State{}, err
	}
	var d drift
	for _, s := range seen {
		if !s.works() {
			d.add("%s", s.fault())
		}
	}
	return d.state(), nil
}

// Remove is never DEL's (Ensured).
func (v *VRFRules) Remove(context.Context, Env) error { return nil }

// Ready tells whether a rule is in the way; and whether the VRFs that are there
// lack theirs, so that they are open until the next ADD.
func (v *VRFRules) Ready(_ context.Context, env Env) error {
	if v.Side != Host {
		return nil
	}
	seen, err := v.look(env.Host)
	if err != nil {
		return err
	}
	var errs []error
	for _, s := range seen {
		err := s.obstacle()
		if err == nil && !s.works() {
			var vrfs []kernel.Link
			if vrfs, err = env.Host.LinksOfKind("vrf"); err == nil && len(vrfs) > 0 {
				err = fmt.Errorf("%s, though there are VRFs (ip %srule add pref %d l3mdev)", s.fault(), s.option(), vrfRulePriority)
			}
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// vrfRulesSeen is what a look at the rules of a family told.
type vrfRulesSeen struct {
	family int
	rule   bool         // there is one for all VRFs
	taker  *kernel.Rule // the first that could take a packet before that one, or instead of it
}

func (s vrfRulesSeen) works() bool { return s.rule && s.taker == nil }

// obstacle is that a rule of our own would come too late as well.
func (s vrfRulesSeen) obstacle() error {
	if s.taker == nil || s.taker.Priority > vrfRulePriority {
		return nil
	}
	return engine.Conflict(fmt.Errorf(
		"%s: move it behind the rule for VRFs, or put one before it (ip %srule add pref N l3mdev)", s.fault(), s.option()))
}

func (s vrfRulesSeen) fault() string {
	name := "IPv4"
	if s.family == unix.AF_INET6 {
		name = "IPv6"
	}
	if s.taker != nil && (s.rule || s.taker.Priority <= vrfRulePriority) {
		return fmt.Sprintf("the %s rule %q could take a packet of the VPC before the rule for VRFs does", name, s.taker)
	}
	return fmt.Sprintf("there is no %s rule that leads to the tables of VRFs", name)
}

func (s vrfRulesSeen) option() string {
	if s.family == unix.AF_INET6 {
		return "-6 "
	}
	return ""
}

// look gives what there is of each family that the kernel has.
func (v *VRFRules) look(ns *kernel.Namespace) ([]vrfRulesSeen, error) {
	rules, err := ns.Rules(0)
	if err != nil {
		return nil, err
	}
	ipv6, err := hasIPv6(ns)
	if err != nil {
		return nil, err
	}
	var all []vrfRulesSeen
	for _, family := range []int{unix.AF_INET, unix.AF_INET6} {
		if family == unix.AF_INET6 && !ipv6 {
			continue
		}
		s := vrfRulesSeen{family: family}
		for _, r := range rules {
			if r.Family != family {
				continue
			}
			if s.rule = forAllVRFs(r); s.rule {
				break
			}
			if s.taker != nil || v.Side != Host {
				continue // in a container others' rules are its own affair
			}
			takes, err := v.takes(ns, r)
			if err != nil {
				return nil, err
			}
			if takes {
				s.taker = &r
			}
		}
		all = append(all, s)
	}
	return all, nil
}

// forAllVRFs tells whether a rule sends each packet of a VRF to that one's table.
func forAllVRFs(r kernel.Rule) bool {
	return r == kernel.Rule{
		Family: r.Family, Priority: r.Priority, Protocol: r.Protocol, Table: r.Table,
		L3MDev: true, Action: kernel.RuleToTable,
	}
}

// takes tells whether a rule could lead a packet of the VRF to where it does not
// belong. Whatever a packet may look like, it can: so only what it does, and an
// interface that it names, can rule that out. One that drops packets lets none
// out. The table of local addresses comes first on every host (docs/vpc.md,
// Limits).
func (v *VRFRules) takes(ns *kernel.Namespace, r kernel.Rule) (bool, error) {
	switch {
	case r.L3MDev, r.Action == kernel.RuleToTable && r.Table == unix.RT_TABLE_LOCAL:
		return false, nil
	case r.Action == kernel.RuleGoto:
		if r.Goto <= vrfRulePriority {
			return false, nil // what is there is looked at by itself
		}
	case r.Action != kernel.RuleToTable:
		return false, nil
	}
	vrf, kind, err := vrfLink(ns, v.VRF)
	if err != nil {
		return false, err
	}
	if vrf != nil && r.Action == kernel.RuleToTable && r.Table == kind.Table {
		return false, nil
	}
	for _, name := range []string{r.InLink, r.OutLink} {
		if name == "" || name == v.VRF || r.Invert {
			continue
		}
		link, ok, err := ns.Link(name)
		if err != nil {
			return false, err
		}
		if !ok || link.Name != name || vrf == nil || link.Master != vrf.Index {
			return false, nil // of another link
		}
	}
	return true, nil
}
