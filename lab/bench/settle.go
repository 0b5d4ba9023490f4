package bench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/fairlead-net/fairlead/kernel"
)

// settleLimit is how long the kernel may take to clear dead namespaces away.
const settleLimit = time.Minute

// settle returns when the kernel has taken apart all network namespaces that
// were let go of before. It does so in the background, one batch after the
// other, holding locks that the next scenario's calls would wait for.
//
// A namespace of its own is the messenger: it holds one end of a veth pair, so
// the other end's disappearance tells that its batch is being taken apart, and
// that of a second messenger that the first one's batch is done.
func (n *node) settle(ctx context.Context) error {
	ctx, stop := context.WithTimeoutCause(ctx, settleLimit, fmt.Errorf("not within %v", settleLimit))
	defer stop()
	here, err := n.open(n.NetnsPath())
	if err != nil {
		return err
	}
	for range 2 {
		if err = n.sendMessenger(ctx, here); err != nil {
			err = fmt.Errorf("wait for dead namespaces to be gone: %w", err)
			break
		}
	}
	return errors.Join(err, here.Close())
}

func (n *node) sendMessenger(ctx context.Context, here *kernel.Namespace) error {
	const name = "messenger"
	path, err := n.AddNetns(name)
	if err != nil {
		return err
	}
	if err := n.join(here, name, path); err != nil {
		return err
	}
	if err := n.RemoveNetns(path); err != nil {
		return err
	}
	err = here.WatchLinks(ctx, func() (gone bool, err error) {
		_, there, err := here.Link(name)
		return !there, err
	})
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return err
}

// join makes a pair of links between two namespaces.
func (n *node) join(here *kernel.Namespace, name, path string) error {
	there, err := n.open(path)
	if err != nil {
		return err
	}
	err = here.AddLink(kernel.LinkSpec{Name: name, Kind: kernel.VethKind{Peer: kernel.LinkSpec{Name: "eth0", Netns: there}}})
	return errors.Join(err, there.Close())
}

// open opens a namespace at a path as the host sees it.
func (n *node) open(path string) (ns *kernel.Namespace, err error) {
	var absence kernel.Absence
	n.Do(func() { ns, absence, err = kernel.Open(path) })
	if err == nil && absence != "" {
		err = fmt.Errorf("%s: %s", path, absence)
	}
	return ns, err
}
