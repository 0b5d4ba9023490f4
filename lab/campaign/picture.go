package campaign

import (
	"github.com/fairlead-net/fairlead/lab/oracle"
)

// picture looks at all of the node.
func (n *node) picture() (facts, error) {
	p, err := oracle.Take(n.Host, n.looking)
	if err != nil {
		return nil, err
	}
	all := facts{}
	for _, i := range p.Items() {
		all.add(fact{i.Kind, i.Where, i.Name}, i.Value)
	}
	return all, nil
}

// looking says what differs between runs that do the same: what a plugin or the
// kernel draws. What files hold is a plugin's own affair, but for a lease's.
func (n *normaliser) looking() oracle.Options {
	var o oracle.Options
	for _, r := range n.rules {
		o.Replace = append(o.Replace, oracle.Replacement{Pattern: r.drawn, With: r.as})
	}
	return o
}
