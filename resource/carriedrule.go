package resource

import (
	"fmt"
	"net/netip"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/fairlead-net/fairlead/kernel"
)

// CarriedRule is a rule of the host that goes into the container with a device,
// as it is: priority and everything that it asks of a packet decide, together
// with the other rules, which table is looked at.
type CarriedRule struct {
	Priority int          `json:"priority"`
	From     netip.Prefix `json:"from"`
	To       netip.Prefix `json:"to,omitzero"`
	// In and Out are "lo", or onDevice, which has another name in the container.
	In  string `json:"in,omitempty"`
	Out string `json:"out,omitempty"`

	Mark     uint32           `json:"mark,omitempty"`
	Mask     uint32           `json:"mask,omitempty"`
	TOS      uint8            `json:"tos,omitempty"`
	IPProto  uint8            `json:"ipProto,omitempty"`
	SrcPorts kernel.PortRange `json:"srcPorts,omitzero"`
	DstPorts kernel.PortRange `json:"dstPorts,omitzero"`
	Invert   bool             `json:"invert,omitempty"`

	Table             uint32            `json:"table,omitempty"`
	Action            kernel.RuleAction `json:"action"`
	SuppressPrefixLen *int              `json:"suppressPrefixLen,omitempty"`
	// Other is kernel.Rule's, in a form that JSON keeps.
	Other []byte `json:"other,omitempty"`
}

// onDevice stands for the device's own name; no interface can have it.
const onDevice = "."

// rule is how the kernel's room says it, for a device of that name.
func (r CarriedRule) rule(device string) kernel.Rule {
	named := func(link string) string {
		if link == onDevice {
			return device
		}
		return link
	}
	k := kernel.Rule{
		Priority: r.Priority, From: r.From, To: r.To, InLink: named(r.In), OutLink: named(r.Out),
		Mark: r.Mark, Mask: r.Mask, TOS: r.TOS, IPProto: r.IPProto, SrcPorts: r.SrcPorts, DstPorts: r.DstPorts,
		Invert: r.Invert, Table: r.Table, Action: r.Action, SuppressPrefixLen: r.SuppressPrefixLen,
		Protocol: sourceRuleProtocol, Other: string(r.Other),
	}
	if k.Priority == 0 {
		k.Priority = kernel.PriorityZero
	}
	return k
}

// isOf tells whether the kernel's rule is this one, whoever made it.
func (r CarriedRule) isOf(k kernel.Rule, device string) bool {
	want := r.rule(device)
	want.Priority, want.Family, want.Protocol = r.Priority, k.Family, k.Protocol
	a, b := want.SuppressPrefixLen, k.SuppressPrefixLen
	want.SuppressPrefixLen, k.SuppressPrefixLen = nil, nil
	return want == k && (a == nil) == (b == nil) && (a == nil || *a == *b)
}

// readRules finds those that decide about packets from the addresses: by the
// tables of the routes, or by refusing them.
func (c *DeviceConfig) readRules(ns *kernel.Namespace, device string) error {
	all, err := ns.Rules(0)
	if err != nil {
		return err
	}
	for _, k := range all {
		if !k.From.IsValid() || !slices.ContainsFunc(c.Addresses, func(a netip.Prefix) bool { return k.From.Contains(a.Addr()) }) {
			continue
		}
		in, known := onlyDevice(k.InLink, device)
		out, knownToo := onlyDevice(k.OutLink, device)
		if !known || !knownToo {
			continue // of another interface, which is not in the container
		}
		switch {
		case k.Action == kernel.RuleGoto:
			return fmt.Errorf("rule %s goes on at rule %d: that can't be said in the container", k, k.Goto)
		case k.Action == kernel.RuleNop, k.L3MDev:
			continue
		case k.Action == kernel.RuleToTable && !c.hasTable(k.Table):
			continue
		}
		c.Rules = append(c.Rules, CarriedRule{
			Priority: k.Priority, From: k.From, To: k.To, In: in, Out: out,
			Mark: k.Mark, Mask: k.Mask, TOS: k.TOS, IPProto: k.IPProto, SrcPorts: k.SrcPorts, DstPorts: k.DstPorts,
			Invert: k.Invert, Table: k.Table, Action: k.Action, SuppressPrefixLen: k.SuppressPrefixLen,
			Other: []byte(k.Other),
		})
	}
	return nil
}

// onlyDevice is the name of an interface that a rule asks for, as a CarriedRule
// says it; known is false for one that is neither the device nor lo.
func onlyDevice(name, device string) (said string, known bool) {
	switch name {
	case "", "lo":
		return name, true
	case device:
		return onDevice, true
	}
	return "", false
}

func (c *DeviceConfig) hasTable(table uint32) bool {
	return slices.ContainsFunc(c.Routes, func(r *Route) bool {
		return r.Table == table || r.Table == 0 && table == unix.RT_TABLE_MAIN
	})
}
