package campaign

import (
	"strings"

	"github.com/fairlead-net/fairlead/lab/oracle"
)

// picture looks at all of the node.
func (n *node) picture() (facts, error) {
	p, err := oracle.Take(n.Host, oracle.Options{Replace: n.norm.replace})
	if err != nil {
		return nil, err
	}
	all := facts{}
	for _, i := range p.Items() {
		all.add(fact{i.Kind, i.Where, i.Name}, content(i))
	}
	return all, nil
}

// content is an item's value. Of a file that is too long to be shown only that
// it holds something: logs and journals have times in them.
func content(i oracle.Item) string {
	if i.Kind == "file" && strings.Contains(i.Value, " bytes, sha256 ") {
		return "something"
	}
	if i.Kind == "nft" && (strings.HasPrefix(i.Name, "table ") || strings.HasPrefix(i.Name, "chain ")) {
		i.Value, _, _ = strings.Cut(i.Value, "comment ")
		return strings.TrimSpace(i.Value)
	}
	return i.Value
}
