package kernel

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// bareKind is a kind without what it wants to know.
type bareKind string

func (k bareKind) Kind() string        { return string(k) }
func (bareKind) encode(*encoder) error { return nil }

// noName is a name that no link can have.
const noName = "/"

// KnowsVRF tells whether this kernel has VRFs, as KnowsKind does.
func (n *Namespace) KnowsVRF() (known bool, err error) { return n.KnowsKind("vrf") }

// KnowsKind tells whether this kernel has links of the kind, and has its module
// loaded where they are one. Nothing is made, and nobody is told of anything: the
// kernel refuses a link of no possible name, but not before it has found its
// kind.
func (n *Namespace) KnowsKind(kind string) (known bool, err error) {
	bare := LinkSpec{Name: noName, Kind: bareKind(kind)}
	if kind == "veth" {
		bare.Kind = VethKind{Peer: LinkSpec{Name: noName}} // whose peer is made first
	}
	err = n.call("link.known", kind, func() error {
		err := n.newLink(bare)
		switch errno, ok := answered(err); {
		case err == nil:
			return errors.New("the kernel made a link of no possible name")
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

// CanMakeTaps is an error where no tap device can be made.
func (n *Namespace) CanMakeTaps() error {
	return n.call("tap.known", tunDevice, func() error {
		tun, err := os.OpenFile(tunDevice, os.O_RDWR, 0)
		if err != nil {
			return err
		}
		return tun.Close()
	})
}
