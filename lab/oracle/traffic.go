package oracle

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

const (
	sizeofTcmsg  = 20
	ingressMajor = 0xffff0000
	ingressHook  = 0xfffffff2
	egressHook   = 0xfffffff3
)

// control is a queueing discipline, class or filter.
type control struct {
	index                int32
	handle, parent, info uint32
	kind                 string
	options              []byte
	chain                uint32
}

// controls asks for a list of them.
func (ns *netns) controls(request uint16, index int32, parent uint32) ([]control, error) {
	body := make([]byte, sizeofTcmsg)
	put32(body, 4, uint32(index))
	put32(body, 12, parent)
	answer, err := ns.conn.dump(request, body)
	if errors.Is(err, unix.ENODEV) {
		return nil, errMoved
	}
	if err != nil {
		return nil, fmt.Errorf("traffic control: %w", err)
	}
	all := make([]control, 0, len(answer))
	for _, m := range answer {
		head, t, err := headed(m.data, sizeofTcmsg)
		if err != nil {
			return nil, fmt.Errorf("traffic control: %w", err)
		}
		all = append(all, control{
			index: int32(native32(head, 4)), handle: native32(head, 8), parent: native32(head, 12), info: native32(head, 16),
			kind: t.text(unix.TCA_KIND), options: t[unix.TCA_OPTIONS], chain: t.u32(unix.TCA_CHAIN),
		})
	}
	return all, nil
}

// traffic tells what somebody has made of traffic control: not the disciplines
// that links have by themselves, which have no handle.
func (ns *netns) traffic() error {
	disciplines, err := ns.controls(unix.RTM_GETQDISC, 0, 0)
	if err != nil {
		return err
	}
	for _, q := range disciplines {
		if q.handle == 0 {
			continue
		}
		link := ns.linkName(q.index)
		ns.tell("qdisc", fmt.Sprintf("%s %s dev %s", handle(q.handle), attached(q.parent), link), strings.TrimSpace(q.kind+" "+q.shown()))
		if err := ns.below(q, link); err != nil {
			return err
		}
	}
	return nil
}

// below tells the classes and filters of a discipline.
func (ns *netns) below(q control, link string) error {
	if q.handle == ingressMajor {
		if q.kind == "clsact" {
			if err := ns.filters(q.index, egressHook, link); err != nil {
				return err
			}
		}
		return ns.filters(q.index, ingressHook, link)
	}
	if err := ns.filters(q.index, q.handle, link); err != nil {
		return err
	}
	// The classes of other kinds follow from the discipline, or from traffic.
	if !slices.Contains([]string{"htb", "hfsc", "drr", "qfq", "cbq"}, q.kind) {
		return nil
	}
	classes, err := ns.controls(unix.RTM_GETTCLASS, q.index, 0)
	if err != nil {
		return err
	}
	for _, c := range classes {
		if c.handle>>16 != q.handle>>16 {
			continue
		}
		ns.tell("class", fmt.Sprintf("%s %s dev %s", handle(c.handle), attached(c.parent), link), strings.TrimSpace(c.kind+" "+c.shown()))
		if err := ns.filters(q.index, c.handle, link); err != nil {
			return err
		}
	}
	return nil
}

// filters tells those of one place. A discipline or class that takes none says so.
func (ns *netns) filters(index int32, parent uint32, link string) error {
	all, err := ns.controls(unix.RTM_GETTFILTER, index, parent)
	if errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.EINVAL) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, f := range all {
		options, err := tableOf(f.options)
		if err != nil {
			return fmt.Errorf("filter of %s: %w", link, err)
		}
		const u32Divisor = 4 // TCA_U32_DIVISOR: a hash table, which comes with the first filter
		if len(options) == 0 || (f.kind == "u32" && options.has(u32Divisor)) {
			continue
		}
		name := fmt.Sprintf("dev %s %s pref %d proto %s handle %x", link, attached(parent), f.info>>16, hex.EncodeToString(protocol(f.info)), f.handle)
		if f.chain != 0 {
			name += fmt.Sprintf(" chain %d", f.chain)
		}
		ns.tell("filter", name, f.kind+" "+strings.Join(filterSchema(f.kind).renderAll(ns, attrsOf(options)), " "))
	}
	return nil
}

func protocol(info uint32) []byte {
	b := make([]byte, 4)
	put32(b, 0, info)
	return b[:2]
}

func attrsOf(t table) []attr {
	all := make([]attr, 0, len(t))
	for kind, data := range t {
		all = append(all, attr{kind, data})
	}
	return all
}

// filterSchema leaves out counters and what the kernel numbers.
func filterSchema(kind string) schema {
	act := field{name: "action", show: actions}
	code := func(name string) field { return field{name: name, show: plain(abridged)} }
	switch kind {
	case "u32":
		return schema{1: num("classid"), 5: code("match"), 7: act}.ignoring(2, 3, 9, 11)
	case "matchall":
		return schema{1: num("classid"), 2: act}.ignoring(3, 4)
	case "flower":
		return schema{1: num("classid"), 3: act, 8: {name: "ethtype", show: plain(bigHex)}}.ignoring(22, 86)
	case "basic":
		return schema{1: num("classid"), 3: act}.ignoring(4)
	case "fw":
		return schema{1: num("classid"), 4: act}
	case "bpf":
		return schema{1: act, 3: num("classid"), 7: {name: "name", show: plain(text)}, 8: num("flags"), 10: {name: "tag", show: plain(hex.EncodeToString)}}.ignoring(6, 9, 11)
	}
	return schema{}
}

// actions shows what a filter does: kinds, and where to.
func actions(ns *netns, b []byte) string {
	all, err := list(b)
	if err != nil {
		return "?"
	}
	var names []string
	for _, a := range all {
		t, err := tableOf(a.data)
		if err != nil {
			return "?"
		}
		name := t.text(1) // TCA_ACT_KIND
		if options, err := tableOf(t[2]); err == nil && name == "mirred" && len(options[2]) >= 28 {
			parms := options[2]
			name = named(int(native32(parms, 20)), map[int]string{1: "redirect to ", 2: "mirror to ", 3: "redirect into ", 4: "mirror into "}) + ns.linkName(int32(native32(parms, 24)))
		}
		names = append(names, name)
	}
	return strings.Join(names, ",")
}

// shown is what a discipline or class is set to.
func (c control) shown() string {
	b := c.options
	switch c.kind {
	case "noqueue", "ingress", "clsact", "mq":
		return ""
	case "tbf":
		if t, err := tableOf(b); err == nil && len(t[1]) >= 36 { // TCA_TBF_PARMS
			return fmt.Sprintf("rate=%d limit=%d ticks=%d", native32(t[1], 8), native32(t[1], 24), native32(t[1], 28))
		}
	case "netem":
		const fixed, seed = 24, 13 // struct tc_netem_qopt; TCA_NETEM_PRNG_SEED, which is drawn
		if len(b) >= fixed {
			if rest, err := list(b[fixed:]); err == nil {
				rest = slices.DeleteFunc(rest, func(a attr) bool { return a.kind == seed })
				b = slices.Clone(b[:fixed])
				for _, a := range rest {
					b = append(append(b, byte(a.kind)), a.data...)
				}
			}
		}
	}
	return abridged(b)
}

// abridged shows bytes, or a sum of them when they are many.
func abridged(b []byte) string {
	if len(b) <= 32 {
		return hex.EncodeToString(b)
	}
	sum := sha256.Sum256(b)
	return fmt.Sprintf("%d bytes, sha256 %s", len(b), hex.EncodeToString(sum[:6]))
}

func handle(h uint32) string { return fmt.Sprintf("%x:", h>>16) + minor(h) }

func minor(h uint32) string {
	if h&0xffff == 0 {
		return ""
	}
	return fmt.Sprintf("%x", h&0xffff)
}

func attached(parent uint32) string {
	switch parent {
	case 0xffffffff:
		return "root"
	case 0xfffffff1, ingressHook:
		return "ingress"
	case egressHook:
		return "egress"
	}
	return "parent " + handle(parent)
}
