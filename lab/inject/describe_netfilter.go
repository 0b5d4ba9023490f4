package inject

import (
	"fmt"
	"strings"

	"golang.org/x/sys/unix"
)

// nfHeader is the size of struct nfgenmsg.
const nfHeader = 4

// nftables are the messages of nftables, by their numbers.
func nftables() []string {
	return strings.Fields(`NEWTABLE GETTABLE DELTABLE NEWCHAIN GETCHAIN DELCHAIN NEWRULE GETRULE DELRULE
		NEWSET GETSET DELSET NEWSETELEM GETSETELEM DELSETELEM NEWGEN GETGEN TRACE NEWOBJ GETOBJ DELOBJ GETOBJ_RESET
		NEWFLOWTABLE GETFLOWTABLE DELFLOWTABLE GETRULE_RESET DESTROYTABLE DESTROYCHAIN DESTROYRULE DESTROYSET
		DESTROYSETELEM DESTROYOBJ DESTROYFLOWTABLE GETSETELEM_RESET`)
}

// subsystem is a part of netfilter, with its messages as far as they are named.
type subsystem struct {
	prefix   string
	messages []string
}

func subsystems() map[uint16]subsystem {
	return map[uint16]subsystem{
		unix.NFNL_SUBSYS_CTNETLINK:  {"IPCTNL_MSG_CT_", []string{"NEW", "GET", "DELETE", "GET_CTRZERO", "GET_STATS_CPU", "GET_STATS"}},
		unix.NFNL_SUBSYS_IPSET:      {"IPSET_CMD_", []string{"NONE", "PROTOCOL", "CREATE", "DESTROY", "FLUSH", "RENAME", "SWAP", "LIST", "SAVE", "ADD", "DEL", "TEST", "HEADER", "TYPE"}},
		unix.NFNL_SUBSYS_NFTABLES:   {"NFT_MSG_", nftables()},
		unix.NFNL_SUBSYS_NFT_COMPAT: {"NFNL_MSG_COMPAT_", []string{"GET"}},
	}
}

// netfilter describes a request of NETLINK_NETFILTER. The ends of a batch have
// no text.
func netfilter(m *Message) {
	if m.Type == unix.NFNL_MSG_BATCH_BEGIN || m.Type == unix.NFNL_MSG_BATCH_END {
		m.Name = map[uint16]string{unix.NFNL_MSG_BATCH_BEGIN: "NFNL_MSG_BATCH_BEGIN", unix.NFNL_MSG_BATCH_END: "NFNL_MSG_BATCH_END"}[m.Type]
		return
	}
	which, number := m.Type>>8, int(m.Type&0xff)
	m.Name = fmt.Sprintf("NFNL_%d_%d", which, number)
	if s, ok := subsystems()[which]; ok && number < len(s.messages) {
		m.Name = s.prefix + s.messages[number]
	}
	m.Text = m.Name
	if len(m.Body) < nfHeader {
		return
	}
	if f, ok := nfFamilies()[m.Body[0]]; ok {
		m.Text += " " + f
	}
	switch which {
	case unix.NFNL_SUBSYS_NFTABLES:
		m.Text += ofNftables(*m)
	case unix.NFNL_SUBSYS_NFT_COMPAT, unix.NFNL_SUBSYS_IPSET:
		const compatName, setName = 1, 2
		at := uint16(compatName)
		if which == unix.NFNL_SUBSYS_IPSET {
			at = setName
		}
		if name := cString(m.Attributes(nfHeader)[at]); name != "" {
			m.Text += " name=" + name
		}
	}
	if m.Flags&unix.NLM_F_DUMP == unix.NLM_F_DUMP && strings.Contains(m.Name, "GET") {
		m.Text += " dump"
	}
}

func nfFamilies() map[byte]string {
	return map[byte]string{
		unix.NFPROTO_INET: "inet", unix.NFPROTO_IPV4: "ip", unix.NFPROTO_ARP: "arp",
		unix.NFPROTO_NETDEV: "netdev", unix.NFPROTO_BRIDGE: "bridge", unix.NFPROTO_IPV6: "ip6",
	}
}

// ofNftables says which table, and what in it.
func ofNftables(m Message) string {
	a := m.Attributes(nfHeader)
	var b strings.Builder
	// The first attribute of all of them is the table's name.
	if table := cString(a[unix.NFTA_TABLE_NAME]); table != "" {
		b.WriteString(" table=" + table)
	}
	switch {
	case strings.HasSuffix(m.Name, "CHAIN"):
		if name := cString(a[unix.NFTA_CHAIN_NAME]); name != "" {
			b.WriteString(" chain=" + name)
		}
	case strings.Contains(m.Name, "RULE"):
		if chain := cString(a[unix.NFTA_RULE_CHAIN]); chain != "" {
			b.WriteString(" chain=" + chain)
		}
		if c := comment(a[unix.NFTA_RULE_USERDATA]); c != "" {
			fmt.Fprintf(&b, " comment=%q", c)
		}
	case strings.Contains(m.Name, "SET"):
		if name := cString(a[unix.NFTA_SET_NAME]); name != "" {
			b.WriteString(" set=" + name)
		}
	case strings.HasSuffix(m.Name, "OBJ"), strings.HasSuffix(m.Name, "FLOWTABLE"):
		if name := cString(a[unix.NFTA_OBJ_NAME]); name != "" {
			b.WriteString(" name=" + name)
		}
	}
	return b.String()
}

// comment finds the comment in what nft keeps beside a rule: type 0 of its
// entries, each with a byte for the type and one for the length.
func comment(data []byte) string {
	for len(data) >= 2 {
		size := int(data[1])
		if len(data) < 2+size {
			break
		}
		if data[0] == 0 {
			return cString(data[2 : 2+size])
		}
		data = data[2+size:]
	}
	return ""
}
