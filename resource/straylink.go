package resource

import (
	"github.com/fairlead-net/fairlead/kernel"
)

// A stray is a link of ours that someone moved out of the namespace in which it
// was made. The kernel gives that one a number for the namespace that the link
// went to, so it can be found, unless it was moved on from there.
type stray struct {
	kernel.Link
	netns int // as the namespace that it left calls where it is
}

// findStray looks for a link that left ns and that is proves: by more than a
// name or an index, which other namespaces have too. nil is none.
func findStray(ns *kernel.Namespace, is func(kernel.Link) bool) (*stray, error) {
	ids, err := ns.NetnsIDs()
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		links, err := ns.LinksIn(id)
		if err != nil {
			return nil, err
		}
		for _, l := range links {
			if is(l) {
				return &stray{l, id}, nil
			}
		}
	}
	return nil, nil
}

// removeStray removes one, if there is one.
func removeStray(ns *kernel.Namespace, is func(kernel.Link) bool) error {
	found, err := findStray(ns, is)
	if err == nil && found != nil {
		_, err = ns.DelLinkIn(found.netns, found.Index)
	}
	return err
}
