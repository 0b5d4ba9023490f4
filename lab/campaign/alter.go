package campaign

import (
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/fairlead-net/fairlead/kernel"
	"github.com/fairlead-net/fairlead/lab/inject"
)

// An end is one of the container's link: its interface, or, of a pair, the
// host's.
type end struct {
	ns     *kernel.Namespace
	link   kernel.Link
	inside bool
}

// An alteration is what somebody else does to the ends of a link.
type alteration struct{ host, inside, name, alias bool }

// touches tells whether there is something to alter.
func (a alteration) touches(ends []end) bool {
	return slices.ContainsFunc(ends, a.at)
}

func (a alteration) at(e end) bool { return e.inside && a.inside || !e.inside && a.host }

// What links are called by who does not know whose they are.
const (
	strangeName  = "lab-stranger"
	strangeAlias = "somebody else's"
)

// ends are the ends of the subject's link; none, if it has no namespace, or no
// link in it.
func (n *node) ends() ([]end, error) {
	inner, err := n.space(n.subject.NetNS)
	if err != nil {
		return nil, nil //nolint:nilerr // it is dead
	}
	l, there, err := inner.Link(ifName)
	if err != nil || !there {
		return nil, err
	}
	all := []end{{inner, l, true}}
	host, err := n.space(n.NetnsPath())
	if err != nil {
		return nil, err
	}
	links, err := host.Links()
	if err != nil {
		return nil, err
	}
	for _, o := range links {
		if o.Kind == "veth" && l.Kind == "veth" && o.ParentNetnsID != nil && o.Parent == l.Index && l.Parent == o.Index {
			all = append(all, end{host, o, false})
		}
	}
	return all, nil
}

// alter gives an end another name, another alias, or both.
func (n *node) alter(e end, a alteration) error {
	if !a.at(e) {
		return nil
	}
	name, alias := e.link.Name, e.link.Alias
	if a.name {
		name = strangeName
	}
	if a.alias {
		alias = strangeAlias
	}
	if err := setNames(e, name, alias); err != nil {
		return err
	}
	n.undo = append(n.undo, func() error {
		now, there, err := e.ns.LinkByIndex(e.link.Index)
		if err != nil || !there || now.Name != name || now.Alias != alias {
			return err
		}
		return setNames(e, e.link.Name, e.link.Alias)
	})
	return nil
}

// setNames names a link. Kernels before 6.2 rename only what is down.
func setNames(e end, name, alias string) error {
	change := kernel.LinkChange{Name: &name, Alias: &alias}
	err := e.ns.SetLink(e.link.Index, change)
	if errors.Is(err, unix.EBUSY) {
		down, up := false, true
		err = errors.Join(
			e.ns.SetLink(e.link.Index, kernel.LinkChange{Up: &down}),
			e.ns.SetLink(e.link.Index, change),
			e.ns.SetLink(e.link.Index, kernel.LinkChange{Up: &up}))
	}
	if err != nil {
		return fmt.Errorf("call %s %s, with the alias %q: %w", e.link.Name, name, alias, err)
	}
	return nil
}

// leases are the files that are named by an address which the subject's
// interface has, as those of host-local are.
func (n *node) leases(ends []end) (files []string, err error) {
	held := map[string]bool{}
	for _, e := range ends {
		if !e.inside {
			continue
		}
		all, err := e.ns.Addresses(e.link.Index)
		if err != nil {
			return nil, err
		}
		for _, a := range all {
			held[a.Prefix.Addr().String()] = true
		}
	}
	n.Do(func() {
		for _, dir := range records() {
			err = errors.Join(err, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
				if err == nil && d.Type().IsRegular() && held[base(path)] {
					files = append(files, path)
				}
				if errors.Is(err, fs.ErrNotExist) {
					return nil
				}
				return err
			}))
		}
	})
	return files, err
}

// base is the address that a file is named by.
func base(path string) string {
	a, err := netip.ParseAddr(filepath.Base(path))
	if err != nil {
		return ""
	}
	return a.String()
}

// lent finds leases that are gone although the interface lives: the next
// container is given its address.
func (n *node) lent(ends []end, before []string) ([]string, error) {
	alive := false
	for _, e := range ends {
		_, there, err := e.ns.LinkByIndex(e.link.Index)
		if err != nil {
			return nil, err
		}
		alive = alive || e.inside && there
	}
	if !alive {
		return nil, nil
	}
	var all []string
	for _, path := range before {
		var err error
		n.Do(func() { _, err = os.Lstat(path) })
		if errors.Is(err, fs.ErrNotExist) {
			all = append(all, "freed while its interface lives: "+path)
		}
	}
	return all, nil
}

// about is the end that a call is about, if it is about one.
func (n *node) about(e inject.Event) (end, bool, error) {
	t := n.target(e)
	if t.ns == nil {
		return end{}, false, nil
	}
	ends, err := n.ends()
	for _, one := range ends {
		if one.ns == t.ns && one.link.Index == t.link.Index {
			return one, true, err
		}
	}
	return end{}, false, err
}

// scenesAt are the faults by which a link is another one just before a call.
func (n *node) scenesAt(e inject.Event) []string {
	one, ok, err := n.about(e)
	switch {
	case err != nil || !ok:
		return nil
	case one.inside:
		return []string{"renamed inside"}
	}
	return []string{"renamed"}
}

// rename renames the link that a call is about.
func (n *node) rename(e inject.Event) error {
	one, ok, err := n.about(e)
	if err == nil && !ok {
		err = errors.New("there is nothing to rename")
	}
	if err != nil {
		return err
	}
	return n.alter(one, alteration{host: true, inside: true, name: true})
}
