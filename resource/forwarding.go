package resource

import (
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/fairlead-net/fairlead/kernel"
)

// Forwarding is that the host forwards packets of IPv4, or of IPv6, that come in
// by the links. A new link has what conf/default says, whatever is so for all.
//
// IPv4 asks the link that a packet comes in by; ip_forward sets all of them, so
// that replies come in too. IPv6 asks conf/all, and the link's own value is
// whether the host is a router to those on it: whether it says so in its
// neighbour advertisements, and heeds no router's itself.
func Forwarding(ipv6 bool, links ...string) []Resource {
	family, all := "ipv4", "net/ipv4/ip_forward"
	if ipv6 {
		family, all = "ipv6", "net/ipv6/conf/all/forwarding"
	}
	list := []Resource{&EnsuredSysctl{Side: Host, Name: all, Value: "1", KeepRA: ipv6}}
	for _, link := range links {
		name := LinkSysctl{Family: family, Name: "forwarding"}.path(link)
		list = append(list, &EnsuredSysctl{Side: Host, Name: name, Value: "1", KeepRA: ipv6})
	}
	return list
}

// keepRA has the links that live by router advertisements heed them though the
// host forwards (accept_ra 2). Where the kernel does not heed them (0), they are
// another's affair: systemd-networkd and NetworkManager read them by themselves.
func keepRA(ns *kernel.Namespace) error {
	links, err := linksByRA(ns)
	for _, l := range links {
		if err := ns.SetSysctl(ipv6Parameter(l, "accept_ra"), "2"); err != nil && !kernel.Absent(kernel.ObjectSysctl, err) {
			return err
		}
	}
	return err
}

// linksByRA are the links whose routes or addresses come from router
// advertisements, and which would heed them no more if the host forwarded.
func linksByRA(ns *kernel.Namespace) ([]string, error) {
	routes, err := ns.Routes(kernel.RouteFilter{Family: unix.AF_INET6, Protocol: unix.RTPROT_RA, AllTables: true})
	if err != nil {
		return nil, err
	}
	addresses, err := ns.Addresses(0)
	if err != nil {
		return nil, err
	}
	var indexes []int
	for _, r := range routes {
		if len(r.NextHops) == 0 {
			indexes = append(indexes, r.Link)
		}
		for _, h := range r.NextHops {
			indexes = append(indexes, h.Link)
		}
	}
	for _, a := range addresses {
		if a.Prefix.Addr().Is6() && !a.Permanent {
			indexes = append(indexes, a.Link)
		}
	}
	slices.Sort(indexes)
	var names []string
	for _, index := range slices.Compact(indexes) {
		link, ok, err := ns.LinkByIndex(index)
		if err != nil {
			return nil, err
		}
		if !ok {
			continue
		}
		accept, _, err := ns.Sysctl(ipv6Parameter(link.Name, "accept_ra"))
		if err != nil {
			return nil, err
		}
		heeds, err := acceptsRA(ns, link.Name)
		if err != nil {
			return nil, err
		}
		if heeds && accept == "1" {
			names = append(names, link.Name)
		}
	}
	return names, nil
}

// warnOfRA names the links that the first ADD will have heed routers for good.
func warnOfRA(env Env) error {
	links, err := linksByRA(env.Host)
	if len(links) > 0 {
		env.warn("IPv6 forwarding is off, and %s has routes or addresses by router advertisement: ADD will set accept_ra to 2 there, so that it keeps them",
			strings.Join(links, ", "))
	}
	return err
}
