package campaign

import (
	"io/fs"
	"path/filepath"
)

// picture looks at all of the node.
func (n *node) picture() (facts, error) {
	all := facts{}
	for cookie, ns := range n.spaces {
		links, err := ns.Links()
		if err != nil {
			return nil, err
		}
		for _, l := range links {
			all.add(fact{"link", n.where(cookie), l.Name}, l.Kind)
		}
	}
	n.Do(func() {
		for _, root := range []string{"/run", "/var/lib"} {
			_ = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
				if err == nil && !d.IsDir() {
					all.add(fact{"file", "host", path}, "")
				}
				return nil
			})
		}
	})
	return all, nil
}
