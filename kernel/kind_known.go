package kernel

import (
	"errors"

	"golang.org/x/sys/unix"
)

// bareKind is a kind without what it wants to know.
type bareKind string

func (k bareKind) Kind() string        { return string(k) }
func (bareKind) encode(*encoder) error { return nil }

// KnowsVRF tells whether this kernel has VRFs, and has its module loaded where
// they are one. Nothing is made: the kernel refuses one that has no table.
func (n *Namespace) KnowsVRF() (known bool, err error) {
	err = n.call("link.known", "vrf", func() error {
		err := n.newLink(LinkSpec{Kind: bareKind("vrf")})
		switch errno, ok := answered(err); {
		case err == nil:
			return errors.New("the kernel made a VRF without a table")
		case ok && errno == unix.EINVAL:
			known = true
			return nil
		}
		return err
	})
	if Unsupported(err) {
		return false, nil
	}
	return known, err
}
