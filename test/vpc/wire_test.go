package vpc

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/fairlead-net/fairlead/test/host"
)

// A wire is what passes an interface of a host.
type wire struct {
	mu     sync.Mutex
	came   chan struct{} // something came
	routed []routed
	bareIP []string // packets of the VPCs' addresses that nothing is around
}

// routed is a packet with a segment routing header.
type routed struct {
	source, segment string // of the outer header
	from, to        string // of what is within
}

const (
	nextIPv4, nextRouting, nextIPv6 = 4, 43, 41
	segmentRouting                  = 4
	ip6Header                       = 40
)

// capture reads from the interface, by a packet socket, to the test's end.
func capture(t *testing.T, h *host.Host, name string) *wire {
	t.Helper()
	var fd int
	var err error
	h.Do(func() {
		all := binary.NativeEndian.Uint16(binary.BigEndian.AppendUint16(nil, unix.ETH_P_ALL))
		if fd, err = unix.Socket(unix.AF_PACKET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, int(all)); err != nil {
			return
		}
		var index uint32
		if index, err = ifIndex(name); err == nil {
			err = unix.Bind(fd, &unix.SockaddrLinklayer{Protocol: all, Ifindex: int(index)})
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	// A file waits by the poller, and ends when it is closed.
	f := os.NewFile(uintptr(fd), "capture")
	w := &wire{came: make(chan struct{}, 1)}
	done := make(chan struct{})
	go func() {
		defer close(done)
		buf := make([]byte, 65536)
		for {
			n, err := f.Read(buf)
			if err != nil {
				return
			}
			w.packet(buf[:n])
		}
	}()
	t.Cleanup(func() { _ = f.Close(); <-done })
	return w
}

// ifIndex asks in the namespace of the calling thread.
func ifIndex(name string) (uint32, error) {
	s, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return 0, err
	}
	defer unix.Close(s)
	req, err := unix.NewIfreq(name)
	if err != nil {
		return 0, err
	}
	err = unix.IoctlIfreq(s, unix.SIOCGIFINDEX, req)
	return req.Uint32(), err
}

func (w *wire) packet(b []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	defer func() {
		select {
		case w.came <- struct{}{}:
		default:
		}
	}()
	switch {
	case len(b) >= 20 && b[0]>>4 == 4:
		if s := addr(b[12:16]) + " > " + addr(b[16:20]); b[12] == 10 || b[16] == 10 {
			w.bareIP = append(w.bareIP, s)
		}
	case len(b) >= ip6Header && b[0]>>4 == 6 && b[6] == nextRouting && len(b) > ip6Header+8:
		srh := b[ip6Header:]
		size := 8 + 8*int(srh[1])
		if srh[2] != segmentRouting || len(srh) < size {
			return
		}
		p := routed{source: addr(b[8:24]), segment: addr(b[24:40])}
		in := srh[size:]
		switch {
		case srh[0] == nextIPv4 && len(in) >= 20:
			p.from, p.to = addr(in[12:16]), addr(in[16:20])
		case srh[0] == nextIPv6 && len(in) >= ip6Header:
			p.from, p.to = addr(in[8:24]), addr(in[24:40])
		}
		w.routed = append(w.routed, p)
	case len(b) >= ip6Header && b[0]>>4 == 6 && (b[8] == 0xfd || b[24] == 0xfd):
		w.bareIP = append(w.bareIP, addr(b[8:24])+" > "+addr(b[24:40]))
	}
}

func addr(b []byte) string {
	a, _ := netip.AddrFromSlice(b)
	return a.String()
}

// saw fails the test unless a packet between the two was wrapped in a header from
// source to the segment.
func (w *wire) saw(t *testing.T, source, segment, from, to string) {
	t.Helper()
	want := routed{source, segment, from, to}
	deadline := time.After(time.Minute)
	for {
		w.mu.Lock()
		there, all := slices.Contains(w.routed, want), fmt.Sprint(w.routed)
		w.mu.Unlock()
		if there {
			return
		}
		select {
		case <-w.came:
		case <-deadline:
			t.Errorf("no packet %+v among %s", want, all)
			return
		}
	}
}

// bare fails the test if a packet of a VPC was on the wire as it is.
func (w *wire) bare(t *testing.T) {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, p := range w.bareIP {
		t.Errorf("on the wire, with nothing around it: %s", p)
	}
}
