package oracle

import (
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// rules tells the rules of policy routing. A rule is all that it says: there is
// nothing in it to change.
func (ns *netns) rules() error {
	for _, family := range []byte{unix.AF_INET, unix.AF_INET6} {
		body := make([]byte, unix.SizeofRtMsg)
		body[0] = family
		answer, err := ns.conn.dump(unix.RTM_GETRULE, body)
		if err != nil {
			return fmt.Errorf("rules: %w", err)
		}
		for _, m := range answer {
			head, t, err := headed(m.data, unix.SizeofRtMsg)
			if err != nil {
				return fmt.Errorf("rules: %w", err)
			}
			ns.tellRule(head, t)
		}
	}
	return nil
}

func (ns *netns) tellRule(head []byte, t table) {
	const protocol = 21 // FRA_PROTOCOL
	parts := []string{map[byte]string{unix.AF_INET: "inet", unix.AF_INET6: "inet6"}[head[0]], t.number(unix.FRA_PRIORITY) + ":"}
	if !t.has(unix.FRA_PRIORITY) {
		parts[1] = "0:"
	}
	for _, p := range []struct {
		name string
		kind uint16
		bits byte
	}{{"from", unix.FRA_SRC, head[2]}, {"to", unix.FRA_DST, head[1]}} {
		if t.has(p.kind) {
			parts = append(parts, fmt.Sprintf("%s %s/%d", p.name, t.addr(p.kind), p.bits))
		}
	}
	if flags := native32(head, 8); flags&2 != 0 { // FIB_RULE_INVERT
		parts = slices.Insert(parts, 2, "not")
	}
	if head[3] != 0 {
		parts = append(parts, fmt.Sprintf("tos=%#x", head[3]))
	}
	s := schema{
		unix.FRA_IIFNAME: {name: "iif", show: plain(text)}, unix.FRA_OIFNAME: {name: "oif", show: plain(text)},
		unix.FRA_GOTO: num("goto"), unix.FRA_FWMARK: num("fwmark"), unix.FRA_FWMASK: {name: "fwmask", show: plain(hex.EncodeToString), usual: "ffffffff"},
		unix.FRA_FLOW: num("flow"), unix.FRA_TUN_ID: big("tunid"), unix.FRA_L3MDEV: num("l3mdev"),
		unix.FRA_SUPPRESS_IFGROUP:   {name: "suppressifgroup", show: plain(number), usual: "4294967295"},
		unix.FRA_SUPPRESS_PREFIXLEN: {name: "suppressprefixlength", show: plain(number), usual: "4294967295"},
		unix.FRA_UID_RANGE:          {name: "uidrange", show: plain(hex.EncodeToString)}, unix.FRA_IP_PROTO: num("ipproto"),
		unix.FRA_SPORT_RANGE: {name: "sport", show: plain(hex.EncodeToString)}, unix.FRA_DPORT_RANGE: {name: "dport", show: plain(hex.EncodeToString)},
	}.ignoring(unix.FRA_PRIORITY, unix.FRA_SRC, unix.FRA_DST, unix.FRA_TABLE, protocol, unix.FRA_PAD)
	all := make([]attr, 0, len(t))
	for kind, data := range t {
		all = append(all, attr{kind, data})
	}
	parts = append(parts, s.renderAll(ns, all)...)
	const toTable = 1 // FR_ACT_TO_TBL
	if head[7] == toTable && !t.has(unix.FRA_L3MDEV) {
		parts = append(parts, "lookup "+tableName(t.u32(unix.FRA_TABLE)))
	} else if head[7] != toTable {
		parts = append(parts, named(int(head[7]), map[int]string{2: "goto", 3: "nop", 6: "blackhole", 7: "unreachable", 8: "prohibit"}))
	}
	if p := t[protocol]; len(p) == 1 && p[0] != unix.RTPROT_UNSPEC {
		parts = append(parts, "proto="+protoName(p[0]))
	}
	name := strings.Join(parts, " ")
	ns.tell("rule", name, "")
	ns.facts[len(ns.facts)-1].native = slices.Contains(nativeRules(), name)
}

// nativeRules are those that every namespace begins with.
func nativeRules() []string {
	return []string{
		"inet 0: lookup local proto=kernel", "inet 32766: lookup main proto=kernel", "inet 32767: lookup default proto=kernel",
		"inet6 0: lookup local proto=kernel", "inet6 32766: lookup main proto=kernel",
	}
}

// nexthops tells nexthop objects, where the kernel has them (since Linux 5.3).
func (ns *netns) nexthops() error {
	answer, err := ns.conn.dump(unix.RTM_GETNEXTHOP, make([]byte, unix.SizeofNhmsg))
	if errors.Is(err, unix.EOPNOTSUPP) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("nexthops: %w", err)
	}
	for _, m := range answer {
		head, t, err := headed(m.data, unix.SizeofNhmsg)
		if err != nil {
			return fmt.Errorf("nexthops: %w", err)
		}
		value := schema{
			2: {name: "group", show: plain(hex.EncodeToString)}, 4: num("blackhole"), 5: dev("dev"), 6: ip("via"),
			7: {name: "encap", show: plain(encapName)}, 8: {name: "encapdata", show: plain(hex.EncodeToString)}, 11: num("fdb"),
		}.renderKnown(ns, t)
		if head[2] != unix.RTPROT_UNSPEC {
			value = append(value, "proto="+protoName(head[2]))
		}
		ns.tell("nexthop", t.number(1), strings.Join(value, " "))
	}
	return nil
}
