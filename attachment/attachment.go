// Package attachment says what an attachment is, and derives from its identity
// every name that Fairlead gives on its behalf: owner, host interface, MAC
// address, link alias.
//
// What may enter: pure functions of the identity. What may not: any import of
// another room.
package attachment

import (
	"crypto/sha256"
	"encoding/base32"
	"encoding/hex"
	"net"
	"strings"
)

// ID is the identity of an attachment, as the CNI specification has it: one
// interface of one container on one network.
type ID struct {
	Network   string `json:"network"`
	Container string `json:"container"`
	IfName    string `json:"ifName"`
}

// Owner is the name that the attachment's objects carry: 26 characters of
// a-z and 2-7. It is the same for the same ID on every node and at every time.
type Owner string

const (
	ownerLen = 26
	// aliasMax is IFALIASZ less the terminating zero (linux/if.h).
	aliasMax    = 255
	aliasPrefix = "fairlead:"
)

// Owner derives the owner's name.
func (id ID) Owner() Owner {
	return Owner(hash32(id.Network, id.Container, id.IfName)[:ownerLen])
}

// Alias is the mark that a link of this attachment carries (IFLA_IFALIAS): the
// owner, then what a person wants to read. It is cut to 255 bytes.
func (id ID) Alias() string {
	alias := aliasPrefix + string(id.Owner()) + " " + id.Container + "/" + id.IfName + " " + id.Network
	if len(alias) > aliasMax {
		alias = alias[:aliasMax]
	}
	return alias
}

// String is the identity for messages.
func (id ID) String() string {
	return id.Container + "/" + id.IfName + " on " + id.Network
}

// HostVeth is the name of the host's end of the attachment's veth pair: 15
// bytes, the most that IFNAMSIZ allows.
func (o Owner) HostVeth() string {
	return "veth" + string(o[:11])
}

// PassingLink is the name that a link of the attachment has for a moment, where
// its own is taken in the namespace that the kernel makes it in (Linux before
// 6.15). No link keeps it, so one that a crash left under it is the
// attachment's.
func (o Owner) PassingLink() string {
	return "fl" + string(o[:13])
}

// MAC derives a locally administered unicast address; the salt tells apart the
// interfaces of one attachment.
func (o Owner) MAC(salt string) net.HardwareAddr {
	return DeriveMAC(string(o) + "/" + salt)
}

// DeriveMAC makes a locally administered unicast address of any text.
func DeriveMAC(text string) net.HardwareAddr {
	sum := sha256.Sum256([]byte(text))
	mac := net.HardwareAddr(sum[:6])
	mac[0] = mac[0]&^0x01 | 0x02
	return mac
}

// Digest is a short name (16 hexadecimal digits) for a text that may be too
// long, or have characters that can't be used, for a file's name.
func Digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:8])
}

// OwnerOfAlias reads the mark back. ok is false where the alias is not one of
// Fairlead's attachments.
func OwnerOfAlias(alias string) (Owner, bool) {
	rest, found := strings.CutPrefix(alias, aliasPrefix)
	if !found || len(rest) < ownerLen {
		return "", false
	}
	if len(rest) > ownerLen && rest[ownerLen] != ' ' {
		return "", false
	}
	return ParseOwner(rest[:ownerLen])
}

// ParseOwner takes an owner's name, such as that of a folder in the journal.
func ParseOwner(name string) (Owner, bool) {
	for _, c := range name {
		if (c < 'a' || c > 'z') && (c < '2' || c > '7') {
			return "", false
		}
	}
	return Owner(name), len(name) == ownerLen
}

// hash32 is a hash of several texts, in 52 characters.
func hash32(parts ...string) string {
	h := sha256.New()
	for _, part := range parts {
		// The length goes first, so that no two lists have one text.
		h.Write([]byte{byte(len(part) >> 8), byte(len(part))})
		h.Write([]byte(part))
	}
	return lower32(h.Sum(nil))
}

func lower32(b []byte) string {
	return strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(b))
}
