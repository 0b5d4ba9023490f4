package kernel

import (
	"errors"
	"reflect"
	"testing"

	"golang.org/x/sys/unix"
)

func TestRules(t *testing.T) {
	t.Parallel()
	n := newNS(t)
	before, err := n.Rules(0)
	must(t, err)
	if len(before) < 5 {
		t.Errorf("%+v", before)
	}
	for name, r := range map[string]Rule{
		"from":     {Priority: 1000, From: pfx("10.1.2.0/24"), Table: 1000},
		"to":       {Priority: 1001, To: pfx("10.1.2.3/32"), Table: 100000},
		"IPv6":     {Priority: 1002, From: pfx("2001:db8::/64"), To: pfx("2001:db8:1::/64"), Table: 1000},
		"links":    {Priority: 1003, Family: unix.AF_INET, InLink: "a", OutLink: "b", Table: 1000},
		"mark":     {Priority: 1004, Family: unix.AF_INET6, Mark: 0x10, Mask: 0xf0, Table: 1000},
		"no mark":  {Priority: 1005, Family: unix.AF_INET, Mask: 0xf0, Table: 1000},
		"ports":    {Priority: 1006, Family: unix.AF_INET, IPProto: 6, SrcPorts: PortRange{1, 2}, DstPorts: PortRange{80, 80}, Table: 1000},
		"not":      {Priority: 1007, From: pfx("10.1.2.0/24"), Invert: true, Table: 1000},
		"suppress": {Priority: 1008, Family: unix.AF_INET, SuppressPrefixLen: ptr(0), Table: 254},
		"goto":     {Priority: 1009, Family: unix.AF_INET, Action: RuleGoto, Goto: 32766},
		"prohibit": {Priority: 1010, From: pfx("10.1.2.0/24"), Action: RuleProhibit},
		"maker":    {Priority: 1011, From: pfx("10.1.2.0/24"), Table: 1000, Protocol: 77, TOS: 8},
	} {
		t.Run(name, func(t *testing.T) { testRule(t, n, r) })
	}
	after, err := n.Rules(0)
	must(t, err)
	if !reflect.DeepEqual(after, before) {
		t.Errorf("%+v, want %+v", after, before)
	}
}

func testRule(t *testing.T, n *Namespace, r Rule) {
	must(t, n.AddRule(r))
	if err := n.AddRule(r); !Exists(err) {
		t.Errorf("added twice: %v", err)
	}
	want := r
	want.Family = r.family()
	if want.Action == 0 {
		want.Action = RuleToTable
	}
	if want.Protocol == 0 {
		want.Protocol = unix.RTPROT_STATIC
	}
	all, err := n.Rules(want.Family)
	must(t, err)
	var got Rule
	for _, x := range all {
		if x.Priority == r.Priority {
			got = x
		}
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	for i, want := range []bool{true, false} {
		if ok, err := n.DelRule(r); ok != want || err != nil {
			t.Errorf("removal %d: %v, %v", i+1, ok, err)
		}
	}
}

// TestDelRuleMatchesWhatIsSaid: and nothing else.
func TestDelRuleMatchesWhatIsSaid(t *testing.T) {
	t.Parallel()
	n := newNS(t)
	must(t, n.AddRule(Rule{Priority: 1000, From: pfx("10.1.2.0/24"), Table: 1000}))
	for _, r := range []Rule{
		{Priority: 1001, From: pfx("10.1.2.0/24"), Table: 1000},
		{Priority: 1000, From: pfx("10.1.3.0/24"), Table: 1000},
		{Priority: 1000, From: pfx("10.1.2.0/24"), Table: 1001},
		{Priority: 1000, From: pfx("10.1.2.0/24"), To: pfx("10.1.2.0/24")},
	} {
		if ok, err := n.DelRule(r); ok || err != nil {
			t.Errorf("%v: %v, %v", r, ok, err)
		}
	}
	if ok, err := n.DelRule(Rule{Family: unix.AF_INET, Priority: 1000}); !ok || err != nil {
		t.Error(ok, err)
	}
	if _, err := n.DelRule(Rule{Priority: 1000}); !errors.Is(err, unix.EINVAL) {
		t.Error("of no family:", err)
	}
}
