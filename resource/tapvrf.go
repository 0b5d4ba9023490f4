package resource

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"github.com/fairlead-net/fairlead/attachment"
	"github.com/fairlead-net/fairlead/engine"
	"github.com/fairlead-net/fairlead/kernel"
)

// A tap in a VPC is on the host. It is named after the VPC's attachment, not
// after the container: a virtual machine may keep it open while its sandbox is
// replaced. Then the next ADD takes it as it is, and only the last step, a
// TapClaim, makes it the new container's. Until then a failed ADD leaves it to
// the old one, whose late DEL leaves it alone from then on.

// NewVPCTap is the tap of an attachment of a VPC.
func NewVPCTap(id attachment.ID, vpc, name string) *Tap {
	tap := attachment.TapOfVPC(vpc, name)
	return &Tap{
		Owner: id.Owner(), Alias: id.AliasIn(vpc, name), Name: tap, VRF: attachment.VRFOfVPC(vpc),
		MAC: attachment.DeriveMAC("tap/" + tap).String(),
	}
}

// Guard is held while it is decided whose the device is: a late DEL must not
// come between the look at the mark and a claim.
func (t *Tap) Guard() string {
	if t.VRF == "" {
		return ""
	}
	return tapGuard(t.Name)
}

func tapGuard(name string) string { return "tap " + name }

// reattach takes the device that is there, if it is the attachment's of an
// earlier container, or one that a crash left unmarked, and is as asked for.
func (t *Tap) reattach(env Env, ns *kernel.Namespace, change kernel.LinkChange, exists error) error {
	link, ok, err := ns.Link(t.Name)
	if err != nil {
		return err
	}
	if !ok {
		return exists // it went meanwhile
	}
	_, marked := attachment.OwnerOfAlias(link.Alias)
	if link.Name != t.Name || link.Kind != typeTun || link.Alias != "" && !marked {
		return engine.Conflict(fmt.Errorf("interface %s exists on the host already %s: %w", t.Name, aliasOf(link), exists))
	}
	tun, _ := link.Info.(kernel.TunKind)
	if !tun.Tap || tun.MultiQueue != t.MultiQueue || !sameID(tun.Owner, t.User) || !sameID(tun.Group, t.Group) {
		return engine.Conflict(fmt.Errorf("the tap device %s lives on with another multiQueue, owner or group: %w", t.Name, exists))
	}
	t.Index, t.FoundMAC, t.FoundMTU = link.Index, link.MAC.String(), link.MTU
	if marked {
		change.Alias = nil // TapClaim's
	}
	if change.Master != nil && *change.Master == link.Master {
		change.Master = nil // to enter it anew would take the device down
	}
	if err := ns.SetLink(link.Index, change); err != nil {
		return err
	}
	return acceptNoRA(env, ns, t.Name)
}

func sameID(a, b *uint32) bool { return a == b || a != nil && b != nil && *a == *b }

// Sweep finds the network's devices on the host by their marks, as Veth.Sweep
// does. One in a container goes with that.
func (t *Tap) Sweep(_ context.Context, env Env, s Sweep) (removed, kept []string, err error) {
	if !s.Force || t.VRF == "" {
		return nil, nil, nil
	}
	return sweepLinks(env.Host, typeTun, s)
}

// TapClaim is that a tap in a VPC is this attachment's, and that nothing is on
// it of the one before.
type TapClaim struct {
	On
	Owner attachment.Owner `json:"owner"`
	Alias string           `json:"alias"`
	// Keep are the addresses and the routes that belong on it.
	Keep []netip.Prefix `json:"keep,omitempty"`
}

var _, _ engine.Guarded = (*Tap)(nil), (*TapClaim)(nil)

func (c *TapClaim) Kind() string { return "tap-claim.1" }
func (c *TapClaim) Key() string  { return c.key() }

// Guard is that of the device.
func (c *TapClaim) Guard() string { return tapGuard(c.Link) }

func (c *TapClaim) Create(_ context.Context, env Env) error {
	ns, link, err := c.need(env)
	if err != nil {
		return err
	}
	if link.Alias == c.Alias {
		return nil // made by this ADD
	}
	if err := c.clear(ns, link.Index); err != nil {
		return err
	}
	return unsure(ns.SetLink(link.Index, kernel.LinkChange{Alias: &c.Alias}))
}

// clear removes what is configured on the device and not kept.
func (c *TapClaim) clear(ns *kernel.Namespace, link int) error {
	addresses, err := ns.Addresses(link)
	if err != nil {
		return err
	}
	for _, a := range addresses {
		if a.Scope == kernel.ScopeUniverse && !slices.Contains(c.Keep, a.Prefix) {
			if _, err := ns.DelAddress(a); err != nil {
				return err
			}
		}
	}
	var config DeviceConfig
	if err := config.readRoutes(ns, link); err != nil {
		return err
	}
	for _, r := range config.Routes {
		if slices.Contains(c.Keep, r.Dst) {
			continue
		}
		if err := drop(ns, r.entry(link)); err != nil {
			return err
		}
	}
	return nil
}

func (c *TapClaim) Observe(_ context.Context, env Env) (engine.State, error) {
	_, link, ok, err := c.find(env)
	if err != nil || !ok {
		return absentUnless(err)
	}
	var d drift
	if owner, _ := attachment.OwnerOfAlias(link.Alias); owner != c.Owner {
		d.add("%s is another's %s", c.Link, aliasOf(link))
	}
	return d.state(), nil
}

// Remove leaves the mark, by which the device itself is removed.
func (c *TapClaim) Remove(context.Context, Env) error { return nil }

// sweepLinks removes the links of a kind that carry the mark of an attachment
// of the network that is not valid any more.
func sweepLinks(ns *kernel.Namespace, kind string, s Sweep) (removed, kept []string, err error) {
	links, err := ns.LinksOfKind(kind)
	if err != nil {
		return nil, nil, err
	}
	var errs []error
	for _, l := range links {
		id, ok := idOfAlias(l, s.Network)
		if !ok || s.Valid[id] {
			continue
		}
		if _, err := ns.DelLink(l.Index); err != nil {
			errs = append(errs, err)
			continue
		}
		removed = append(removed, fmt.Sprintf("interface %s of %s", l.Name, id))
	}
	return removed, nil, errors.Join(errs...)
}
