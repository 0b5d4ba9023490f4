package inject

import (
	"encoding/binary"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// The fixed beginnings of requests, and VETH_INFO_PEER.
const (
	linkHeader    = unix.SizeofIfInfomsg // also of what else is about ports: indexAt is alike
	addressHeader = unix.SizeofIfAddrmsg
	routeHeader   = unix.SizeofRtMsg // also struct fib_rule_hdr
	neighHeader   = unix.SizeofNdMsg
	trafficHeader = 20 // struct tcmsg
	vethInfoPeer  = 1
)

// subjects are what requests are about, by the first type of each four: new,
// delete, get, set.
func subjects() map[uint16]string {
	return map[uint16]string{
		unix.RTM_NEWLINK: "LINK", unix.RTM_NEWADDR: "ADDR", unix.RTM_NEWROUTE: "ROUTE", unix.RTM_NEWNEIGH: "NEIGH",
		unix.RTM_NEWRULE: "RULE", unix.RTM_NEWQDISC: "QDISC", unix.RTM_NEWTCLASS: "TCLASS", unix.RTM_NEWTFILTER: "TFILTER",
		unix.RTM_NEWACTION: "ACTION", unix.RTM_NEWNEIGHTBL: "NEIGHTBL", unix.RTM_NEWADDRLABEL: "ADDRLABEL",
		unix.RTM_NEWNETCONF: "NETCONF", unix.RTM_NEWMDB: "MDB", unix.RTM_NEWNSID: "NSID", unix.RTM_NEWSTATS: "STATS",
		unix.RTM_NEWCHAIN: "CHAIN", unix.RTM_NEWNEXTHOP: "NEXTHOP", unix.RTM_NEWLINKPROP: "LINKPROP", unix.RTM_NEWVLAN: "VLAN",
	}
}

// Of a type, the lowest bits.
const (
	operationNew = iota
	operationDelete
	operationGet
	operationSet
	operations
)

func (m Message) operation() uint16 { return (m.Type - unix.RTM_BASE) % operations }

func (m Message) subject() uint16 { return m.Type - m.operation() }

// changesLink tells whether a name that was known may be another's afterwards.
func (m Message) changesLink() bool {
	return m.Type >= unix.RTM_BASE && m.subject() == unix.RTM_NEWLINK && m.operation() != operationGet
}

// line collects what is said of a message.
type line struct {
	d *describer
	m *Message
	b strings.Builder
}

func (l *line) add(key, value string) {
	l.b.WriteByte(' ')
	l.b.WriteString(key)
	if value != "" {
		l.b.WriteByte('=')
		l.b.WriteString(value)
	}
}

// index adds an interface by its name; the first is what the message is about.
func (l *line) index(key string, index int) {
	if index == 0 {
		return
	}
	name := l.d.link(index)
	if l.m.Link == "" {
		l.m.Link = name
	}
	l.add(key, name)
}

func (l *line) address(key, value string) {
	if value != "" {
		l.m.Addresses = append(l.m.Addresses, value)
		l.add(key, value)
	}
}

// route describes a request of NETLINK_ROUTE.
func (d describer) route(m *Message) {
	subject, ok := subjects()[m.subject()]
	if !ok {
		m.Name = fmt.Sprintf("RTM_%d", m.Type)
		m.Text = m.Name
		return
	}
	m.Name = "RTM_" + [operations]string{"NEW", "DEL", "GET", "SET"}[m.operation()] + subject
	l := &line{d: &d, m: m}
	l.requestFlags()
	switch m.subject() {
	case unix.RTM_NEWLINK, unix.RTM_NEWLINKPROP:
		l.aboutLink()
	case unix.RTM_NEWADDR:
		l.aboutAddress()
	case unix.RTM_NEWROUTE:
		l.aboutRoute()
	case unix.RTM_NEWRULE:
		l.aboutRule()
	case unix.RTM_NEWNEIGH:
		l.aboutNeighbour()
	case unix.RTM_NEWQDISC, unix.RTM_NEWTCLASS, unix.RTM_NEWTFILTER, unix.RTM_NEWCHAIN:
		l.aboutTraffic()
	case unix.RTM_NEWMDB, unix.RTM_NEWVLAN, unix.RTM_NEWSTATS:
		l.index("link", m.LinkIndex())
	}
	m.Text = m.Name + l.b.String()
}

// requestFlags says what a request asks for besides.
func (l *line) requestFlags() {
	if l.m.operation() == operationGet {
		if l.m.Flags&unix.NLM_F_DUMP == unix.NLM_F_DUMP {
			l.add("dump", "")
		}
		return
	}
	if l.m.operation() == operationDelete {
		return
	}
	for _, f := range []struct {
		bit  uint16
		name string
	}{{unix.NLM_F_CREATE, "create"}, {unix.NLM_F_EXCL, "excl"}, {unix.NLM_F_REPLACE, "replace"}, {unix.NLM_F_APPEND, "append"}} {
		if l.m.Flags&f.bit != 0 {
			l.add(f.name, "")
		}
	}
}

func (l *line) aboutLink() {
	m := l.m
	if len(m.Body) < linkHeader {
		return
	}
	family(l, m.Body[0])
	l.index("link", m.LinkIndex())
	a := m.Attributes(linkHeader)
	if name := cString(a[unix.IFLA_IFNAME]); name != "" {
		l.add("name", name)
		if m.Link == "" {
			m.Link = name
		}
	}
	l.interfaceFlags(binary.NativeEndian.Uint32(m.Body[8:]), binary.NativeEndian.Uint32(m.Body[12:]))
	if info := nested(a[unix.IFLA_LINKINFO]); info[unix.IFLA_INFO_KIND] != nil {
		kind := cString(info[unix.IFLA_INFO_KIND])
		l.add("kind", kind)
		l.ofKind(kind, info[unix.IFLA_INFO_DATA])
	}
	if master, ok := number(a[unix.IFLA_MASTER]); ok && master == 0 {
		l.add("master", "none")
	} else if ok {
		l.add("master", l.d.link(int(master)))
	}
	if lower, ok := number(a[unix.IFLA_LINK]); ok && a[unix.IFLA_LINK_NETNSID] == nil {
		l.add("on", l.d.link(int(lower)))
	}
	if mtu, ok := number(a[unix.IFLA_MTU]); ok {
		l.add("mtu", strconv.Itoa(int(mtu)))
	}
	if mac := a[unix.IFLA_ADDRESS]; len(mac) > 0 {
		l.add("mac", net.HardwareAddr(mac).String())
	}
	if alias, ok := a[unix.IFLA_IFALIAS]; ok {
		l.add("alias", strconv.Quote(cString(alias)))
	}
	for attribute, says := range map[uint16]string{unix.IFLA_NET_NS_FD: "to-netns", unix.IFLA_NET_NS_PID: "to-netns"} {
		if a[attribute] != nil {
			l.add(says, "")
		}
	}
	alternative(l, a)
	for _, o := range []struct {
		attribute uint16
		says      string
	}{{unix.IFLA_AF_SPEC, "af-spec"}, {unix.IFLA_PROTINFO, "protinfo"}} {
		if a[o.attribute] != nil && m.operation() != operationGet {
			l.add(o.says, "")
		}
	}
}

// alternative adds other names of a link.
func alternative(l *line, a map[uint16][]byte) {
	name := a[unix.IFLA_ALT_IFNAME]
	if name == nil {
		name = nested(a[unix.IFLA_PROP_LIST])[unix.IFLA_ALT_IFNAME]
	}
	if name == nil {
		return
	}
	l.add("altname", cString(name))
	if l.m.Link == "" {
		l.m.Link = cString(name)
	}
}

// interfaceFlags adds those that are changed.
func (l *line) interfaceFlags(flags, change uint32) {
	if l.m.operation() == operationGet {
		return
	}
	for _, f := range []struct {
		bit    uint32
		on     string
		off    string
		always bool // counts without being marked as changed
	}{{unix.IFF_UP, "up", "down", true}, {unix.IFF_PROMISC, "promisc", "-promisc", false}, {unix.IFF_ALLMULTI, "allmulti", "-allmulti", false}, {unix.IFF_NOARP, "noarp", "-noarp", false}} {
		switch {
		case flags&f.bit != 0 && (change&f.bit != 0 || f.always && change == 0):
			l.add(f.on, "")
		case change&f.bit != 0 && change != 0xffffffff:
			l.add(f.off, "")
		}
	}
}

// ofKind adds what tells links of a kind apart.
func (l *line) ofKind(kind string, data []byte) {
	a := nested(data)
	switch kind {
	case "veth":
		peer := Message{Body: a[vethInfoPeer]}
		if name := cString(peer.Attributes(linkHeader)[unix.IFLA_IFNAME]); name != "" {
			l.add("peer", name)
		}
	case "vlan":
		if id := a[unix.IFLA_VLAN_ID]; len(id) == 2 {
			l.add("vlan", strconv.Itoa(int(binary.NativeEndian.Uint16(id))))
		}
	case "vrf":
		if table, ok := number(a[unix.IFLA_VRF_TABLE]); ok {
			l.add("table", strconv.Itoa(int(table)))
		}
	}
}

func (l *line) aboutAddress() {
	m := l.m
	if len(m.Body) < addressHeader {
		return
	}
	family(l, m.Body[0])
	l.index("link", m.LinkIndex())
	a := m.Attributes(addressHeader)
	local := a[unix.IFA_LOCAL]
	if local == nil {
		local = a[unix.IFA_ADDRESS]
	}
	l.address("addr", prefix(local, m.Body[1]))
}

func (l *line) aboutRoute() {
	m := l.m
	if len(m.Body) < routeHeader {
		return
	}
	a := m.Attributes(routeHeader)
	family(l, m.Body[0])
	switch dst := prefix(a[unix.RTA_DST], m.Body[1]); {
	case dst != "":
		l.address("dst", dst)
	case m.operation() != operationGet:
		l.add("dst", "default")
	}
	l.address("src", prefix(a[unix.RTA_SRC], m.Body[2]))
	l.address("via", address(a[unix.RTA_GATEWAY]))
	l.address("prefsrc", address(a[unix.RTA_PREFSRC]))
	if out, ok := number(a[unix.RTA_OIF]); ok {
		l.index("dev", int(out))
	}
	l.table(a[unix.RTA_TABLE], m.Body[4])
	if metric, ok := number(a[unix.RTA_PRIORITY]); ok {
		l.add("metric", strconv.Itoa(int(metric)))
	}
	if a[unix.RTA_MULTIPATH] != nil {
		l.add("multipath", "")
	}
}

// table adds a table: the attribute, or the byte for small ones. The main one is
// meant where none is said.
func (l *line) table(attribute []byte, small byte) {
	table := uint32(small)
	if large, ok := number(attribute); ok {
		table = large
	}
	if table != unix.RT_TABLE_UNSPEC && table != unix.RT_TABLE_MAIN {
		l.add("table", strconv.Itoa(int(table)))
	}
}

func (l *line) aboutRule() {
	m := l.m
	if len(m.Body) < routeHeader {
		return
	}
	a := m.Attributes(routeHeader)
	family(l, m.Body[0])
	l.address("from", prefix(a[unix.FRA_SRC], m.Body[2]))
	l.address("to", prefix(a[unix.FRA_DST], m.Body[1]))
	for _, o := range []struct {
		attribute uint16
		key       string
	}{{unix.FRA_IIFNAME, "iif"}, {unix.FRA_OIFNAME, "oif"}} {
		if name := cString(a[o.attribute]); name != "" {
			l.add(o.key, name)
			m.Link = name
		}
	}
	l.table(a[unix.FRA_TABLE], m.Body[4])
	if priority, ok := number(a[unix.FRA_PRIORITY]); ok {
		l.add("priority", strconv.Itoa(int(priority)))
	}
}

func (l *line) aboutNeighbour() {
	m := l.m
	if len(m.Body) < neighHeader {
		return
	}
	a := m.Attributes(neighHeader)
	family(l, m.Body[0])
	l.index("link", m.LinkIndex())
	l.address("addr", address(a[unix.NDA_DST]))
	if mac := a[unix.NDA_LLADDR]; len(mac) > 0 {
		l.add("mac", net.HardwareAddr(mac).String())
	}
}

func (l *line) aboutTraffic() {
	m := l.m
	if len(m.Body) < trafficHeader {
		return
	}
	l.index("link", m.LinkIndex())
	if kind := cString(m.Attributes(trafficHeader)[unix.TCA_KIND]); kind != "" {
		l.add("kind", kind)
	}
	for _, o := range []struct {
		key string
		at  int
	}{{"handle", 8}, {"parent", 12}} {
		if h := binary.NativeEndian.Uint32(m.Body[o.at:]); h != 0 {
			l.add(o.key, fmt.Sprintf("%x:%x", h>>16, h&0xffff))
		}
	}
}

// family adds one that is not IPv4's.
func family(l *line, f byte) {
	switch f {
	case unix.AF_INET6:
		l.add("inet6", "")
	case unix.AF_BRIDGE:
		l.add("bridge", "")
	}
}

// nested are the attributes within one.
func nested(b []byte) map[uint16][]byte { return Message{Body: b}.Attributes(0) }

func number(b []byte) (uint32, bool) {
	if len(b) != 4 {
		return 0, false
	}
	return binary.NativeEndian.Uint32(b), true
}

func address(b []byte) string {
	a, ok := netip.AddrFromSlice(b)
	if !ok {
		return ""
	}
	return a.String()
}

func prefix(b []byte, bits byte) string {
	if a := address(b); a != "" {
		return a + "/" + strconv.Itoa(int(bits))
	}
	return ""
}
