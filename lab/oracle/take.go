package oracle

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/fairlead-net/fairlead/lab/host"
)

// Take takes a picture of a host. Nothing should be at work in it: what changes
// while it is looked at is looked at again, and is an error in the end.
func Take(h *host.Host, o Options) (Picture, error) {
	var err error
	for range tries {
		var p Picture
		if p, err = take(h, o); err == nil {
			return p, nil
		}
		if !errors.Is(err, errMoved) {
			break
		}
	}
	return Picture{}, fmt.Errorf("picture of the host: %w", err)
}

// Until takes pictures until one is as asked, for what the kernel does in its own
// time, such as taking a namespace apart. When the context ends it returns the
// last one, and false.
func Until(ctx context.Context, h *host.Host, o Options, ok func(Picture) bool) (Picture, bool, error) {
	const first, most = time.Millisecond, 50 * time.Millisecond
	for wait := first; ; wait = min(2*wait, most) {
		p, err := Take(h, o)
		if err != nil || ok(p) {
			return p, err == nil, err
		}
		select {
		case <-ctx.Done():
			return p, false, nil
		case <-time.After(wait):
		}
	}
}

func take(h *host.Host, o Options) (Picture, error) {
	mounts, err := mountsOf(h)
	if err != nil {
		return Picture{}, err
	}
	processes, err := h.Processes()
	if err != nil {
		return Picture{}, err
	}
	all, err := namespaces(h, mounts, processes)
	if err != nil {
		return Picture{}, err
	}
	defer func() {
		for _, ns := range all {
			ns.close()
		}
	}()
	if err := lookInto(h, all, o); err != nil {
		return Picture{}, err
	}
	files, err := filesOf(h, append([]string{"/run", "/var/lib"}, o.Trees...), holdNamespaces(mounts), o.opaque)
	if err != nil {
		return Picture{}, err
	}
	replace := replacer(o, all)
	p := Picture{facts: append(mountFacts(h, mounts), processFacts(processes)...)}
	for _, ns := range all {
		if ns.name != hostName {
			p.facts = append(p.facts, ns.fact())
		}
		p.facts = append(p.facts, ns.facts...)
	}
	for _, f := range files {
		p.facts = append(p.facts, f.fact(replace))
	}
	return p, p.finish(replace)
}

// lookInto looks into each namespace: first at the links of all, since those name
// each other.
func lookInto(h *host.Host, all []*netns, o Options) error {
	for _, ns := range all {
		if ns.fd < 0 {
			continue
		}
		var err error
		if e := h.InsideOpen(ns.fd, func() { err = ns.within(o) }); e != nil {
			return e
		}
		if err != nil {
			return fmt.Errorf("%s: %w", ns.name, err)
		}
	}
	for _, ns := range all {
		if ns.fd < 0 {
			continue
		}
		if err := ns.number(all); err != nil {
			return err
		}
		for _, look := range []func() error{ns.linkFacts, ns.routing, ns.neighbours, ns.traffic} {
			if err := look(); err != nil {
				return fmt.Errorf("%s: %w", ns.name, err)
			}
		}
	}
	return nil
}

// within does what must be done inside the namespace.
func (ns *netns) within(o Options) error {
	var err error
	if ns.conn, err = dial(unix.NETLINK_ROUTE); err != nil {
		return err
	}
	for _, look := range []func() error{
		ns.listLinks, ns.macOrigins,
		func() error { return ns.sysctls(o.Sysctls) },
		ns.nftables, ns.iptables,
	} {
		if err := look(); err != nil {
			return err
		}
	}
	return nil
}

// replacer does what the options say, after it has put the name of a link in the
// place of its MAC address where the kernel has drawn that.
func replacer(o Options, all []*netns) func(string) string {
	owners := map[string]*link{}
	for _, ns := range all {
		for _, l := range ns.links {
			if m := mac(l.mac); owners[m] == nil || l.ownsBefore(owners[m]) {
				owners[m] = l
			}
		}
	}
	var pairs []string
	for m, l := range owners {
		if l.drawn {
			pairs = append(pairs, m, "(mac of "+l.name+")")
		}
	}
	names := strings.NewReplacer(pairs...)
	if o.Replace == nil {
		return names.Replace
	}
	return func(s string) string { return o.Replace(names.Replace(s)) }
}

// ownsBefore says whose an address is that two links have: not a bridge's, which
// takes a port's; that of the one for which it was drawn.
func (l *link) ownsBefore(other *link) bool {
	if a, b := l.kind == "bridge", other.kind == "bridge"; a != b {
		return b
	}
	if l.drawn != other.drawn {
		return l.drawn
	}
	return l.name < other.name
}

// finish replaces what differs from run to run, and sorts.
func (p *Picture) finish(replace func(string) string) error {
	for n := range p.facts {
		f := &p.facts[n]
		if strings.Contains(f.Name, unknownLink) || strings.Contains(f.Value, unknownLink) {
			return fmt.Errorf("%s: %w", f.Item, errMoved)
		}
		f.Name, f.Value = replace(f.Name), replace(f.Value)
		if f.Where != hostName {
			f.Where = replace(f.Where)
		}
	}
	p.sort()
	return nil
}
