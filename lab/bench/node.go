package bench

import (
	"errors"
	"fmt"

	"github.com/fairlead-net/fairlead/kernel"
	"github.com/fairlead-net/fairlead/lab/host"
)

// node is a host with containers' namespaces that nothing was done in.
type node struct {
	*host.Host
	containers []string // paths
}

func newNode() (*node, error) {
	h, err := host.New()
	if err != nil {
		return nil, err
	}
	return &node{Host: h}, nil
}

// do runs f on the host's thread. What it executes is in the host's namespaces.
func (n *node) do(f func() error) (err error) {
	n.Do(func() { err = f() })
	return err
}

// inside runs f in the network namespace at path.
func (n *node) inside(path string, f func() error) error {
	var err error
	if e := n.Inside(path, func() { err = f() }); e != nil {
		return e
	}
	return err
}

func (n *node) makeContainers(count int) error {
	for range count {
		path, err := n.AddNetns(fmt.Sprintf("c%04d", len(n.containers)))
		if err != nil {
			return err
		}
		n.containers = append(n.containers, path)
	}
	return nil
}

// close lets go of the containers and then of the host. The kernel takes them
// apart later, which settle waits for.
func (n *node) close() error {
	var errs []error
	for _, path := range n.containers {
		errs = append(errs, n.RemoveNetns(path))
	}
	return errors.Join(append(errs, n.Close())...)
}

// withHost runs f with the network namespace of the calling thread, a host's.
func withHost(f func(*kernel.Namespace) error) error {
	ns, err := kernel.Host()
	if err != nil {
		return err
	}
	return errors.Join(f(ns), ns.Close())
}
