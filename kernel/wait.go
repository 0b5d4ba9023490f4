package kernel

import (
	"context"
	"fmt"

	"golang.org/x/sys/unix"
)

// WaitLink waits until the link is as the condition has it, and gives it so. It
// hears of changes, and does not sleep. A link that is gone is an error
// (ENODEV); so is the end of the context, with the link as it was seen last.
func (n *Namespace) WaitLink(ctx context.Context, index int, is func(Link) bool) (Link, error) {
	var link Link
	err := n.call("link.wait", object(index), func() error {
		look := func() (bool, error) {
			var ok bool
			var err error
			if link, ok, err = n.LinkByIndex(index); err == nil && !ok {
				err = fmt.Errorf("link %d is gone: %w", index, unix.ENODEV)
			}
			return err == nil && is(link), err
		}
		// Look once, since most waits are over at once. Then hear first and look
		// again: no change in between is missed.
		done, err := look()
		if err != nil || done {
			return err
		}
		s, err := n.subscribe(unix.RTNLGRP_LINK)
		if err != nil {
			return err
		}
		defer s.close()
		for {
			if done, err = look(); err != nil || done {
				return err
			}
			if err := s.wait(ctx); err != nil {
				return err
			}
		}
	})
	return link, err
}
