//go:build vmtest

package resource

import (
	"context"
	"net/netip"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/fairlead-net/fairlead/engine"
	"github.com/fairlead-net/fairlead/kernel"
)

var bothFamilies = map[string]int{"IPv4": unix.AF_INET, "IPv6": unix.AF_INET6}

func hostRules() *VRFRules { return &VRFRules{Side: Host, VRF: "vpc-blue"} }

// loseRule takes the kernel's rule for VRFs away.
func loseRule(t *testing.T, ns *kernel.Namespace, family int) {
	t.Helper()
	if ok, err := ns.DelRule(kernel.Rule{Family: family, Priority: 1000, L3MDev: true}); !ok || err != nil {
		t.Fatal(ok, err)
	}
}

// TestCase31LostVRFRule: the kernel makes it with the first VRF and never again;
// CHECK and STATUS tell that it is gone, and the next ADD makes it.
func TestCase31LostVRFRule(t *testing.T) {
	t.Parallel()
	for name, family := range bothFamilies {
		for _, side := range []Side{Host, Container} {
			t.Run(name+" "+string(side), func(t *testing.T) {
				t.Parallel()
				ctx, env := context.Background(), newEnv(t)
				ns, r := env.Host, hostRules()
				if side == Container {
					ns, r = env.Container, &VRFRules{Side: Container, VRF: "vpc-blue"}
				}
				noError(t, r.Ready(ctx, env)) // before the first VRF there is none
				noError(t, ns.AddLink(kernel.LinkSpec{Name: "vpc-blue", Kind: kernel.VRFKind{Table: 5000}}))
				wantState(t, env, r, engine.IsPresent)
				rules, err := ns.Rules(0)
				noError(t, err)
				made(t, env, r)
				if after, err := ns.Rules(0); err != nil || len(after) != len(rules) {
					t.Errorf("made twice: %v, %v", after, err)
				}
				loseRule(t, ns, family)
				if s := observe(t, env, r); s.Is != engine.IsDrifted || !strings.Contains(s.Detail, "no "+name+" rule") {
					t.Errorf("%+v", s)
				}
				if err := r.Ready(ctx, env); (err != nil) != (side == Host) {
					t.Errorf("ready: %v", err)
				}
				made(t, env, r)
				wantState(t, env, r, engine.IsPresent)
				noError(t, r.Ready(ctx, env))
			})
		}
	}
}

// TestCase31RuleBeforeTheVRFs: ADD refuses where a rule that comes first could
// take a packet of the VPC, CHECK and STATUS name it; the others are harmless.
func TestCase31RuleBeforeTheVRFs(t *testing.T) {
	t.Parallel()
	prefix := map[int]netip.Prefix{unix.AF_INET: netip.MustParsePrefix("192.0.2.0/24"), unix.AF_INET6: netip.MustParsePrefix("2001:db8::/64")}
	for name, c := range map[string]struct {
		rule  kernel.Rule
		says  string
		fine  bool
		prior bool // there is a rule for all VRFs before it
	}{
		"everything":        {rule: kernel.Rule{Priority: 512, Table: 254}, says: "512:"},
		"first of all":      {rule: kernel.Rule{Priority: 1, Table: 254}, says: "1:"},
		"at 1000":           {rule: kernel.Rule{Priority: 1000, Table: 254}, fine: true},
		"at 999":            {rule: kernel.Rule{Priority: 999, Table: 254}, says: "999:"},
		"behind":            {rule: kernel.Rule{Priority: 1001, Table: 254}, fine: true},
		"protocol":          {rule: kernel.Rule{Priority: 512, IPProto: 17, Table: 254}, says: "512:"},
		"mark":              {rule: kernel.Rule{Priority: 512, Mark: 4, Mask: 12, Table: 254}, says: "fwmark 0x4/0xc"},
		"the VRF":           {rule: kernel.Rule{Priority: 512, InLink: "vpc-blue", Table: 254}, says: "iif vpc-blue"},
		"its member":        {rule: kernel.Rule{Priority: 512, InLink: "member", Table: 254}, says: "iif member"},
		"out by its member": {rule: kernel.Rule{Priority: 512, OutLink: "member", Table: 254}, says: "oif member"},
		"all but another":   {rule: kernel.Rule{Priority: 512, InLink: "uplink", Invert: true, Table: 254}, says: "not"},
		"beyond":            {rule: kernel.Rule{Priority: 512, Action: kernel.RuleGoto, Goto: 32766}, says: "goto 32766"},
		"another":           {rule: kernel.Rule{Priority: 512, InLink: "uplink", Table: 254}, fine: true},
		"out by another":    {rule: kernel.Rule{Priority: 512, OutLink: "uplink", Table: 254}, fine: true},
		"the host's own":    {rule: kernel.Rule{Priority: 512, InLink: "lo", Table: 254}, fine: true},
		"of no link":        {rule: kernel.Rule{Priority: 512, InLink: "none", Table: 254}, fine: true},
		"to its own table":  {rule: kernel.Rule{Priority: 512, InLink: "vpc-blue", Table: 5000}, fine: true},
		"to another's":      {rule: kernel.Rule{Priority: 512, InLink: "vpc-blue", Table: 5001}, says: "5001"},
		"local":             {rule: kernel.Rule{Priority: 512, Table: 255}, fine: true},
		"that stops":        {rule: kernel.Rule{Priority: 512, Action: kernel.RuleProhibit}, fine: true},
		"one of VRFs":       {rule: kernel.Rule{Priority: 512, InLink: "member", L3MDev: true}, fine: true},
		"after one of VRFs": {rule: kernel.Rule{Priority: 512, Table: 254}, fine: true, prior: true},
	} {
		for family, prefix := range prefix {
			t.Run(name+" "+prefix.String(), func(t *testing.T) {
				t.Parallel()
				ctx, env := context.Background(), newEnv(t)
				c, r := c, hostRules()
				c.rule.Family = family
				if c.rule.InLink+c.rule.OutLink == "" && !c.rule.Invert && c.rule.Action == 0 {
					c.rule.To = prefix
				}
				noError(t, env.Host.AddLink(kernel.LinkSpec{Name: "vpc-blue", Kind: kernel.VRFKind{Table: 5000}, Up: true}))
				noError(t, env.Host.AddLink(kernel.LinkSpec{Name: "member", Kind: kernel.DummyKind{}, Master: link(t, env.Host, "vpc-blue").Index}))
				noError(t, env.Host.AddLink(kernel.LinkSpec{Name: "uplink", Kind: kernel.DummyKind{}}))
				noError(t, env.Host.AddRule(c.rule))
				if c.prior {
					noError(t, env.Host.AddRule(kernel.Rule{Family: family, Priority: 7, L3MDev: true}))
				}
				before, err := env.Host.Rules(0)
				noError(t, err)
				errs := map[string]error{"ADD": r.Create(ctx, env), "STATUS": r.Ready(ctx, env)}
				state := observe(t, env, r)
				if c.fine {
					noError(t, errs["ADD"])
					noError(t, errs["STATUS"])
					wantState(t, env, r, engine.IsPresent)
					return
				}
				for verb, err := range errs {
					if !engine.IsConflict(err) || !strings.Contains(err.Error(), c.says) {
						t.Errorf("%s: %v", verb, err)
					}
				}
				if state.Is != engine.IsDrifted || !strings.Contains(state.Detail, c.says) {
					t.Errorf("%+v", state)
				}
				if after, err := env.Host.Rules(0); err != nil || len(after) != len(before) {
					t.Errorf("rules were changed: %v, %v", after, err)
				}
			})
		}
	}
}

// TestVRFRulesThatCannotBeFoundOut are no rules that are as they should be.
func TestVRFRulesThatCannotBeFoundOut(t *testing.T) {
	t.Parallel()
	for _, mode := range faultModes {
		for n := 1; ; n++ {
			env := newEnv(t)
			noError(t, env.Host.AddLink(kernel.LinkSpec{Name: "vpc-blue", Kind: kernel.VRFKind{Table: 5000}}))
			noError(t, env.Host.AddRule(kernel.Rule{Family: unix.AF_INET, Priority: 512, InLink: "lo", Table: 254}))
			loseRule(t, env.Host, unix.AF_INET6)
			faulty, fired := mode.failing(env, n)
			err := hostRules().Create(context.Background(), faulty)
			if !fired() {
				noError(t, err)
				break
			}
			if err == nil {
				t.Errorf("%s: call %d failed, and Create says success", mode.name, n)
			}
		}
	}
}

// TestAddressOfTheNodeBehindTheVRFs: where local addresses are looked for after
// VRFs, the host does not answer for a pod.
func TestAddressOfTheNodeBehindTheVRFs(t *testing.T) {
	t.Parallel()
	env := newEnv(t)
	ns := env.Host
	lo := link(t, ns, "lo")
	noError(t, setUp(ns, lo, true))
	noError(t, ns.AddLink(kernel.LinkSpec{Name: "vpc-blue", Kind: kernel.VRFKind{Table: 5000}}))
	noError(t, ns.AddAddress(kernel.Address{Link: lo.Index, Prefix: netip.MustParsePrefix("10.1.0.3/32")}))
	noError(t, ns.AddRule(kernel.Rule{Family: unix.AF_INET, Priority: 32765, Table: 255}))
	if ok, err := ns.DelRule(kernel.Rule{Family: unix.AF_INET, Table: 255}); !ok || err != nil {
		t.Fatal(ok, err)
	}
	made(t, env, hostRules(), ownAddresses("10.1.0.3"))
}
