package kernel

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"

	"golang.org/x/sys/unix"
)

// Rules are sent as small programs that load a register and compare it. These
// are the programs that nft writes.

// offsets of the fields that conditions look at, in their headers.
const (
	etherSourceOffset = 6
	ip4SourceOffset   = 12
	ip4DestOffset     = 16
	ip6SourceOffset   = 8
	ip6DestOffset     = 24
)

func (e *encoder) be64(t uint16, v uint64) { e.bytes(t, binary.BigEndian.AppendUint64(nil, v)) }

// expr puts one step of a program.
func (e *encoder) expr(name string, data func()) {
	e.nest(unix.NFTA_LIST_ELEM|unix.NLA_F_NESTED, func() {
		e.str(unix.NFTA_EXPR_NAME, name)
		e.nest(unix.NFTA_EXPR_DATA|unix.NLA_F_NESTED, data)
	})
}

func (e *encoder) exprMeta(key uint32) {
	e.expr("meta", func() {
		e.be32(unix.NFTA_META_KEY, key)
		e.be32(unix.NFTA_META_DREG, unix.NFT_REG_1)
	})
}

func (e *encoder) exprPayload(base, offset, size uint32) {
	e.expr("payload", func() {
		e.be32(unix.NFTA_PAYLOAD_DREG, unix.NFT_REG_1)
		e.be32(unix.NFTA_PAYLOAD_BASE, base)
		e.be32(unix.NFTA_PAYLOAD_OFFSET, offset)
		e.be32(unix.NFTA_PAYLOAD_LEN, size)
	})
}

func (e *encoder) value(t uint16, v []byte) {
	e.nest(t|unix.NLA_F_NESTED, func() { e.bytes(unix.NFTA_DATA_VALUE, v) })
}

func (e *encoder) exprCompare(op uint32, v []byte) {
	e.expr("cmp", func() {
		e.be32(unix.NFTA_CMP_SREG, unix.NFT_REG_1)
		e.be32(unix.NFTA_CMP_OP, op)
		e.value(unix.NFTA_CMP_DATA, v)
	})
}

func (e *encoder) exprMask(mask []byte) {
	e.expr("bitwise", func() {
		e.be32(unix.NFTA_BITWISE_SREG, unix.NFT_REG_1)
		e.be32(unix.NFTA_BITWISE_DREG, unix.NFT_REG_1)
		e.be32(unix.NFTA_BITWISE_LEN, uint32(len(mask)))
		e.value(unix.NFTA_BITWISE_MASK, mask)
		e.value(unix.NFTA_BITWISE_XOR, make([]byte, len(mask)))
	})
}

func (e *encoder) exprVerdict(code int32, chain string) {
	e.expr("immediate", func() {
		e.be32(unix.NFTA_IMMEDIATE_DREG, unix.NFT_REG_VERDICT)
		e.nest(unix.NFTA_IMMEDIATE_DATA|unix.NLA_F_NESTED, func() {
			e.nest(unix.NFTA_DATA_VERDICT|unix.NLA_F_NESTED, func() {
				e.be32(unix.NFTA_VERDICT_CODE, uint32(code))
				if chain != "" {
					e.str(unix.NFTA_VERDICT_CHAIN, chain)
				}
			})
		})
	})
}

// rule puts a rule's program and its comment.
func (e *encoder) rule(f NftFamily, r NftRule) error {
	var err error
	e.nest(unix.NFTA_RULE_EXPRESSIONS|unix.NLA_F_NESTED, func() {
		if err = e.match(f, r.Match); err == nil {
			err = e.action(r.Action)
		}
	})
	if err == nil && r.Comment != "" {
		err = e.comment(unix.NFTA_RULE_USERDATA, r.Comment)
	}
	return err
}

// comment puts nft's note for people; its type is 0 for tables, chains and
// rules alike.
func (e *encoder) comment(t uint16, s string) error {
	if len(s)+1 > 255 {
		return fmt.Errorf("a comment of %d bytes is too long", len(s))
	}
	v := append([]byte{0, byte(len(s) + 1)}, s...)
	e.bytes(t, append(v, 0))
	return nil
}

func (e *encoder) match(f NftFamily, m NftMatch) error {
	if m.IifName != "" {
		if len(m.IifName) >= unix.IFNAMSIZ {
			return fmt.Errorf("interface name %q is too long", m.IifName)
		}
		e.exprMeta(unix.NFT_META_IIFNAME)
		name := make([]byte, unix.IFNAMSIZ)
		copy(name, m.IifName)
		e.exprCompare(unix.NFT_CMP_EQ, name)
	}
	if m.EtherSource != "" {
		mac, err := net.ParseMAC(m.EtherSource)
		if err != nil {
			return err
		}
		if f != NftBridge || len(mac) != 6 {
			return fmt.Errorf("no condition on the MAC address %s in family %s", mac, f)
		}
		e.exprPayload(unix.NFT_PAYLOAD_LL_HEADER, etherSourceOffset, uint32(len(mac)))
		e.exprCompare(unix.NFT_CMP_EQ, mac)
	}
	return e.addresses(f, m)
}

func (e *encoder) addresses(f NftFamily, m NftMatch) error {
	src, dst := m.Source.Prefix, m.Destination.Prefix
	if !src.IsValid() && !dst.IsValid() {
		return nil
	}
	if src.IsValid() && dst.IsValid() && src.Addr().Is4() != dst.Addr().Is4() {
		return errors.New("source and destination are of different families")
	}
	four := src.Addr().Is4() || dst.Addr().Is4()
	switch {
	case f == NftInet:
		e.exprMeta(unix.NFT_META_NFPROTO)
		proto := NftIPv6
		if four {
			proto = NftIPv4
		}
		e.exprCompare(unix.NFT_CMP_EQ, []byte{byte(proto)})
	case f == NftIPv4 && four, f == NftIPv6 && !four:
	default:
		return fmt.Errorf("no condition on such an address in family %s", f)
	}
	srcAt, dstAt := uint32(ip6SourceOffset), uint32(ip6DestOffset)
	if four {
		srcAt, dstAt = ip4SourceOffset, ip4DestOffset
	}
	e.address(srcAt, m.Source)
	e.address(dstAt, m.Destination)
	return nil
}

// address compares as many bytes as a prefix has, and masks only where it ends
// within one.
func (e *encoder) address(offset uint32, n NftNet) {
	if !n.Prefix.IsValid() {
		return
	}
	op := uint32(unix.NFT_CMP_EQ)
	if n.Not {
		op = unix.NFT_CMP_NEQ
	}
	addr, bits := n.Prefix.Masked().Addr().AsSlice(), n.Prefix.Bits()
	if bits%8 == 0 && bits > 0 {
		e.exprPayload(unix.NFT_PAYLOAD_NETWORK_HEADER, offset, uint32(bits/8))
		e.exprCompare(op, addr[:bits/8])
		return
	}
	e.exprPayload(unix.NFT_PAYLOAD_NETWORK_HEADER, offset, uint32(len(addr)))
	e.exprMask(net.CIDRMask(bits, len(addr)*8))
	e.exprCompare(op, addr)
}

func (e *encoder) action(a NftAction) error {
	switch a.Verb {
	case NftNothing:
	case NftAccept:
		e.exprVerdict(nfAccept, "")
	case NftDrop:
		e.exprVerdict(nfDrop, "")
	case NftReturn:
		e.exprVerdict(unix.NFT_RETURN, "")
	case NftJump:
		e.exprVerdict(unix.NFT_JUMP, a.Chain)
	case NftGoto:
		e.exprVerdict(unix.NFT_GOTO, a.Chain)
	case NftMasquerade:
		e.expr("masq", func() {})
	case NftZoneOfIn:
		e.exprZone(unix.NFT_META_IIFGROUP, a.Map)
	case NftZoneOfOut:
		e.exprZone(unix.NFT_META_OIFGROUP, a.Map)
	default:
		return fmt.Errorf("no such action: %d", a.Verb)
	}
	return nil
}

const (
	nfDrop   = 0
	nfAccept = 1
)

// prefixOf reads a prefix back from what a register is compared with: value
// has the bytes that were loaded, mask is nil or as long.
func prefixOf(size int, value, mask []byte) (netip.Prefix, bool) {
	bits := len(value) * 8
	if mask != nil {
		ones, all := net.IPMask(mask).Size()
		if all == 0 || len(mask) != len(value) {
			return netip.Prefix{}, false
		}
		bits = ones
	}
	if len(value) > size {
		return netip.Prefix{}, false
	}
	addr, _ := netip.AddrFromSlice(append(append([]byte{}, value...), make([]byte, size-len(value))...))
	p := netip.PrefixFrom(addr, bits)
	return p, p.Masked() == p
}
