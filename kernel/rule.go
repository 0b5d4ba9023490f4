package kernel

import (
	"encoding/binary"
	"fmt"
	"net/netip"

	"golang.org/x/sys/unix"
)

// Rule says when which routing table is looked into (ip-rule). What is zero
// matches every packet.
type Rule struct {
	Family   int // unix.AF_INET or AF_INET6; may be 0 if From or To is set
	Priority int // the lowest comes first; 0: before the lowest that there is
	From, To netip.Prefix
	InLink   string
	OutLink  string
	Mark     uint32
	Mask     uint32 // of Mark; all bits if 0
	TOS      uint8
	IPProto  uint8
	SrcPorts PortRange
	DstPorts PortRange
	Invert   bool // packets that do not match

	Table  uint32     // MainTable if 0, unless L3MDev
	L3MDev bool       // the table of the VRF
	Action RuleAction // RuleToTable if 0
	Goto   int        // of RuleGoto: the priority to go on at
	// SuppressPrefixLen ignores answers of the table with prefixes this long
	// or shorter: 0 the default route. nil ignores none.
	SuppressPrefixLen *int
	Protocol          int // who made it: RTPROT_STATIC if 0
	// Other is what else the kernel says of it: attributes that have no field
	// here, as they are.
	Other string
}

// PriorityZero asks for priority 0 itself, which is the local table's.
const PriorityZero = -1

// PortRange is from First to Last; the zero value is none.
type PortRange struct{ First, Last uint16 }

// RuleAction is what is done with a packet that matches.
type RuleAction uint8

// The actions.
const (
	RuleToTable     RuleAction = unix.FR_ACT_TO_TBL
	RuleGoto        RuleAction = unix.FR_ACT_GOTO
	RuleNop         RuleAction = unix.FR_ACT_NOP
	RuleBlackhole   RuleAction = unix.FR_ACT_BLACKHOLE
	RuleUnreachable RuleAction = unix.FR_ACT_UNREACHABLE
	RuleProhibit    RuleAction = unix.FR_ACT_PROHIBIT
)

// AddRule adds a rule. It is an error (Exists) when there is an equal one.
func (n *Namespace) AddRule(r Rule) error {
	return n.call("rule.add", r.String(), func() error {
		if r.Protocol == 0 {
			r.Protocol = unix.RTPROT_STATIC
		}
		if r.Action == 0 {
			r.Action = RuleToTable
		}
		req, err := r.request(unix.RTM_NEWRULE, unix.NLM_F_CREATE|unix.NLM_F_EXCL)
		if err != nil {
			return err
		}
		return n.change(req)
	})
}

// DelRule removes the first rule that matches what of r is set. It is false
// when there is none.
func (n *Namespace) DelRule(r Rule) (bool, error) {
	return n.remove(ObjectRule, "rule.del", r.String(), func() error {
		req, err := r.request(unix.RTM_DELRULE, 0)
		if err != nil {
			return err
		}
		return n.change(req)
	})
}

// Rules lists the rules of a family (unix.AF_INET or AF_INET6), or of both if
// it is 0, in the order in which they are looked at.
func (n *Namespace) Rules(family int) (all []Rule, err error) {
	err = n.call("rule.list", "", func() error {
		for _, f := range []int{unix.AF_INET, unix.AF_INET6} {
			if family != 0 && family != f {
				continue
			}
			req := newRequest(unix.RTM_GETRULE, 0, make([]byte, unix.SizeofRtMsg))
			req.b[unix.SizeofNlMsghdr] = uint8(f)
			part, err := dumpFamily(n, uint8(f), req, decodeIPRule)
			if err != nil && !Unsupported(err) {
				return err
			}
			all = append(all, part...)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return all, nil
}

func (r Rule) family() int {
	for _, p := range []netip.Prefix{r.From, r.To} {
		if r.Family == 0 && p.IsValid() {
			return int(family(p.Addr()))
		}
	}
	return r.Family
}

// request lays out struct fib_rule_hdr, which is like struct rtmsg.
func (r Rule) request(typ, flags uint16) (*request, error) {
	if r.family() == 0 {
		return nil, fmt.Errorf("no family: %w", unix.EINVAL)
	}
	b := make([]byte, unix.SizeofRtMsg)
	b[0], b[3], b[7] = uint8(r.family()), r.TOS, uint8(r.Action)
	if r.Invert {
		binary.NativeEndian.PutUint32(b[8:], unix.FIB_RULE_INVERT)
	}
	req := newRequest(typ, flags, b)
	if r.From.IsValid() && r.From.Bits() > 0 {
		req.b[unix.SizeofNlMsghdr+2] = uint8(r.From.Bits())
		req.addr(unix.FRA_SRC, r.From.Masked().Addr())
	}
	if r.To.IsValid() && r.To.Bits() > 0 {
		req.b[unix.SizeofNlMsghdr+1] = uint8(r.To.Bits())
		req.addr(unix.FRA_DST, r.To.Masked().Addr())
	}
	r.encodeMatch(&req.encoder)
	r.encodeAction(&req.encoder)
	return req, nil
}

func (r Rule) encodeMatch(e *encoder) {
	if r.Priority != 0 {
		e.u32(unix.FRA_PRIORITY, uint32(max(r.Priority, 0)))
	}
	if r.InLink != "" {
		e.str(unix.FRA_IIFNAME, r.InLink)
	}
	if r.OutLink != "" {
		e.str(unix.FRA_OIFNAME, r.OutLink)
	}
	if r.Mark != 0 || r.Mask != 0 {
		e.u32(unix.FRA_FWMARK, r.Mark)
	}
	if r.Mask != 0 {
		e.u32(unix.FRA_FWMASK, r.Mask)
	}
	if r.IPProto != 0 {
		e.u8(unix.FRA_IP_PROTO, r.IPProto)
	}
	r.SrcPorts.encode(e, unix.FRA_SPORT_RANGE)
	r.DstPorts.encode(e, unix.FRA_DPORT_RANGE)
}

func (r Rule) encodeAction(e *encoder) {
	switch {
	case r.L3MDev:
		e.u8(unix.FRA_L3MDEV, 1)
	case r.Action == 0 && r.Table == 0:
		// A removal that does not say.
	case r.Action == 0 || r.Action == RuleToTable:
		e.u32(unix.FRA_TABLE, Route{Table: r.Table}.table())
	}
	if r.Goto != 0 {
		e.u32(unix.FRA_GOTO, uint32(r.Goto))
	}
	if r.SuppressPrefixLen != nil {
		e.u32(unix.FRA_SUPPRESS_PREFIXLEN, uint32(*r.SuppressPrefixLen))
	}
	if r.Protocol != 0 {
		e.u8(unix.FRA_PROTOCOL, uint8(r.Protocol))
	}
	e.b = append(e.b, r.Other...)
}

func (p PortRange) encode(e *encoder, t uint16) {
	if p == (PortRange{}) {
		return
	}
	at := e.open(t)
	e.b = binary.NativeEndian.AppendUint16(e.b, p.First)
	e.b = binary.NativeEndian.AppendUint16(e.b, p.Last)
	e.end(at)
}

// String is how ip-rule writes it, without what is rare.
func (r Rule) String() string {
	s := fmt.Sprintf("%d:", r.Priority)
	if r.Invert {
		s += " not"
	}
	if r.From.IsValid() {
		s += " from " + r.From.String()
	}
	if r.To.IsValid() {
		s += " to " + r.To.String()
	}
	if r.Mark != 0 || r.Mask != 0 {
		s += fmt.Sprintf(" fwmark %#x/%#x", r.Mark, r.Mask)
	}
	if r.InLink != "" {
		s += " iif " + r.InLink
	}
	if r.OutLink != "" {
		s += " oif " + r.OutLink
	}
	switch {
	case r.L3MDev:
		return s + " l3mdev"
	case r.Action == RuleGoto:
		return s + fmt.Sprintf(" goto %d", r.Goto)
	}
	return s + fmt.Sprintf(" table %d", r.Table)
}
