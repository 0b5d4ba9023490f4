package resource

import (
	"context"
	"net/netip"
	"slices"
	"strings"
)

// Superseder can tell that another suite has put its own in its place.
type Superseder interface {
	Superseded(ctx context.Context) (bool, error)
}

// Superseded tells whether the link of the container that is on record is gone,
// and another has its name: another suite removed ours and made its own, under
// the same container ID. What is on record is nothing to go by then. The link
// that the list has first decides, or what else can tell.
func Superseded(ctx context.Context, env Env, list []Resource) (bool, error) {
	if env.Container == nil {
		return false, nil
	}
	for _, r := range list {
		if s, ok := r.(Superseder); ok {
			return s.Superseded(ctx)
		}
		name, index := onRecord(r)
		if index == 0 {
			continue
		}
		_, lives, err := env.Container.LinkByIndex(index)
		if err != nil || lives {
			return false, err
		}
		link, ok, err := env.Container.Link(name)
		return ok && link.Name == name, err
	}
	return false, nil
}

// GivenBy tells whether the ADD that made the list can have given a result with
// this MAC address and these addresses for the container's interface: it has the
// addresses on record, and one of the MAC addresses, where any is.
func GivenBy(list []Resource, ifName, mac string, addresses []netip.Prefix) bool {
	var macs []string
	for _, r := range list {
		switch r := r.(type) {
		case *Address:
			if r.Side == Container && r.Link == ifName && r.Address.IsValid() && !slices.Contains(addresses, r.Address) {
				return false
			}
		case *LinkAttr:
			if r.Attr == AttrMAC {
				macs = append(macs, r.Value)
			}
		case *Veth:
			macs = append(macs, r.MAC)
		case *ChildLink:
			macs = append(macs, r.MAC)
		case *Tap:
			macs = append(macs, r.MAC)
		}
	}
	macs = slices.DeleteFunc(macs, func(m string) bool { return m == "" })
	return mac == "" || len(macs) == 0 || slices.ContainsFunc(macs, func(m string) bool { return strings.EqualFold(m, mac) })
}

// onRecord is a link of the container as the journal knows it; 0 where r says
// nothing of one.
func onRecord(r Resource) (name string, index int) {
	switch r := r.(type) {
	case *Veth:
		if r.Passing == "" {
			return r.Name, r.PeerIndex
		}
	case *ChildLink:
		return r.Name, r.Index
	case *Tap:
		if r.VRF == "" {
			return r.Name, r.Index
		}
	case *LinkAttr:
		if r.Side == Container {
			return r.Link, r.Index
		}
	case *SourceRules:
		return r.Link, r.Index
	case *SourceRoutes:
		return r.Link, r.Index
	case *VRFMember:
		return r.Link, r.Index
	}
	return "", 0
}
