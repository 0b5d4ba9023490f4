//go:build vmtest

package vpc

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/fairlead-net/fairlead/test/host"
)

// machine is what a virtual machine is to a tap device: a process that has it
// open and a network stack of its own, here a namespace with a tap device that
// is wired to the other. It returns where that is.
func machine(t *testing.T, h *host.Host, r host.Result, v4, v6 string) string {
	t.Helper()
	tap, _ := r.Interfaces()[0]["name"].(string)
	where := h.Netns("vm-" + tap)
	outside := openTap(t, h, "", tap, unix.IFF_MULTI_QUEUE)
	inside := openTap(t, h, where, "eth0", 0)
	for _, pair := range [][2]*os.File{{outside, inside}, {inside, outside}} {
		go func() {
			frame := make([]byte, 65536)
			for {
				n, err := pair[0].Read(frame)
				if err != nil {
					return
				}
				// What comes before the other end is up is lost.
				_, _ = pair[1].Write(frame[:n])
			}
		}()
	}
	h.MustRunIn(where, "ip", "link", "set", "eth0", "up")
	// It takes its IPv4 network for near, and has IPv6 by its gateway.
	gateway := func(n int) string { return r.IPs()[n]["gateway"].(string) }
	h.MustRunIn(where, "ip", "address", "add", v4+"/24", "dev", "eth0")
	h.MustRunIn(where, "ip", "route", "add", "default", "via", gateway(0))
	h.MustRunIn(where, "ip", "address", "add", v6+"/128", "dev", "eth0", "nodad")
	h.MustRunIn(where, "ip", "-6", "route", "add", gateway(1), "dev", "eth0")
	h.MustRunIn(where, "ip", "-6", "route", "add", "default", "via", gateway(1))
	return where
}

// openTap opens the device, or makes it, and has it closed when the test ends.
func openTap(t *testing.T, h *host.Host, netns, name string, flags uint16) *os.File {
	t.Helper()
	var fd int
	var err error
	open := func() {
		if fd, err = unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_CLOEXEC|unix.O_NONBLOCK, 0); err != nil {
			return
		}
		var req *unix.Ifreq
		if req, err = unix.NewIfreq(name); err != nil {
			return
		}
		req.SetUint16(unix.IFF_TAP | unix.IFF_NO_PI | flags)
		err = unix.IoctlIfreq(fd, unix.TUNSETIFF, req)
	}
	if netns == "" {
		h.Do(open)
	} else {
		h.Inside(netns, open)
	}
	if err != nil {
		t.Fatalf("open %s: %v", name, err)
	}
	f := os.NewFile(uintptr(fd), name)
	t.Cleanup(func() { _ = f.Close() })
	return f
}
