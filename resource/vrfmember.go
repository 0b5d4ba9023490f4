package resource

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/fairlead-net/fairlead/attachment"
	"github.com/fairlead-net/fairlead/engine"
	"github.com/fairlead-net/fairlead/kernel"
)

// VRFMember is that an interface of the container is in a VRF. The kernel takes
// it down for a moment when it enters, and with that its routes and, mostly,
// its IPv6 addresses: they are put back, the main table's routes in the VRF's
// table.
//
// It is released from that very VRF only; the addresses and routes that the
// kernel then drops go with the attachment anyway.
type VRFMember struct {
	On
	VRF   string           `json:"vrf"`
	Owner attachment.Owner `json:"owner,omitempty"` // whose interface it is
	Table uint32           `json:"table,omitempty"` // the VRF's; 0: not known

	// Index is what Create saw of the interface: a hint.
	Index int `json:"index,omitempty"`
}

func (m *VRFMember) Kind() string { return "vrf-member.1" }
func (m *VRFMember) Key() string  { return m.key(m.VRF) }

// Needs is the VRF: while the interface may be in it, it stays.
func (m *VRFMember) Needs() []engine.Ref { return []engine.Ref{engine.MakeRef(vrfKind, m.VRF)} }

// AnySuites says that it is the same whoever did it.
func (m *VRFMember) AnySuites() {}

// Amend expects the routes of the interface in the VRF's table (rule 14).
func (m *VRFMember) Amend(earlier Resource) Resource {
	route, ok := earlier.(*Route)
	if !ok || route.Side != m.Side || route.Link != m.Link || m.Table == 0 {
		return earlier
	}
	if route.Table != 0 && route.Table != kernel.MainTable {
		return earlier
	}
	moved := *route
	moved.Table = m.Table
	return &moved
}

func (m *VRFMember) Create(_ context.Context, env Env) error {
	ns, link, err := m.need(env)
	if err != nil {
		return err
	}
	vrf, kind, err := vrfLink(ns, m.VRF)
	if err == nil && vrf == nil {
		err = fmt.Errorf("VRF %s: %w", m.VRF, errNoLink)
	}
	if err != nil {
		return err
	}
	if link.Master != 0 {
		return engine.Conflict(taken(ns, link))
	}
	m.Index, m.Table = link.Index, kind.Table
	before, err := belongingsOf(ns, link.Index)
	if err != nil {
		return err
	}
	if err := ns.SetLink(link.Index, kernel.LinkChange{Master: &vrf.Index}); err != nil {
		return unsure(err)
	}
	return engine.Partial(before.putBack(ns, link.Index, kind.Table))
}

// taken says whose member the interface is already.
func taken(ns *kernel.Namespace, link kernel.Link) error {
	master, ok, err := ns.LinkByIndex(link.Master)
	if err != nil || !ok {
		return errors.Join(fmt.Errorf("interface %s has a master already", link.Name), err)
	}
	return fmt.Errorf("interface %s has a master already: %s", link.Name, master.Name)
}

func (m *VRFMember) Observe(_ context.Context, env Env) (engine.State, error) {
	ns, link, ok, err := m.recorded(env, m.Index, "")
	if err != nil || !ok {
		return absentUnless(err)
	}
	vrf, _, err := vrfLink(ns, m.VRF)
	if err != nil {
		return engine.State{}, err
	}
	var d drift
	if vrf == nil || link.Master != vrf.Index {
		d.add("%s is not in VRF %s", m.Link, m.VRF)
	}
	return d.state(), nil
}

// Remove takes the interface out of the VRF, if it is in it. Each of the two
// may be gone, or go meanwhile.
func (m *VRFMember) Remove(_ context.Context, env Env) error {
	ns, link, ok, err := m.recorded(env, m.Index, "")
	if err != nil || !ok || m.Index == 0 && link.Name != m.Link || !m.ours(link) {
		return err
	}
	vrf, _, err := vrfLink(ns, m.VRF)
	if err != nil || vrf == nil || link.Master != vrf.Index {
		return err
	}
	none := 0
	err = ns.SetLink(link.Index, kernel.LinkChange{Master: &none})
	if kernel.Absent(kernel.ObjectLink, err) {
		return nil
	}
	return err
}

// ours is false for an interface that is marked as another's: that is left alone
// (rule 6).
func (m *VRFMember) ours(link kernel.Link) bool {
	owner, marked := attachment.OwnerOfAlias(link.Alias)
	return !marked || m.Owner == "" || owner == m.Owner
}

// belongings are what an interface loses when it changes its master.
type belongings struct {
	addresses []kernel.Address
	routes    []kernel.Route
}

func belongingsOf(ns *kernel.Namespace, link int) (belongings, error) {
	var b belongings
	addresses, err := ns.Addresses(link)
	if err != nil {
		return b, err
	}
	for _, a := range addresses {
		// Those of the link alone the kernel makes anew.
		if a.Scope < kernel.ScopeLink {
			b.addresses = append(b.addresses, a)
		}
	}
	routes, err := ns.Routes(kernel.RouteFilter{Link: link, AllTables: true})
	for _, r := range routes {
		if lasting(r, link) {
			b.routes = append(b.routes, r)
		}
	}
	return b, err
}

// lasting leaves out what the kernel makes anew by itself, of addresses and of
// what routers say, and routes that lead by other links too: these stay where
// they are.
func lasting(r kernel.Route, link int) bool {
	switch r.Protocol {
	case unix.RTPROT_KERNEL, unix.RTPROT_RA, unix.RTPROT_REDIRECT:
		return false
	}
	return !slices.ContainsFunc(r.NextHops, func(h kernel.NextHop) bool { return h.Link != link })
}

// putBack restores what is missing. Routes that need no gateway come first:
// the gateways of others may be reached by them.
func (b belongings) putBack(ns *kernel.Namespace, link int, table uint32) error {
	if err := b.putBackAddresses(ns, link); err != nil {
		return err
	}
	slices.SortStableFunc(b.routes, func(x, y kernel.Route) int { return byGateway(x) - byGateway(y) })
	for _, r := range b.routes {
		if r.Table == kernel.MainTable {
			r.Table = table
		} else if r.Dst.Addr().Is4() && r.Table != table {
			// The kernel lets only the VRF's own table name its addresses.
			r.Source = netip.Addr{}
		}
		r.NHID = 0 // the object went with the routes
		// Another member may have such a route; the very same one was kept.
		if err := ns.AddRouteBeside(r); err != nil && !kernel.Exists(err) {
			return err
		}
	}
	return nil
}

func byGateway(r kernel.Route) int {
	if r.Gateway.IsValid() || len(r.NextHops) > 0 {
		return 1
	}
	return 0
}

// putBackAddresses restores addresses. Those that the kernel kept it wants to
// examine once more, which takes more than a second; but they were found to be
// unique on this very link.
func (b belongings) putBackAddresses(ns *kernel.Namespace, link int) error {
	kept, err := ns.Addresses(link)
	if err != nil {
		return err
	}
	for _, a := range b.addresses {
		settled := !a.Tentative && !a.DADFailed
		i := slices.IndexFunc(kept, func(k kernel.Address) bool { return k.Prefix == a.Prefix && k.Peer == a.Peer })
		if i >= 0 {
			if !kept[i].Tentative || !settled {
				continue
			}
			if _, err := ns.DelAddress(a); err != nil {
				return err
			}
		}
		a.NoDAD = a.NoDAD || settled && a.Prefix.Addr().Is6()
		if err := ns.AddAddress(a); err != nil && !kernel.Exists(err) {
			return err
		}
	}
	return nil
}
