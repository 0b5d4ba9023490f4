package kernel

import (
	"context"

	"golang.org/x/sys/unix"
)

// WatchLinks calls look, and again after each change of the namespace's links,
// until it says that it is done, or fails, or the context ends. It does not
// sleep.
func (n *Namespace) WatchLinks(ctx context.Context, look func() (done bool, err error)) error {
	return n.call("link.watch", "", func() error {
		s, err := n.subscribe(unix.RTNLGRP_LINK)
		if err != nil {
			return err
		}
		defer s.close()
		for {
			if done, err := look(); err != nil || done {
				return err
			}
			if err := s.wait(ctx); err != nil {
				return err
			}
		}
	})
}
