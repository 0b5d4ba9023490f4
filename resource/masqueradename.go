package resource

import (
	"crypto/sha512"
	"encoding/hex"
	"fmt"
	"strings"
)

// The names that the reference plugins give (plugins v1.10.0, pkg/ip and
// pkg/utils): what the other suite must find may not change.

const (
	masqueradeHash    = 16  // digits
	masqueradeComment = 128 // bytes, the most that nft takes
	natChainName      = 28
)

func sha512Digits(text string) string {
	sum := sha512.Sum512([]byte(text))
	return hex.EncodeToString(sum[:])
}

// masqueradeNetwork begins the comment of all rules of a network.
func masqueradeNetwork(network string) string { return sha512Digits(network)[:masqueradeHash] }

// masqueradeOwner begins the comment of an attachment's rules.
func masqueradeOwner(network, container, ifName string) string {
	return masqueradeNetwork(network) + "-" + sha512Digits(ifName + ":" + container)[:masqueradeHash]
}

// owner marks the attachment's rules.
func (m *Masquerade) owner() string { return masqueradeOwner(m.Network, m.Container, m.IfName) }

// comment is the whole of what nftables rules carry.
func (m *Masquerade) comment() string {
	plain := func(s string) string { return strings.ReplaceAll(s, `"`, "") }
	c := fmt.Sprintf("%s, net: %s, if: %s, id: %s", m.owner(), plain(m.Network), plain(m.IfName), plain(m.Container))
	return c[:min(len(c), masqueradeComment)]
}

// natChain is the chain of iptables rules. It is the container's: the
// reference does not tell its interfaces apart.
func natChain(network, container string) string {
	return ("CNI-" + sha512Digits(network+container))[:natChainName]
}

// natComment is what iptables rules carry.
func natComment(network, container string) string {
	return fmt.Sprintf("name: %q id: %q", network, container)
}
