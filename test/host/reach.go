package host

import (
	"fmt"
	"net"
	"net/netip"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// Reach tries whether a TCP connection from one namespace to an address in
// another comes about; "" is the host itself. It returns the address that the
// connection seemed to come from at the far end, which masquerading changes.
func (h *Host) Reach(from, to, address string) (source netip.Addr, err error) {
	return h.ReachOn(from, h, to, address)
}

// ReachOn is Reach to a namespace of another host.
func (h *Host) ReachOn(from string, far *Host, to, address string) (source netip.Addr, err error) {
	return h.reach(from, far, to, address, time.Minute)
}

// Apart tells that no connection comes about within three seconds, the time of
// a SYN and its first repetition: for what never comes there is no event.
func (h *Host) Apart(from, to, address string) bool {
	_, err := h.reach(from, h, to, address, 3*time.Second)
	return err != nil
}

func (h *Host) reach(from string, far *Host, to, address string, limit time.Duration) (source netip.Addr, err error) {
	ip, err := netip.ParseAddr(address)
	if err != nil {
		return source, err
	}
	var listener net.Listener
	far.within(to, func() { listener, err = listen(ip) })
	if err != nil {
		return source, fmt.Errorf("listening on %s in %q: %w", ip, to, err)
	}
	defer listener.Close()
	port := listener.Addr().(*net.TCPAddr).Port
	accepted := make(chan netip.Addr, 1)
	go func() {
		defer close(accepted)
		if c, err := listener.Accept(); err == nil {
			accepted <- c.RemoteAddr().(*net.TCPAddr).AddrPort().Addr().Unmap()
			c.Close()
		}
	}()
	var s int
	h.within(from, func() { s, err = connect(ip, port, limit) })
	if err != nil {
		return source, fmt.Errorf("connecting from %q to %s in %q: %w", from, ip, to, err)
	}
	defer unix.Close(s)
	return <-accepted, nil
}

func (h *Host) within(netns string, f func()) {
	if netns == "" {
		h.Do(f)
	} else {
		h.Inside(netns, f)
	}
}

func family(ip netip.Addr) int {
	if ip.Is4() {
		return unix.AF_INET
	}
	return unix.AF_INET6
}

func sockaddr(ip netip.Addr, port int) unix.Sockaddr {
	if ip.Is4() {
		return &unix.SockaddrInet4{Port: port, Addr: ip.As4()}
	}
	return &unix.SockaddrInet6{Port: port, Addr: ip.As16()}
}

// listen binds by hand: a socket belongs to the namespace of the thread that
// makes it, and package net may change threads.
func listen(ip netip.Addr) (net.Listener, error) {
	s, err := unix.Socket(family(ip), unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(s), "listener")
	defer f.Close()
	if err := unix.Bind(s, sockaddr(ip, 0)); err != nil {
		return nil, err
	}
	if err := unix.Listen(s, 8); err != nil {
		return nil, err
	}
	return net.FileListener(f)
}

func connect(ip netip.Addr, port int, limit time.Duration) (int, error) {
	s, err := unix.Socket(family(ip), unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	timeout := unix.NsecToTimeval(int64(limit))
	if err := unix.SetsockoptTimeval(s, unix.SOL_SOCKET, unix.SO_SNDTIMEO, &timeout); err != nil {
		unix.Close(s)
		return -1, err
	}
	if err := unix.Connect(s, sockaddr(ip, port)); err != nil {
		unix.Close(s)
		return -1, err
	}
	return s, nil
}
