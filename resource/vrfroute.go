package resource

import (
	"context"
	"fmt"
	"net/netip"
	"reflect"

	"github.com/fairlead-net/fairlead/engine"
	"github.com/fairlead-net/fairlead/kernel"
)

// VRFRoute is a route by which a VPC reaches beyond its host: all of its
// attachments there share it. It lives with the VPC's VRF, or in its table, and
// carries RouteProtocol.
type VRFRoute struct {
	VPC string   `json:"vpc"`
	VRF string   `json:"vrf"`
	Use RouteUse `json:"use"`
	// Dst is the prefix of a RemoteRoute, or the segment of the others.
	Dst netip.Prefix `json:"dst"`
	// SID is the segment that leads to a remote prefix.
	SID netip.Addr `json:"sid,omitzero"`
	// IPv4 says of a LocalSegment that what it gets may be IPv4.
	IPv4 bool `json:"ipv4,omitempty"`

	// What Create saw: the VRF's table, and what the segment does.
	Table  uint32 `json:"table,omitempty"`
	Action string `json:"action,omitempty"`
}

// RouteUse is what a VRFRoute is for.
type RouteUse string

const (
	// RemoteRoute wraps what goes to a prefix on another node, for its segment.
	RemoteRoute RouteUse = "remote"
	// SegmentWay lets what was wrapped for a segment out of the VPC's table, to
	// be routed by the main one. Nothing else gets out.
	SegmentWay RouteUse = "way"
	// LocalSegment unwraps what comes for the VPC, and looks into its table.
	LocalSegment RouteUse = "segment"
)

const vrfRouteKind = "vrf-route.1"

func (r *VRFRoute) Kind() string       { return vrfRouteKind }
func (r *VRFRoute) Key() string        { return fmt.Sprintf("%s %s %s", r.VRF, r.Use, r.Dst) }
func (r *VRFRoute) Within() engine.Ref { return "" }

func (r *VRFRoute) vrf() *VRF { return &VRF{Name: r.VRF, VPC: r.VPC} }

// Needs is the VRF: while the route may be there it holds its table.
func (r *VRFRoute) Needs() []engine.Ref { return []engine.Ref{r.vrf().Ref()} }

func (r *VRFRoute) String() string {
	switch r.Use {
	case LocalSegment:
		return "segment " + r.Dst.Addr().String()
	case SegmentWay:
		return "the way to segment " + r.Dst.Addr().String()
	}
	return fmt.Sprintf("the route to %s by segment %s", r.Dst, r.SID)
}

// actions are what a LocalSegment may do, the best first.
func (r *VRFRoute) actions() []kernel.SRv6Action {
	if r.Use != LocalSegment {
		return []kernel.SRv6Action{0}
	}
	return []kernel.SRv6Action{kernel.SRv6EndDT46, kernel.SRv6EndDT6}
}

// route is how the kernel's room says it: link and table are the VRF's.
func (r *VRFRoute) route(link int, table uint32, action kernel.SRv6Action) kernel.Route {
	k := kernel.Route{Dst: r.Dst, Protocol: RouteProtocol, Table: table, Link: link, Type: kernel.RouteUnicast}
	switch r.Use {
	case RemoteRoute:
		k.Encap = kernel.SRv6Encap{Mode: kernel.SRv6Wrap, Segments: []netip.Addr{r.SID}}
	case SegmentWay:
		k.Link, k.Type, k.Metric = 0, kernel.RouteThrow, vpcMetric(r.VPC)
	case LocalSegment:
		k.Table, k.Encap = kernel.MainTable, kernel.SRv6Local{Action: action, VRFTable: table}
	}
	return k
}

// entry names the route, whatever it does with packets.
func (r *VRFRoute) entry(link int, table uint32) kernel.Route {
	k := r.route(link, table, 0)
	k.Encap = nil
	return k
}

func (r *VRFRoute) Create(_ context.Context, env Env) error {
	vrf, kind, err := vrfLink(env.Host, r.VRF)
	if err == nil && vrf == nil {
		err = fmt.Errorf("VRF %s: %w", r.VRF, errNoLink)
	}
	if err != nil {
		return err
	}
	r.Table = kind.Table
	var k kernel.Route
	for _, action := range r.actions() {
		if action == kernel.SRv6EndDT6 && r.IPv4 {
			return fmt.Errorf("this kernel's segments take no IPv4 (%s): %w", kernel.SRv6EndDT46, err)
		}
		k = r.route(vrf.Index, kind.Table, action)
		if action != 0 {
			r.Action = action.String()
		}
		err = env.Host.AddRoute(k)
		if !kernel.Unsupported(err) && !kernel.Refused(err) {
			break
		}
	}
	if kernel.Exists(err) {
		return r.join(env.Host, k, err)
	}
	return unsure(err)
}

// join takes the route that is there. Where a remote prefix is to be reached
// by another segment than before, the newest word counts, for all of the VPC.
func (r *VRFRoute) join(ns *kernel.Namespace, k kernel.Route, cause error) error {
	found, ok, err := ns.Route(kernel.Route{Dst: k.Dst, Table: k.Table, Metric: k.Metric})
	switch {
	case err != nil:
		return err
	case !ok:
		return cause
	case found.Protocol != RouteProtocol || k.Link != 0 && found.Link != k.Link:
		return engine.Conflict(fmt.Errorf("%s: there is another's route to %s: %w", r, k.Dst, cause))
	case reflect.DeepEqual(found.Encap, k.Encap):
		return nil
	}
	return ns.ReplaceRoute(k)
}

func (r *VRFRoute) Observe(_ context.Context, env Env) (engine.State, error) {
	vrf, kind, err := vrfLink(env.Host, r.VRF)
	if err != nil || vrf == nil {
		return absentUnless(err)
	}
	found, ok, err := env.Host.Route(r.entry(vrf.Index, kind.Table))
	if err != nil || !ok || found.Protocol != RouteProtocol {
		return missing(err, r)
	}
	var d drift
	want := r.route(vrf.Index, kind.Table, 0).Encap
	if local, ok := found.Encap.(kernel.SRv6Local); ok && r.Use == LocalSegment {
		if r.Action != "" && local.Action.String() != r.Action || local.VRFTable != kind.Table {
			d.add("%s does %s with table %d, want %s with table %d", r, local.Action, local.VRFTable, r.Action, kind.Table)
		}
	} else if !reflect.DeepEqual(found.Encap, want) {
		d.add("%s leads elsewhere: %v", r, found.Encap)
	}
	return d.state(), nil
}

// InUse says that nobody uses it whom the journal does not know.
func (r *VRFRoute) InUse(context.Context, Env) (bool, error) { return false, nil }

// Remove takes away what carries our mark, in the VRF's table or by the VRF.
// Where that is gone, only what no link took along is left.
func (r *VRFRoute) Remove(_ context.Context, env Env) error {
	vrf, kind, err := vrfLink(env.Host, r.VRF)
	if err != nil {
		return err
	}
	index, table := 0, r.Table
	if vrf != nil {
		index, table = vrf.Index, kind.Table
	} else if r.Use != SegmentWay || table == 0 {
		return nil
	}
	return drop(env.Host, r.entry(index, table))
}

// Ready tells whether this kernel has SRv6.
func (r *VRFRoute) Ready(_ context.Context, env Env) error {
	_, ok, err := env.Host.SRv6Source()
	if err == nil && !ok {
		err = errNoSRv6
	}
	return err
}

var _ engine.Shared[Env] = (*VRFRoute)(nil)
