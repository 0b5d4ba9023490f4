package resource

import (
	"errors"
	"fmt"

	"github.com/fairlead-net/fairlead/attachment"
	"github.com/fairlead-net/fairlead/kernel"
)

// anothers tells whether a link of the container bears the mark of another
// owner: its own mark, or that of a veth's end on the host. What has no mark is
// nobody else's (rule 13), and so is everything where owner is "".
func anothers(env Env, link kernel.Link, owner attachment.Owner) (bool, error) {
	if owner == "" {
		return false, nil
	}
	alias := link.Alias
	if link.Kind == "veth" && link.ParentNetnsID != nil && env.Host != nil {
		host, ok, err := env.Host.LinkByIndex(link.Parent)
		if err != nil {
			return false, err
		}
		if ok && host.Kind == "veth" && peers(host, link) {
			alias = first(host.Alias, alias)
		}
	}
	marked, ok := attachment.OwnerOfAlias(alias)
	return ok && marked != owner, nil
}

var errUnproven = errors.New("it can't be told whose it is")

// unproven is the answer where a link of the kind on record has the index on
// record, and nothing else of what we made: it can't be told whose it is. wanted
// is the name that ours had. The kernel gives an index again only where someone
// asks for it, so it may well be ours.
func unproven(l kernel.Link, wanted string) error {
	return fmt.Errorf("interface %s has the index %d that the journal has for %s, and nothing else of it (alias %q, MAC address %s): "+
		"%w", l.Name, l.Index, wanted, l.Alias, l.MAC, errUnproven)
}

// sameNetnsID compares the numbers of two namespaces; nil is the link's own.
func sameNetnsID(a, b *int) bool { return a == b || a != nil && b != nil && *a == *b }
