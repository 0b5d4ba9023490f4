package oracle

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
)

// An Item is one thing that a host has. Two with the same Kind, Where and Name
// are the same thing, whose Value may differ.
type Item struct {
	Kind  string // link, altname, address, route, nexthop, rule, neighbour, fdb, qdisc, class, filter, nft, iptables, sysctl, mount, namespace, file, process
	Where string // "host", or the name of the namespace
	Name  string // what it is called; of what has no name, all that it is
	Value string // what it is like; one line
}

// String is one line, which begins with the place unless that is the host.
func (i Item) String() string {
	s := i.Kind + " " + i.Name
	if i.Where != hostName {
		s = i.Where + ": " + s
	}
	if i.Value != "" {
		s += ": " + i.Value
	}
	return s
}

func (i Item) compare(j Item) int {
	return cmp.Or(
		compareWhere(i.Where, j.Where), cmp.Compare(i.Kind, j.Kind),
		cmp.Compare(i.Name, j.Name), cmp.Compare(i.Value, j.Value),
	)
}

func compareWhere(a, b string) int {
	if a == b {
		return 0
	}
	if a == hostName {
		return -1
	}
	if b == hostName {
		return 1
	}
	return cmp.Compare(a, b)
}

// hostName is where the host's own things are.
const hostName = "host"

// A Picture is all that a host has at one time. In JSON it is the list of its
// items.
type Picture struct{ facts []fact }

// fact is an item with what is not for comparison between hosts.
type fact struct {
	Item
	// exact, if any, is the value with what the kernel has drawn: within one
	// host two facts are the same also when this is.
	exact string
	// native is what a namespace has because it exists.
	native bool
}

// Items returns what the host has, in order.
func (p Picture) Items() []Item {
	items := make([]Item, 0, len(p.facts))
	for _, f := range p.facts {
		items = append(items, f.Item)
	}
	return items
}

// Of returns the items of one kind.
func (p Picture) Of(kind string) []Item {
	return slices.DeleteFunc(p.Items(), func(i Item) bool { return i.Kind != kind })
}

// String is one item a line.
func (p Picture) String() string {
	var b strings.Builder
	for _, f := range p.facts {
		b.WriteString(f.String() + "\n")
	}
	return b.String()
}

// MarshalJSON gives the list of items.
func (p Picture) MarshalJSON() ([]byte, error) { return json.Marshal(p.Items()) }

// UnmarshalJSON reads a list of items.
func (p *Picture) UnmarshalJSON(b []byte) error {
	var items []Item
	if err := json.Unmarshal(b, &items); err != nil {
		return err
	}
	p.facts = nil
	for _, i := range items {
		p.facts = append(p.facts, fact{Item: i})
	}
	p.sort()
	return nil
}

func (p *Picture) sort() {
	slices.SortFunc(p.facts, func(a, b fact) int { return cmp.Or(a.compare(b.Item), cmp.Compare(a.exact, b.exact)) })
}
