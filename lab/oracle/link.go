package oracle

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// link is a network interface.
type link struct {
	index      int32
	name, kind string
	flags      uint32
	mac        []byte
	drawn      bool // the kernel drew the MAC address
	inherited  bool // it is the parent's
	parent     int32
	nsid       int32 // the number of the parent's namespace; -1: this one
	attrs      table
	data, port []byte // of the kind's and of the master's kind
	masterKind string
	altnames   []string
	vlans      string
}

// listLinks lists the links of the namespace.
func (ns *netns) listLinks() error {
	const skipStats = 8 // RTEXT_FILTER_SKIP_STATS
	body := append(make([]byte, unix.SizeofIfInfomsg), u32attr(unix.IFLA_EXT_MASK, skipStats)...)
	answer, err := ns.conn.dump(unix.RTM_GETLINK, body)
	if err != nil {
		return fmt.Errorf("links: %w", err)
	}
	ns.byIdx = make(map[int32]*link, len(answer))
	bridges := false
	for _, m := range answer {
		l, err := decodeLink(m.data)
		if err != nil {
			return fmt.Errorf("links: %w", err)
		}
		ns.links = append(ns.links, l)
		ns.byIdx[l.index] = l
		bridges = bridges || l.kind == "bridge"
	}
	if bridges {
		return ns.listVLANs()
	}
	return nil
}

func decodeLink(data []byte) (*link, error) {
	head, t, err := headed(data, unix.SizeofIfInfomsg)
	if err != nil {
		return nil, err
	}
	l := &link{
		index: int32(native32(head, 4)), flags: native32(head, 8), name: t.text(unix.IFLA_IFNAME),
		mac: t[unix.IFLA_ADDRESS], parent: t.index(unix.IFLA_LINK), nsid: -1, attrs: t,
	}
	if t.has(unix.IFLA_LINK_NETNSID) {
		l.nsid = t.index(unix.IFLA_LINK_NETNSID)
	}
	info, err := tableOf(t[unix.IFLA_LINKINFO])
	if err != nil {
		return nil, err
	}
	l.kind, l.data = info.text(unix.IFLA_INFO_KIND), info[unix.IFLA_INFO_DATA]
	l.masterKind, l.port = info.text(unix.IFLA_INFO_SLAVE_KIND), info[unix.IFLA_INFO_SLAVE_DATA]
	props, err := list(t[unix.IFLA_PROP_LIST])
	if err != nil {
		return nil, err
	}
	for _, p := range props {
		if p.kind == unix.IFLA_ALT_IFNAME {
			l.altnames = append(l.altnames, text(p.data))
		}
	}
	return l, nil
}

// macOrigins finds out which MAC addresses nobody has chosen. Only sysfs tells,
// that of the namespace: it is mounted nowhere, but held open.
func (ns *netns) macOrigins() error {
	if !slices.ContainsFunc(ns.links, func(l *link) bool { return len(l.mac) == 6 && !zero(l.mac) }) {
		return nil
	}
	root, err := detached("sysfs")
	if err != nil {
		return fmt.Errorf("sysfs: %w", err)
	}
	defer unix.Close(root)
	for _, l := range ns.links {
		b, err := readAt(root, "class/net/"+l.name+"/addr_assign_type")
		if errors.Is(err, fs.ErrNotExist) {
			return errMoved
		}
		if err != nil {
			return fmt.Errorf("where the MAC address of %s is from: %w", l.name, err)
		}
		l.drawn, l.inherited = b == "1" && len(l.mac) == 6, b == "2"
	}
	return nil
}

// detached mounts a file system nowhere; the descriptor is its root.
func detached(kind string) (int, error) {
	fs, err := unix.Fsopen(kind, unix.FSOPEN_CLOEXEC)
	if err != nil {
		return -1, err
	}
	defer unix.Close(fs)
	if err := unix.FsconfigCreate(fs); err != nil {
		return -1, err
	}
	return unix.Fsmount(fs, unix.FSMOUNT_CLOEXEC, 0)
}

// readAt reads a small file below an open directory, without the blanks around.
func readAt(dir int, path string) (string, error) {
	fd, err := unix.Openat(dir, path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return "", err
	}
	defer unix.Close(fd)
	var buf [4096]byte
	n, err := unix.Read(fd, buf[:])
	if err != nil {
		return "", err
	}
	return strings.TrimSpace(string(buf[:n])), nil
}

// linkFacts tells the links.
func (ns *netns) linkFacts() error {
	for _, l := range ns.links {
		kind, err := l.kindParts(ns)
		if err != nil {
			return fmt.Errorf("link %s: %w", l.name, err)
		}
		value := func(mac string) string {
			parts := slices.Concat([]string{orPlain(l.kind)}, mac2parts(mac), l.commonParts(ns), kind)
			return strings.Join(parts, " ")
		}
		f := fact{Item: Item{Kind: "link", Where: ns.name, Name: l.name, Value: value(l.shownMAC())}, exact: value(mac(l.mac))}
		f.native = l.name == "lo"
		ns.facts = append(ns.facts, f)
		for _, a := range l.altnames {
			ns.tell("altname", a, "of "+l.name)
		}
	}
	return nil
}

func mac2parts(mac string) []string {
	if mac == "" {
		return nil
	}
	return []string{"mac=" + mac}
}

func orPlain(kind string) string {
	if kind == "" {
		return "device"
	}
	return kind
}

func (l *link) shownMAC() string {
	switch {
	case len(l.mac) == 0 || zero(l.mac):
		return ""
	case l.drawn:
		return "drawn"
	case l.inherited:
		return "inherited"
	}
	return mac(l.mac)
}

// commonParts is what links of all kinds have.
func (l *link) commonParts(ns *netns) []string {
	var parts []string
	for _, f := range []struct {
		bit  uint32
		name string
	}{{unix.IFF_UP, "up"}, {unix.IFF_PROMISC, "promisc"}, {unix.IFF_ALLMULTI, "allmulti"}, {unix.IFF_NOARP, "noarp"}} {
		if l.flags&f.bit != 0 {
			parts = append(parts, f.name)
		}
	}
	if l.flags&unix.IFF_MULTICAST == 0 && l.name != "lo" {
		parts = append(parts, "nomulticast")
	}
	if p := l.parentName(ns); p != "" {
		what := "on="
		if l.kind == "veth" || l.kind == "netkit" {
			what = "peer="
		}
		parts = append(parts, what+p)
	}
	parts = append(parts, schema{
		unix.IFLA_MTU: num("mtu"), unix.IFLA_MASTER: dev("master"), unix.IFLA_TXQLEN: num("txqlen"),
		unix.IFLA_NUM_TX_QUEUES: num("txqueues").usually("1"), unix.IFLA_NUM_RX_QUEUES: num("rxqueues").usually("1"),
		unix.IFLA_GROUP: num("group"), unix.IFLA_PROMISCUITY: num("promiscuity"), unix.IFLA_ALLMULTI: num("allmulti"),
		unix.IFLA_PROTO_DOWN: num("protodown"),
		unix.IFLA_IFALIAS:    {name: "alias", show: plain(func(b []byte) string { return strconv.Quote(text(b)) })},
		unix.IFLA_XDP:        {name: "xdp", show: plain(xdpMode), usual: "0"},
	}.renderKnown(ns, l.attrs)...)
	if l.vlans != "" {
		parts = append(parts, "vlans="+l.vlans)
	}
	return parts
}

// parentName names what the link is upon, or the other end.
func (l *link) parentName(ns *netns) string {
	if l.parent == 0 || (l.parent == l.index && l.nsid < 0) {
		return ""
	}
	if l.nsid < 0 {
		return ns.linkName(l.parent)
	}
	other := ns.byNsid[l.nsid]
	if other == nil {
		return "(in a namespace that nothing here holds)"
	}
	return other.linkName(l.parent) + "@" + other.name
}

// xdpMode is 0 without a program.
func xdpMode(b []byte) string {
	t, err := tableOf(b)
	if err != nil {
		return "?"
	}
	return t.number(unix.IFLA_XDP_ATTACHED)
}

// renderKnown is for attributes of which most are of no interest.
func (s schema) renderKnown(ns *netns, t table) []string {
	all := make([]attr, 0, len(s))
	for kind := range s {
		if data, ok := t[kind]; ok {
			all = append(all, attr{kind, data})
		}
	}
	return s.renderAll(ns, all)
}
