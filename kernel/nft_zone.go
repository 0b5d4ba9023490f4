package kernel

import (
	"encoding/binary"
	"fmt"

	"golang.org/x/sys/unix"
)

// NftZonesID names a map of a table: from the group of a link (IFLA_GROUP) to
// the zone of connection tracking that its packets are in.
type NftZonesID struct {
	Table NftTableID
	Name  string
}

// String is how nft writes it: "inet t zones".
func (z NftZonesID) String() string { return z.Table.String() + " " + z.Name }

// What nft writes down of a map, so that it can say later what it is a map of
// (libnftnl's udata.h, nftables' expression.h and datatype.h).
const (
	nftTypeDevgroup = 35
	nftTypeInteger  = 4
	nftHostOrder    = 1
	nftExprMeta     = 9
	nftExprCT       = 12

	nftUdataKeyOrder   = 0
	nftUdataDataOrder  = 1
	nftUdataKeyTypeof  = 3
	nftUdataDataTypeof = 4
	nftUdataExprKind   = 0
	nftUdataExprBody   = 1
	nftUdataExprKey    = 0
	nftUdataCTDir      = 1
)

// note puts one of nft's notes: type, length, value.
func note(t byte, v []byte) []byte { return append([]byte{t, byte(len(v))}, v...) }

func noteU32(t byte, v uint32) []byte { return note(t, binary.NativeEndian.AppendUint32(nil, v)) }

// zonesNote says "typeof iifgroup : ct zone".
func zonesNote() []byte {
	meta := noteU32(nftUdataExprKey, unix.NFT_META_IIFGROUP)
	zone := append(noteU32(nftUdataExprKey, unix.NFT_CT_ZONE), noteU32(nftUdataCTDir, ^uint32(0))...)
	b := append(noteU32(nftUdataKeyOrder, nftHostOrder), noteU32(nftUdataDataOrder, nftHostOrder)...)
	b = append(b, note(nftUdataKeyTypeof, append(noteU32(nftUdataExprKind, nftExprMeta), note(nftUdataExprBody, meta)...))...)
	return append(b, note(nftUdataDataTypeof, append(noteU32(nftUdataExprKind, nftExprCT), note(nftUdataExprBody, zone)...))...)
}

// AddZones makes a map of zones if there is none of that name.
func (t *NftTx) AddZones(z NftZonesID) {
	t.add("add map "+z.Name, unix.NFT_MSG_NEWSET, unix.NLM_F_CREATE, z.Table.Family, func(r *request) error {
		r.str(unix.NFTA_SET_TABLE, z.Table.Name)
		r.str(unix.NFTA_SET_NAME, z.Name)
		r.be32(unix.NFTA_SET_FLAGS, unix.NFT_SET_MAP)
		r.be32(unix.NFTA_SET_KEY_TYPE, nftTypeDevgroup)
		r.be32(unix.NFTA_SET_KEY_LEN, 4)
		r.be32(unix.NFTA_SET_DATA_TYPE, nftTypeInteger)
		r.be32(unix.NFTA_SET_DATA_LEN, 2)
		r.be32(unix.NFTA_SET_ID, 1) // within the transaction
		// Earlier kernels (Linux 6.1) count only what is in a map of limited size, and
		// would delete one of no limit that has zones in it.
		r.nest(unix.NFTA_SET_DESC, func() { r.be32(unix.NFTA_SET_DESC_SIZE, 1<<16) })
		r.bytes(unix.NFTA_SET_USERDATA, zonesNote())
		return nil
	})
}

// DeleteEmptyZones deletes a map that must have nothing in it, and that no rule
// may use (EBUSY).
func (t *NftTx) DeleteEmptyZones(z NftZonesID) {
	t.add("delete map "+z.Name, unix.NFT_MSG_DELSET, unix.NLM_F_NONREC, z.Table.Family, func(r *request) error {
		r.str(unix.NFTA_SET_TABLE, z.Table.Name)
		r.str(unix.NFTA_SET_NAME, z.Name)
		return nil
	})
}

// AddZone puts links of a group in a zone; one that the map has in another zone
// is an error (EBUSY).
func (t *NftTx) AddZone(z NftZonesID, group uint32, zone uint16) {
	t.add(fmt.Sprintf("add %d to %s", group, z.Name), unix.NFT_MSG_NEWSETELEM, unix.NLM_F_CREATE, z.Table.Family, func(r *request) error {
		r.zone(z, group, &zone)
		return nil
	})
}

// DeleteZone takes a group out of the map, where it must be.
func (t *NftTx) DeleteZone(z NftZonesID, group uint32) {
	t.add(fmt.Sprintf("delete %d from %s", group, z.Name), unix.NFT_MSG_DELSETELEM, 0, z.Table.Family, func(r *request) error {
		r.zone(z, group, nil)
		return nil
	})
}

func (e *encoder) zone(z NftZonesID, group uint32, zone *uint16) {
	e.str(unix.NFTA_SET_ELEM_LIST_TABLE, z.Table.Name)
	e.str(unix.NFTA_SET_ELEM_LIST_SET, z.Name)
	e.nest(unix.NFTA_SET_ELEM_LIST_ELEMENTS|unix.NLA_F_NESTED, func() {
		e.nest(unix.NFTA_LIST_ELEM|unix.NLA_F_NESTED, func() {
			e.value(unix.NFTA_SET_ELEM_KEY, binary.NativeEndian.AppendUint32(nil, group))
			if zone != nil {
				e.value(unix.NFTA_SET_ELEM_DATA, binary.NativeEndian.AppendUint16(nil, *zone))
			}
		})
	})
}

// exprZone puts the packet in the zone of the link's group: what key loads.
func (e *encoder) exprZone(key uint32, zones string) {
	e.exprMeta(key)
	e.expr("lookup", func() {
		e.str(unix.NFTA_LOOKUP_SET, zones)
		e.be32(unix.NFTA_LOOKUP_SREG, unix.NFT_REG_1)
		e.be32(unix.NFTA_LOOKUP_DREG, unix.NFT_REG_1)
	})
	e.expr("ct", func() {
		e.be32(unix.NFTA_CT_KEY, unix.NFT_CT_ZONE)
		e.be32(unix.NFTA_CT_SREG, unix.NFT_REG_1)
	})
}

// lookup takes in that what was loaded is looked up in a map.
func (d *ruleDecoder) lookup(a map[uint16][]byte) bool {
	if d.load == nil || !d.load.isMeta || d.load.mask != nil || d.load.zones != "" || getBE32(a[unix.NFTA_LOOKUP_FLAGS]) != 0 ||
		getBE32(a[unix.NFTA_LOOKUP_SREG]) != unix.NFT_REG_1 || getBE32(a[unix.NFTA_LOOKUP_DREG]) != unix.NFT_REG_1 {
		return false
	}
	d.load.zones = text(a[unix.NFTA_LOOKUP_SET])
	return true
}

// zone takes in that the packet is put in the zone that was looked up.
func (d *ruleDecoder) zone(a map[uint16][]byte) bool {
	load := d.load
	d.load = nil
	if load == nil || load.zones == "" || d.rule.Action.Verb != NftNothing || getBE32(a[unix.NFTA_CT_KEY]) != unix.NFT_CT_ZONE ||
		getBE32(a[unix.NFTA_CT_SREG]) != unix.NFT_REG_1 {
		return false
	}
	switch load.meta {
	case unix.NFT_META_IIFGROUP:
		d.rule.Action = NftAction{Verb: NftZoneOfIn, Map: load.zones}
	case unix.NFT_META_OIFGROUP:
		d.rule.Action = NftAction{Verb: NftZoneOfOut, Map: load.zones}
	default:
		return false
	}
	return true
}

// NftZone looks up which zone the links of a group are in.
func (n *Namespace) NftZone(z NftZonesID, group uint32) (zone uint16, ok bool, err error) {
	ok, err = n.nftLookUp("nft.zone", fmt.Sprintf("%s %d", z, group), ObjectElement, func() error {
		r := newNftRequest(unix.NFT_MSG_GETSETELEM, 0, z.Table.Family)
		r.zone(z, group, nil)
		return n.nftGet(r, func(b []byte) error {
			return eachZone(b, func(_ uint32, found uint16) { zone = found })
		})
	})
	return zone, ok, err
}

// NftZones gives the zone of each group; a map that is not there has none. The
// list is complete, or there is an error.
func (n *Namespace) NftZones(z NftZonesID) (map[uint32]uint16, error) {
	var all map[uint32]uint16
	err := n.call("nft.zones", z.String(), func() error {
		r := newNftRequest(unix.NFT_MSG_GETSETELEM, 0, z.Table.Family)
		r.str(unix.NFTA_SET_ELEM_LIST_TABLE, z.Table.Name)
		r.str(unix.NFTA_SET_ELEM_LIST_SET, z.Name)
		return n.nftDump(r, func() { all = map[uint32]uint16{} }, func(b []byte) error {
			return eachZone(b, func(group uint32, zone uint16) { all[group] = zone })
		})
	})
	if Absent(ObjectSet, err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return all, nil
}

func eachZone(b []byte, f func(group uint32, zone uint16)) error {
	_, b, err := payloadOf(b)
	if err != nil {
		return err
	}
	return eachAttr(b, func(t uint16, v []byte) error {
		if t != unix.NFTA_SET_ELEM_LIST_ELEMENTS {
			return nil
		}
		return eachAttr(v, func(_ uint16, v []byte) error {
			var key, data []byte
			err := eachAttr(v, func(t uint16, v []byte) error {
				switch t {
				case unix.NFTA_SET_ELEM_KEY:
					key = dataValue(v)
				case unix.NFTA_SET_ELEM_DATA:
					data = dataValue(v)
				}
				return nil
			})
			if err == nil && (len(key) < 4 || len(data) < 2) {
				err = errMalformed
			}
			if err == nil {
				f(getU32(key), getU16(data))
			}
			return err
		})
	})
}
