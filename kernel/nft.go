package kernel

import (
	"net"
	"net/netip"
	"strconv"

	"golang.org/x/sys/unix"
)

// Nftables in Fairlead's own words: tables, chains, and rules that are
// conditions with an action. What nft itself would write for the same rule is
// what is sent, so that nft and whoever parses its output see nothing unusual.

// NftFamily is the family of a table.
type NftFamily uint8

// The families (linux/netfilter.h).
const (
	NftInet   NftFamily = unix.NFPROTO_INET
	NftIPv4   NftFamily = unix.NFPROTO_IPV4
	NftBridge NftFamily = unix.NFPROTO_BRIDGE
	NftIPv6   NftFamily = unix.NFPROTO_IPV6
)

// String is nft's word for it.
func (f NftFamily) String() string {
	switch f {
	case NftInet:
		return "inet"
	case NftIPv4:
		return "ip"
	case NftBridge:
		return "bridge"
	case NftIPv6:
		return "ip6"
	}
	return "family " + strconv.Itoa(int(f))
}

// NftTableID names a table.
type NftTableID struct {
	Family NftFamily
	Name   string
}

// String is how nft writes it: "inet filter".
func (t NftTableID) String() string { return t.Family.String() + " " + t.Name }

// Chain names a chain of the table.
func (t NftTableID) Chain(name string) NftChainID { return NftChainID{Table: t, Name: name} }

// NftChainID names a chain.
type NftChainID struct {
	Table NftTableID
	Name  string
}

// String is how nft writes it: "inet filter input".
func (c NftChainID) String() string { return c.Table.String() + " " + c.Name }

// NftTable is a table.
type NftTable struct {
	NftTableID
	Comment string
	// Flags are NFT_TABLE_F_* (dormant, owned, persistent).
	Flags uint32
	// Uses counts the chains, sets, objects and flowtables in it; learned.
	Uses uint32
}

// NftChain is a chain.
type NftChain struct {
	NftChainID
	Comment string
	// Hook is nil for a chain that is only jumped to.
	Hook *NftHook
	// Uses counts its rules, and the jumps to it; learned.
	Uses uint32
}

// NftHook says when a base chain is gone through.
type NftHook struct {
	Type     string // "nat", "filter"
	Number   uint32 // NF_INET_POST_ROUTING and the like
	Priority int32
	Policy   uint32 // NF_ACCEPT, NF_DROP
}

// NftRule is a rule: when all of Match holds, Action is taken.
type NftRule struct {
	// Handle is the kernel's name for it, unique in its table as long as the
	// table stays. NftCommit fills it in.
	Handle  uint64
	Comment string
	Match   NftMatch
	Action  NftAction
	// Foreign: it has conditions or statements for which there is no word here.
	Foreign bool
}

// NftMatch is a rule's conditions. A zero field is no condition. Values can be
// compared with ==.
type NftMatch struct {
	IifName     string
	EtherSource string // "0a:58:0a:00:00:05"
	Source      NftNet
	Destination NftNet
}

// NftNet is a condition on an address: it is within Prefix or, with Not, it is
// not.
type NftNet struct {
	Prefix netip.Prefix // masked
	Not    bool
}

// NftVerb is what a rule does.
type NftVerb int

// What a rule does. The zero value: it goes on to the next rule.
const (
	NftNothing NftVerb = iota
	NftAccept
	NftDrop
	NftReturn
	NftJump
	NftGoto
	NftMasquerade
	NftZoneOfIn  // connection tracking's zone is that of the link it came by, in Map
	NftZoneOfOut // likewise, of the link that it leaves by
)

// NftAction is what a rule does, to which chain it goes, and by which map of
// zones (NftZonesID).
type NftAction struct {
	Verb  NftVerb
	Chain string
	Map   string
}

// NftWithin is the condition that an address is in p.
func NftWithin(p netip.Prefix) NftNet { return NftNet{Prefix: p.Masked()} }

// NftOutside is the condition that an address is not in p.
func NftOutside(p netip.Prefix) NftNet { return NftNet{Prefix: p.Masked(), Not: true} }

// NftMAC writes a MAC address as NftMatch has it.
func NftMAC(mac net.HardwareAddr) string { return mac.String() }
