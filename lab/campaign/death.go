package campaign

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/containernetworking/cni/libcni"

	"github.com/fairlead-net/fairlead/kernel"
)

// The kernel takes a namespace apart in its own time, all links in it at once. A
// link between it and the host tells when that is done.
const (
	canary     = "lab-canary"
	canaryPeer = "lab-cage"
	deathLimit = 30 * time.Second
)

// die takes the subject away as a reboot of the runtime does: its namespace is
// gone, and the runtime knows nothing of it any more, so that GC is the plugins'
// own and not a DEL by libcni.
func die(ctx context.Context, n *node) error {
	if err := n.bury(ctx, n.subject); err != nil {
		return err
	}
	return lose(ctx, n)
}

// lose makes the runtime know nothing of the subject any more.
func lose(_ context.Context, n *node) error {
	path := filepath.Join(n.cache, "results", strings.Join([]string{n.list.Name, n.subject.ContainerID, n.subject.IfName}, "-"))
	if err := os.Remove(path); err != nil {
		return fmt.Errorf("forget the result: %w", err)
	}
	return nil
}

// bury removes a container's namespace, and waits until all in it is gone.
func (n *node) bury(ctx context.Context, rt *libcni.RuntimeConf) error {
	host, err := n.space(n.NetnsPath())
	if err != nil {
		return err
	}
	inner, err := n.space(rt.NetNS)
	if err != nil {
		return err
	}
	err = host.AddLink(kernel.LinkSpec{Name: canary, Kind: &kernel.VethKind{Peer: kernel.LinkSpec{Name: canaryPeer, Netns: inner}}})
	if err != nil {
		return fmt.Errorf("a link into %s: %w", rt.NetNS, err)
	}
	if err := errors.Join(n.forget(rt.NetNS), n.RemoveNetns(rt.ContainerID)); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, deathLimit)
	defer cancel()
	err = host.WatchLinks(ctx, func() (bool, error) {
		_, there, err := host.Link(canary)
		return !there, err
	})
	if err != nil {
		return fmt.Errorf("wait for the end of %s: %w", rt.NetNS, err)
	}
	return nil
}

// space is a namespace that is known, by its path.
func (n *node) space(path string) (*kernel.Namespace, error) {
	for _, ns := range n.spaces {
		if ns.Path() == path {
			return ns, nil
		}
	}
	return nil, fmt.Errorf("namespace %s is not known", path)
}
