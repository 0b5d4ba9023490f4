package kernel

import (
	"context"
	"fmt"
	"net/netip"
	"slices"

	"golang.org/x/sys/unix"
)

// WaitDAD waits until the kernel has found each of the link's addresses to be
// unique. It returns as soon as one is found not to be (DADFailedError), or
// is gone, or the context ends. IPv4 addresses are not waited for.
func (n *Namespace) WaitDAD(ctx context.Context, link int, addrs []netip.Addr) error {
	return n.call("address.dad", object(link), func() error {
		// Look once, since most addresses are done at once. Then hear first and
		// look again: no change in between is missed.
		waiting, err := n.tentative(link, addrs)
		if err != nil || !waiting {
			return err
		}
		s, err := n.subscribe(unix.RTNLGRP_IPV6_IFADDR, unix.RTNLGRP_LINK)
		if err != nil {
			return err
		}
		defer s.close()
		for {
			waiting, err := n.tentative(link, addrs)
			if err != nil || !waiting {
				return err
			}
			if err := s.wait(ctx); err != nil {
				return err
			}
		}
	})
}

// DADFailedError says that another machine has the address.
type DADFailedError struct{ Addr netip.Addr }

// Error names the address.
func (e *DADFailedError) Error() string {
	return fmt.Sprintf("%s is used by another machine on this link", e.Addr)
}

// tentative says whether any of addrs is still being examined.
func (n *Namespace) tentative(link int, addrs []netip.Addr) (bool, error) {
	if !slices.ContainsFunc(addrs, netip.Addr.Is6) {
		return false, nil
	}
	all, err := dumpFamily(n, unix.AF_INET6, newRequest(unix.RTM_GETADDR, 0, ifAddr(unix.AF_INET6, 0, 0, link)), decodeAddress)
	if err != nil {
		return false, err
	}
	state := map[netip.Addr]Address{}
	for _, a := range all {
		if a.Link == link {
			state[a.Prefix.Addr()] = a
		}
	}
	waiting := false
	for _, ip := range addrs {
		if ip.Is4() {
			continue
		}
		a, ok := state[ip]
		switch {
		case !ok:
			return false, fmt.Errorf("%s: %w", ip, unix.EADDRNOTAVAIL)
		case a.DADFailed:
			return false, &DADFailedError{Addr: ip}
		case a.Tentative:
			waiting = true
		}
	}
	return waiting, nil
}
