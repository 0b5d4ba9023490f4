package resource

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/fairlead-net/fairlead/engine"
	"github.com/fairlead-net/fairlead/kernel"
)

// MadeBridges lists the bridges that we made, for `gc --unused`.
func MadeBridges(env Env) ([]*Bridge, error) {
	links, err := env.Host.LinksOfKind("bridge")
	if err != nil {
		return nil, err
	}
	var made []*Bridge
	for _, l := range links {
		if madeFor(l.Name, l) {
			made = append(made, &Bridge{Name: l.Name})
		}
	}
	return made, nil
}

// Unused tells whether the bridge is ours and nobody uses it, and if not, why
// not (rule 9). Its VLAN gateways are no users of it.
//
// What other namespaces have upon the bridge can't be seen from here. But the
// kernel counts those who want to hear what is not the bridge's own: a macvlan
// that is up does.
func (b *Bridge) Unused(_ context.Context, env Env) (unused bool, why string, err error) {
	link, ok, err := env.Host.Link(b.Name)
	switch {
	case err != nil:
		return false, "", err
	case !ok:
		return false, "there is no such link", nil
	case link.Kind != "bridge" || !b.ours(link):
		return false, "it was not made by fairlead", nil
	}
	links, err := env.Host.Links()
	if err != nil {
		return false, "", err
	}
	if why := user(link, links); why != "" {
		return false, why, nil
	}
	for _, l := range append(gateways(link, links), link) {
		why, err := foreignAddress(env, l)
		if err != nil || why != "" {
			return false, why, err
		}
	}
	return true, "", nil
}

// user names what uses the bridge, or is "".
func user(bridge kernel.Link, links []kernel.Link) string {
	if bridge.Master != 0 {
		return "it is a member of another link"
	}
	own := map[int]bool{}
	for _, l := range gateways(bridge, links) {
		own[l.Index], own[l.Parent] = true, true
	}
	for _, l := range links {
		switch {
		case own[l.Index]:
		case l.Master == bridge.Index:
			return l.Name + " is a port of it"
		case l.ParentNetnsID == nil && (l.Parent == bridge.Index || own[l.Parent]):
			return l.Name + " is upon it"
		case own[l.Master]:
			return l.Name + " is a port of its gateway"
		}
	}
	listeners := bridge.Promiscuity
	if bridge.Promisc {
		listeners--
	}
	if listeners > 0 {
		return "something listens on it, such as a link of another namespace"
	}
	return ""
}

// gateways are the bridge's VLAN gateways among the links.
func gateways(bridge kernel.Link, links []kernel.Link) []kernel.Link {
	var found []kernel.Link
	for _, l := range links {
		if l.Kind == "veth" && madeFor(bridge.Name, l) && strings.HasPrefix(l.Name, bridge.Name+".") {
			found = append(found, l)
		}
	}
	return found
}

// foreignAddress names an address that we did not put there, or is "".
func foreignAddress(env Env, link kernel.Link) (string, error) {
	addrs, err := env.Host.Addresses(link.Index)
	if err != nil {
		return "", err
	}
	mark, _ := parseBridgeMark(link.Alias)
	for _, a := range addrs {
		if !slices.Contains(mark.Addresses, a.Prefix) && !a.Prefix.Addr().IsLinkLocalUnicast() {
			return fmt.Sprintf("%s has the address %s, which fairlead did not give it", link.Name, a.Prefix), nil
		}
	}
	return "", nil
}

// Remove is never DEL's (Ensured): it is the operator's. A bridge that is not
// ours is left alone, one that is in use is an error.
func (b *Bridge) Remove(ctx context.Context, env Env) error {
	link, ok, err := env.Host.Link(b.Name)
	if err != nil || !ok || link.Kind != "bridge" || !b.ours(link) {
		return err
	}
	unused, why, err := b.Unused(ctx, env)
	if err == nil && !unused {
		err = fmt.Errorf("%s is in use: %s", b.Name, why)
	}
	if err != nil {
		return err
	}
	links, err := env.Host.Links()
	if err != nil {
		return err
	}
	for _, l := range gateways(link, links) {
		if _, err := env.Host.DelLink(l.Index); err != nil {
			return err
		}
	}
	_, err = env.Host.DelLink(link.Index)
	return err
}

var _ engine.Ensured = (*Bridge)(nil)
