package kernel

import (
	"bytes"
	"encoding/binary"
	"net"

	"golang.org/x/sys/unix"
)

// What the unix package has no name for (linux/netfilter/nf_tables.h and
// nfnetlink.h).
const (
	sizeofNfgenmsg    = 4
	nftaTableUserdata = 6
	nftaChainUserdata = 12
)

func getBE64(v []byte) uint64 {
	if len(v) < 8 {
		return 0
	}
	return binary.BigEndian.Uint64(v)
}

// payloadOf takes the fixed part off a message.
func payloadOf(b []byte) (NftFamily, []byte, error) {
	if len(b) < sizeofNfgenmsg {
		return 0, nil, errMalformed
	}
	return NftFamily(b[0]), b[sizeofNfgenmsg:], nil
}

// getComment reads nft's note for people. Other notes may stand beside it.
func getComment(v []byte) string {
	for len(v) >= 2 {
		size := int(v[1])
		if len(v) < 2+size {
			return ""
		}
		if v[0] == 0 {
			return text(v[2 : 2+size])
		}
		v = v[2+size:]
	}
	return ""
}

func decodeTable(b []byte) (NftTable, error) {
	var t NftTable
	f, b, err := payloadOf(b)
	if err != nil {
		return t, err
	}
	t.Family = f
	err = eachAttr(b, func(a uint16, v []byte) error {
		switch a {
		case unix.NFTA_TABLE_NAME:
			t.Name = text(v)
		case unix.NFTA_TABLE_FLAGS:
			t.Flags = getBE32(v)
		case unix.NFTA_TABLE_USE:
			t.Uses = getBE32(v)
		case nftaTableUserdata:
			t.Comment = getComment(v)
		}
		return nil
	})
	return t, err
}

func decodeChain(b []byte) (NftChain, error) {
	var c NftChain
	f, b, err := payloadOf(b)
	if err != nil {
		return c, err
	}
	c.Table.Family = f
	var hook NftHook
	err = eachAttr(b, func(a uint16, v []byte) error {
		switch a {
		case unix.NFTA_CHAIN_TABLE:
			c.Table.Name = text(v)
		case unix.NFTA_CHAIN_NAME:
			c.Name = text(v)
		case unix.NFTA_CHAIN_TYPE:
			hook.Type = text(v)
		case unix.NFTA_CHAIN_POLICY:
			hook.Policy = getBE32(v)
		case unix.NFTA_CHAIN_USE:
			c.Uses = getBE32(v)
		case nftaChainUserdata:
			c.Comment = getComment(v)
		case unix.NFTA_CHAIN_HOOK:
			c.Hook = &hook
			return eachAttr(v, func(a uint16, v []byte) error {
				switch a {
				case unix.NFTA_HOOK_HOOKNUM:
					hook.Number = getBE32(v)
				case unix.NFTA_HOOK_PRIORITY:
					hook.Priority = int32(getBE32(v))
				}
				return nil
			})
		}
		return nil
	})
	return c, err
}

// decodeRule reads a rule. keep, if not nil, judges by the comment whether the
// rest is worth reading.
func decodeRule(b []byte, keep func(comment string) bool) (NftRule, bool, error) {
	var (
		r       NftRule
		program []byte
	)
	f, b, err := payloadOf(b)
	if err != nil {
		return r, false, err
	}
	err = eachAttr(b, func(a uint16, v []byte) error {
		switch a {
		case unix.NFTA_RULE_HANDLE:
			r.Handle = getBE64(v)
		case unix.NFTA_RULE_USERDATA:
			r.Comment = getComment(v)
		case unix.NFTA_RULE_EXPRESSIONS:
			program = v
		}
		return nil
	})
	if err != nil || keep != nil && !keep(r.Comment) {
		return r, false, err
	}
	d := ruleDecoder{family: f, rule: &r}
	err = eachAttr(program, func(_ uint16, v []byte) error { return d.step(v) })
	if d.load != nil {
		r.Foreign = true // loaded, and never compared
	}
	return r, err == nil, err
}

// ruleDecoder reads a program back, step by step. What it has no word for makes
// the rule foreign.
type ruleDecoder struct {
	family NftFamily
	rule   *NftRule
	four   bool    // the rule is for IPv4 packets, by family or by condition
	six    bool    // likewise
	load   *loaded // what register 1 holds
}

type loaded struct {
	meta         uint32
	base         uint32
	offset, size uint32
	isMeta       bool
	mask         []byte
	zones        string // the map of zones in which it was looked up
}

func (d *ruleDecoder) step(v []byte) error {
	var (
		name string
		data []byte
	)
	err := eachAttr(v, func(a uint16, v []byte) error {
		switch a {
		case unix.NFTA_EXPR_NAME:
			name = text(v)
		case unix.NFTA_EXPR_DATA:
			data = v
		}
		return nil
	})
	if err != nil {
		return err
	}
	attrs := map[uint16][]byte{}
	if err := eachAttr(data, func(a uint16, v []byte) error { attrs[a] = v; return nil }); err != nil {
		return err
	}
	if !d.known(name, attrs) {
		d.rule.Foreign = true
	}
	return nil
}

// known takes a step in, and tells whether it was understood.
func (d *ruleDecoder) known(name string, a map[uint16][]byte) bool {
	switch name {
	case "meta":
		return d.meta(a)
	case "payload":
		return d.payload(a)
	case "bitwise":
		return d.bitwise(a)
	case "cmp":
		return d.compare(a)
	case "immediate":
		return d.immediate(a)
	case "lookup":
		return d.lookup(a)
	case "ct":
		return d.zone(a)
	case "masq":
		d.rule.Action.Verb = NftMasquerade
		return len(a) == 0
	case "counter":
		return true
	case "match": // an iptables extension
		if text(a[unix.NFTA_MATCH_NAME]) != "comment" {
			return false
		}
		d.rule.Comment = text(a[unix.NFTA_MATCH_INFO])
		return true
	case "target":
		if text(a[unix.NFTA_TARGET_NAME]) != "MASQUERADE" {
			return false
		}
		d.rule.Action.Verb = NftMasquerade
		return true
	}
	return false
}

func (d *ruleDecoder) meta(a map[uint16][]byte) bool {
	if d.load != nil || getBE32(a[unix.NFTA_META_DREG]) != unix.NFT_REG_1 {
		return false
	}
	d.load = &loaded{isMeta: true, meta: getBE32(a[unix.NFTA_META_KEY])}
	return true
}

func (d *ruleDecoder) payload(a map[uint16][]byte) bool {
	if d.load != nil || getBE32(a[unix.NFTA_PAYLOAD_DREG]) != unix.NFT_REG_1 {
		return false
	}
	d.load = &loaded{
		base:   getBE32(a[unix.NFTA_PAYLOAD_BASE]),
		offset: getBE32(a[unix.NFTA_PAYLOAD_OFFSET]),
		size:   getBE32(a[unix.NFTA_PAYLOAD_LEN]),
	}
	return true
}

func (d *ruleDecoder) bitwise(a map[uint16][]byte) bool {
	mask, xor := dataValue(a[unix.NFTA_BITWISE_MASK]), dataValue(a[unix.NFTA_BITWISE_XOR])
	switch {
	case d.load == nil || d.load.mask != nil || d.load.zones != "" || len(mask) == 0,
		getBE32(a[unix.NFTA_BITWISE_SREG]) != unix.NFT_REG_1,
		getBE32(a[unix.NFTA_BITWISE_DREG]) != unix.NFT_REG_1,
		getBE32(a[nftaBitwiseOp]) != 0,
		len(bytes.Trim(xor, "\x00")) > 0:
		return false
	}
	d.load.mask = mask
	return true
}

// nftaBitwiseOp: 0 or absent is mask and xor.
const nftaBitwiseOp = 6

func dataValue(v []byte) []byte {
	var out []byte
	_ = eachAttr(v, func(a uint16, v []byte) error {
		if a == unix.NFTA_DATA_VALUE {
			out = v
		}
		return nil
	})
	return out
}

func (d *ruleDecoder) compare(a map[uint16][]byte) bool {
	load := d.load
	d.load = nil
	op, value := getBE32(a[unix.NFTA_CMP_OP]), dataValue(a[unix.NFTA_CMP_DATA])
	if load == nil || load.zones != "" || getBE32(a[unix.NFTA_CMP_SREG]) != unix.NFT_REG_1 ||
		op != unix.NFT_CMP_EQ && op != unix.NFT_CMP_NEQ {
		return false
	}
	not := op == unix.NFT_CMP_NEQ
	switch {
	case load.isMeta:
		return !not && load.mask == nil && d.compareMeta(load.meta, value)
	case load.base == unix.NFT_PAYLOAD_LL_HEADER:
		if not || load.mask != nil || load.offset != etherSourceOffset || len(value) != 6 || d.rule.Match.EtherSource != "" {
			return false
		}
		d.rule.Match.EtherSource = net.HardwareAddr(value).String()
		return true
	case load.base == unix.NFT_PAYLOAD_NETWORK_HEADER:
		return d.compareAddress(load, value, not)
	}
	return false
}

func (d *ruleDecoder) compareMeta(key uint32, value []byte) bool {
	switch key {
	case unix.NFT_META_NFPROTO:
		d.four = len(value) == 1 && value[0] == unix.NFPROTO_IPV4
		d.six = len(value) == 1 && value[0] == unix.NFPROTO_IPV6
		return d.four || d.six
	case unix.NFT_META_IIFNAME:
		// A shorter value without a zero at its end is "veth*".
		if len(value) == 0 || value[len(value)-1] != 0 || d.rule.Match.IifName != "" {
			return false
		}
		d.rule.Match.IifName = text(value)
		return true
	}
	return false
}

func (d *ruleDecoder) compareAddress(load *loaded, value []byte, not bool) bool {
	var src, dst uint32
	var size int
	switch {
	case d.family == NftIPv4 || d.four:
		src, dst, size = ip4SourceOffset, ip4DestOffset, 4
	case d.family == NftIPv6 || d.six:
		src, dst, size = ip6SourceOffset, ip6DestOffset, 16
	default:
		return false
	}
	if int(load.size) != len(value) {
		return false
	}
	p, ok := prefixOf(size, value, load.mask)
	if !ok {
		return false
	}
	field := &d.rule.Match.Source
	switch load.offset {
	case src:
	case dst:
		field = &d.rule.Match.Destination
	default:
		return false
	}
	if field.Prefix.IsValid() {
		return false // two conditions on one field
	}
	*field = NftNet{Prefix: p, Not: not}
	return true
}

func (d *ruleDecoder) immediate(a map[uint16][]byte) bool {
	if getBE32(a[unix.NFTA_IMMEDIATE_DREG]) != unix.NFT_REG_VERDICT {
		return false
	}
	var code int32
	_ = eachAttr(a[unix.NFTA_IMMEDIATE_DATA], func(t uint16, v []byte) error {
		if t != unix.NFTA_DATA_VERDICT {
			return nil
		}
		return eachAttr(v, func(t uint16, v []byte) error {
			switch t {
			case unix.NFTA_VERDICT_CODE:
				code = int32(getBE32(v))
			case unix.NFTA_VERDICT_CHAIN:
				d.rule.Action.Chain = text(v)
			}
			return nil
		})
	})
	verbs := map[int32]NftVerb{
		nfAccept: NftAccept, nfDrop: NftDrop,
		unix.NFT_RETURN: NftReturn, unix.NFT_JUMP: NftJump, unix.NFT_GOTO: NftGoto,
	}
	d.rule.Action.Verb = verbs[code]
	return d.rule.Action.Verb != NftNothing
}
