package campaign

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/fairlead-net/fairlead/lab/inject"
)

// repeatable tells whether someone else could ask the same just before: a
// request that takes something away, by itself or in a batch. It has no
// descriptor in it, which would mean another thing to another process.
func (n *node) repeatable(e inject.Event, s sort) bool {
	known := e.Protocol == unix.NETLINK_ROUTE || e.Protocol == unix.NETLINK_NETFILTER
	return s == sortRemove && known && n.spaces[e.Netns] != nil
}

// repeat asks what a call is about to ask, in the same namespace. The kernel has
// done it when the send returns; what it says is not asked.
func (n *node) repeat(c *inject.Call, e inject.Event) error {
	request, err := c.Sent()
	if err != nil {
		return fmt.Errorf("ask the same before: %w", err)
	}
	return n.ask(n.spaces[e.Netns].Path(), e.Protocol, request)
}

// ask sends a request of netlink from within a namespace.
func (n *node) ask(path string, protocol int, request []byte) error {
	var err error
	inside := n.Inside(path, func() {
		var fd int
		if fd, err = unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, protocol); err != nil {
			return
		}
		err = os.NewSyscallError("sendto", unix.Sendto(fd, request, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}))
		_ = unix.Close(fd)
	})
	if inside != nil {
		return inside
	}
	if err != nil {
		return fmt.Errorf("ask the same before, in %s: %w", path, err)
	}
	return nil
}
