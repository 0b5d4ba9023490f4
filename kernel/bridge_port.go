package kernel

import (
	"strconv"

	"golang.org/x/sys/unix"
)

// BridgePort is what a bridge knows of a port. To set, nil is left as it is;
// in a look-up, nil is what the kernel did not tell.
type BridgePort struct {
	Hairpin       *bool // frames may go out where they came in
	Isolated      *bool // no frames to or from other isolated ports
	Learning      *bool
	UnicastFlood  *bool // gets unicast frames to unknown addresses
	McastFlood    *bool
	BcastFlood    *bool
	ProxyARP      *bool
	NeighSuppress *bool
	FastLeave     *bool
	Guard         *bool // refuses BPDUs
	RootBlock     *bool
	Locked        *bool // forwards only what the forwarding table has; Linux 5.18
	State         *uint8
	Priority      *uint16
	Cost          *uint32
}

// flags pairs the yes-or-no fields with their attributes.
func (p *BridgePort) flags() []struct {
	attr  uint16
	field **bool
} {
	return []struct {
		attr  uint16
		field **bool
	}{
		{unix.IFLA_BRPORT_MODE, &p.Hairpin},
		{unix.IFLA_BRPORT_ISOLATED, &p.Isolated},
		{unix.IFLA_BRPORT_LEARNING, &p.Learning},
		{unix.IFLA_BRPORT_UNICAST_FLOOD, &p.UnicastFlood},
		{unix.IFLA_BRPORT_MCAST_FLOOD, &p.McastFlood},
		{unix.IFLA_BRPORT_BCAST_FLOOD, &p.BcastFlood},
		{unix.IFLA_BRPORT_PROXYARP, &p.ProxyARP},
		{unix.IFLA_BRPORT_NEIGH_SUPPRESS, &p.NeighSuppress},
		{unix.IFLA_BRPORT_FAST_LEAVE, &p.FastLeave},
		{unix.IFLA_BRPORT_GUARD, &p.Guard},
		{unix.IFLA_BRPORT_PROTECT, &p.RootBlock},
		{unix.IFLA_BRPORT_LOCKED, &p.Locked},
	}
}

func (p *BridgePort) encode(e *encoder) {
	for _, f := range p.flags() {
		if *f.field != nil {
			e.bool(f.attr, **f.field)
		}
	}
	if p.State != nil {
		e.u8(unix.IFLA_BRPORT_STATE, *p.State)
	}
	if p.Priority != nil {
		e.u16(unix.IFLA_BRPORT_PRIORITY, *p.Priority)
	}
	if p.Cost != nil {
		e.u32(unix.IFLA_BRPORT_COST, *p.Cost)
	}
}

func decodeBridgePort(b []byte) (BridgePort, error) {
	var p BridgePort
	a := attrs{}
	if err := a.read(b); err != nil {
		return p, err
	}
	for _, f := range p.flags() {
		*f.field = a.bool(f.attr)
	}
	if v, ok := a[unix.IFLA_BRPORT_STATE]; ok {
		s := getU8(v)
		p.State = &s
	}
	p.Priority = a.u16(unix.IFLA_BRPORT_PRIORITY)
	p.Cost = a.u32(unix.IFLA_BRPORT_COST)
	return p, nil
}

// SetBridgePort changes how the bridge treats this member of it. Together
// with other changes of the link use SetLink.
func (n *Namespace) SetBridgePort(index int, p BridgePort) error {
	return n.call("port.set", strconv.Itoa(index), func() error {
		return n.setLink(index, LinkChange{Port: &p})
	})
}
