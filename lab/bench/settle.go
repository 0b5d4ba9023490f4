package main

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
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
func (h *host) settle() error {
	for range 2 {
		if err := h.sendMessenger(); err != nil {
			return fmt.Errorf("wait for dead namespaces to be gone: %w", err)
		}
	}
	return nil
}

func (h *host) sendMessenger() error {
	const name = "messenger"
	if err := h.makeContainers(1); err != nil {
		return err
	}
	news := make(chan netlink.LinkUpdate, 64)
	stop := make(chan struct{})
	defer close(stop)
	err := h.do(func() error {
		if err := netlink.LinkSubscribe(news, stop); err != nil {
			return err
		}
		ns, err := os.Open(h.containers[0])
		if err != nil {
			return err
		}
		defer ns.Close()
		attrs := netlink.NewLinkAttrs()
		attrs.Name = name
		pair := &netlink.Veth{LinkAttrs: attrs, PeerName: "eth0", PeerNamespace: netlink.NsFd(int(ns.Fd()))}
		return netlink.LinkAdd(pair)
	})
	if err != nil {
		return err
	}
	if err := h.do(h.dropContainers); err != nil {
		return err
	}
	limit := time.After(settleLimit)
	for {
		select {
		case u, ok := <-news:
			if !ok {
				return errors.New("the kernel's news of links broke off")
			}
			if u.Header.Type == unix.RTM_DELLINK && u.Link.Attrs().Name == name {
				return nil
			}
		case <-limit:
			return fmt.Errorf("not within %v", settleLimit)
		}
	}
}
