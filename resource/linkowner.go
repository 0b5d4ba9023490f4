package resource

import (
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
