package kernel

import (
	"net"
	"strconv"

	"golang.org/x/sys/unix"
)

// skipStats is RTEXT_FILTER_SKIP_STATS: leave out the counters.
const skipStats = 1 << 3

// Link looks a link up by name, or by an alternative name: its Name is then
// another one, but no link can be made with this one.
func (n *Namespace) Link(name string) (Link, bool, error) {
	return n.linkBy(name, func(r *request) {
		if len(name) >= unix.IFNAMSIZ {
			r.str(unix.IFLA_ALT_IFNAME, name)
		} else {
			r.str(unix.IFLA_IFNAME, name)
		}
	}, 0)
}

// LinkByIndex looks a link up by its index.
func (n *Namespace) LinkByIndex(index int) (Link, bool, error) {
	return n.linkBy(strconv.Itoa(index), func(*request) {}, index)
}

func (n *Namespace) linkBy(object string, key func(*request), index int) (Link, bool, error) {
	var l Link
	found := false
	err := n.call("link.get", object, func() error {
		r := newRequest(unix.RTM_GETLINK, 0, ifInfo(index, 0, 0))
		r.u32(unix.IFLA_EXT_MASK, skipStats)
		key(r)
		return n.get(r, func(b []byte) (err error) {
			l, err = decodeLink(b)
			found = err == nil
			return err
		})
	})
	if Absent(ObjectLink, err) {
		return Link{}, false, nil
	}
	return l, found, err
}

// Links lists the links of the namespace, all of them.
func (n *Namespace) Links() ([]Link, error) {
	return n.links("", func(*request) {})
}

// LinksOfMaster lists the members of a bridge, bond or VRF.
func (n *Namespace) LinksOfMaster(master int) ([]Link, error) {
	all, err := n.links(strconv.Itoa(master), func(r *request) { r.u32(unix.IFLA_MASTER, uint32(master)) })
	return keep(all, func(l Link) bool { return l.Master == master }), err
}

// LinksOfKind lists the links of a kind: "vrf".
func (n *Namespace) LinksOfKind(kind string) ([]Link, error) {
	all, err := n.links(kind, func(r *request) {
		r.nest(unix.IFLA_LINKINFO, func() { r.str(unix.IFLA_INFO_KIND, kind) })
	})
	// A kernel that does not know the kind (yet) does not filter.
	return keep(all, func(l Link) bool { return l.Kind == kind }), err
}

func (n *Namespace) links(object string, filter func(*request)) (all []Link, err error) {
	err = n.call("link.list", object, func() error {
		r := newRequest(unix.RTM_GETLINK, 0, ifInfo(0, 0, 0))
		r.u32(unix.IFLA_EXT_MASK, skipStats)
		filter(r)
		all, err = dump(n, r, func(b []byte) (Link, bool, error) {
			l, err := decodeLink(b)
			return l, true, err
		})
		return err
	})
	if err != nil {
		return nil, err
	}
	return all, nil
}

func keep[T any](all []T, want func(T) bool) []T {
	var kept []T
	for _, v := range all {
		if want(v) {
			kept = append(kept, v)
		}
	}
	return kept
}

func decodeLink(b []byte) (Link, error) {
	if len(b) < unix.SizeofIfInfomsg {
		return Link{}, errMalformed
	}
	flags := getU32(b[8:])
	l := Link{
		Index:     getI32(b[4:]),
		Up:        flags&unix.IFF_UP != 0,
		Running:   flags&unix.IFF_LOWER_UP != 0,
		Loopback:  flags&unix.IFF_LOOPBACK != 0,
		Broadcast: flags&unix.IFF_BROADCAST != 0,
		NoARP:     flags&unix.IFF_NOARP != 0,
		Promisc:   flags&unix.IFF_PROMISC != 0,
		AllMulti:  flags&unix.IFF_ALLMULTI != 0,
	}
	return l, eachAttr(b[unix.SizeofIfInfomsg:], l.attr)
}

func (l *Link) attr(t uint16, v []byte) error {
	switch t {
	case unix.IFLA_IFNAME:
		l.Name = text(v)
	case unix.IFLA_ADDRESS:
		l.MAC = hardwareAddr(v)
	case unix.IFLA_PERM_ADDRESS:
		l.PermMAC = hardwareAddr(v)
	case unix.IFLA_MTU:
		l.MTU = getI32(v)
	case unix.IFLA_TXQLEN:
		l.TxQLen = getI32(v)
	case unix.IFLA_OPERSTATE:
		l.OperState = OperState(getU8(v))
	case unix.IFLA_PROMISCUITY:
		l.Promiscuity = getI32(v)
	case unix.IFLA_IFALIAS:
		l.Alias = text(v)
	case unix.IFLA_GROUP:
		l.Group = getU32(v)
	case unix.IFLA_MASTER:
		l.Master = getI32(v)
	case unix.IFLA_LINK:
		l.Parent = getI32(v)
	case unix.IFLA_LINK_NETNSID:
		id := getI32(v)
		l.ParentNetnsID = &id
	case unix.IFLA_PROP_LIST:
		return eachAttr(v, func(_ uint16, v []byte) error {
			l.AltNames = append(l.AltNames, text(v))
			return nil
		})
	case unix.IFLA_AF_SPEC:
		return l.afSpec(v)
	case unix.IFLA_LINKINFO:
		return l.info(v)
	default:
		l.hardware(t, v)
	}
	return nil
}

// hardware reads what tells of the device behind the link.
func (l *Link) hardware(t uint16, v []byte) {
	switch t {
	case unix.IFLA_NUM_TX_QUEUES:
		l.NumTxQueues = getI32(v)
	case unix.IFLA_NUM_RX_QUEUES:
		l.NumRxQueues = getI32(v)
	case unix.IFLA_GSO_MAX_SIZE:
		l.GSOMaxSize = getI32(v)
	case unix.IFLA_GRO_MAX_SIZE:
		l.GROMaxSize = getI32(v)
	case unix.IFLA_PARENT_DEV_NAME:
		l.ParentDev = text(v)
	case unix.IFLA_PARENT_DEV_BUS_NAME:
		l.ParentDevBus = text(v)
	}
}

func (l *Link) afSpec(b []byte) error {
	return eachAttr(b, func(t uint16, v []byte) error {
		if t != unix.AF_INET6 {
			return nil
		}
		l.HasIPv6 = true
		return eachAttr(v, func(t uint16, v []byte) error {
			if t == unix.IFLA_INET6_ADDR_GEN_MODE {
				l.AddrGenMode = AddrGenMode(getU8(v))
			}
			return nil
		})
	})
}

func (l *Link) info(b []byte) error {
	a := attrs{}
	err := a.read(b)
	if err != nil {
		return err
	}
	l.Kind = text(a[unix.IFLA_INFO_KIND])
	if l.Kind != "" {
		if l.Info, err = decodeKind(l.Kind, a[unix.IFLA_INFO_DATA]); err != nil {
			return err
		}
	}
	l.MasterKind = text(a[unix.IFLA_INFO_SLAVE_KIND])
	if l.MasterKind == "bridge" {
		l.Port, err = decodeBridgePort(a[unix.IFLA_INFO_SLAVE_DATA])
	}
	return err
}

// hardwareAddr copies; no address (all the links that have none) is nil.
func hardwareAddr(v []byte) net.HardwareAddr {
	if len(v) == 0 {
		return nil
	}
	return append(net.HardwareAddr(nil), v...)
}
