package kernel

import (
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"testing"
	"unsafe"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// crowd adds links until a list takes the kernel several turns.
func crowd(t testing.TB, n *Namespace, links int) {
	t.Helper()
	for i := range links / 2 {
		must(t, n.AddLink(LinkSpec{
			Name: fmt.Sprintf("a%d", i),
			Kind: VethKind{Peer: LinkSpec{Name: fmt.Sprintf("b%d", i)}},
		}))
	}
}

// view gives the same namespace with another socket.
func view(t testing.TB, n *Namespace) *Namespace {
	t.Helper()
	o, absence, err := Open(n.Path())
	if err != nil || absence != "" {
		t.Fatal(absence, err)
	}
	t.Cleanup(func() { _ = o.Close() })
	return o
}

// interruptedDump lists links while others come: in as many tries as said.
func interruptedDump(t *testing.T, tries int) (names []string, asked int, err error) {
	t.Helper()
	n := newNS(t)
	crowd(t, n, 100)
	other := view(t, n)
	first := true
	seen := map[string]bool{}
	names, err = dump(n, newRequest(unix.RTM_GETLINK, 0, ifInfo(0, 0, 0)), func(b []byte) (string, bool, error) {
		l, err := decodeLink(b)
		if l.Name == "lo" {
			first, asked = true, asked+1
		}
		if first && asked <= tries {
			first = false
			name := fmt.Sprintf("new%d", asked)
			must(t, other.AddLink(LinkSpec{Name: name, Kind: IFBKind{}}))
			seen[name] = true
		}
		return l.Name, true, err
	})
	return names, asked, err
}

// TestDumpInterruptedOnce: a list that others changed meanwhile is read anew.
func TestDumpInterruptedOnce(t *testing.T) {
	t.Parallel()
	names, asked, err := interruptedDump(t, 1)
	must(t, err)
	if asked != 2 {
		t.Errorf("read %d times, want 2", asked)
	}
	have := map[string]bool{}
	for _, name := range names {
		if have[name] {
			t.Errorf("%s is there twice", name)
		}
		have[name] = true
	}
	for i := range 50 {
		if !have[fmt.Sprintf("a%d", i)] || !have[fmt.Sprintf("b%d", i)] {
			t.Errorf("pair %d is missing", i)
		}
	}
	if !have["new1"] {
		t.Error("the new link is missing")
	}
}

// TestDumpInterruptedAlways: in the end it is reported, and the part not given.
func TestDumpInterruptedAlways(t *testing.T) {
	t.Parallel()
	names, asked, err := interruptedDump(t, 1<<30)
	if !Interrupted(err) || !errors.Is(err, nl.ErrDumpInterrupted) {
		t.Fatal(err)
	}
	if asked != dumpTries {
		t.Errorf("read %d times, want %d", asked, dumpTries)
	}
	if names != nil {
		t.Errorf("%d names out of a part", len(names))
	}
}

// TestCase17InterruptedDumpIsNoAnswer: it is no absence of anything.
func TestCase17InterruptedDumpIsNoAnswer(t *testing.T) {
	t.Parallel()
	n := newNS(t).WithFaults(FailNth("link.list", 1, false, nl.ErrDumpInterrupted))
	all, err := n.Links()
	if !Interrupted(err) || all != nil {
		t.Fatal(all, err)
	}
	for k := ObjectLink; k < objectEnd; k++ {
		if Absent(k, err) {
			t.Errorf("object %d is absent", k)
		}
	}
}

// TestLinksUnderChurn: what was there all the time is in every list.
func TestLinksUnderChurn(t *testing.T) {
	t.Parallel()
	n := newNS(t)
	crowd(t, n, 60)
	other := view(t, n)
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			name := fmt.Sprintf("x%d", i)
			must(t, other.AddLink(LinkSpec{Name: name, Index: 10000 + i, Kind: IFBKind{}}))
			_, err := other.DelLink(10000 + i)
			must(t, err)
		}
	})
	lists := 0
	for range 20 {
		all, err := n.Links()
		if Interrupted(err) {
			continue
		}
		must(t, err)
		lists++
		stay := 0
		for _, l := range all {
			if l.Kind == "veth" {
				stay++
			}
		}
		if stay != 60 {
			t.Errorf("%d of 60 links", stay)
		}
	}
	close(stop)
	wg.Wait()
	t.Logf("%d of 20 lists", lists)
}

// TestKernelsWords: the extended acknowledgement is in the error, of a change
// and of a dump.
func TestKernelsWords(t *testing.T) {
	t.Parallel()
	n := newNS(t)
	a, _ := addPair(t, n, "a", n, "b")
	err := n.SetLink(a.Index, LinkChange{MTU: ptr(70000)})
	var e *Error
	if !errors.As(err, &e) || e.Errno != unix.EINVAL || e.Message == "" {
		t.Fatalf("%#v", err)
	}
	contains(t, err, "link.set 3 in a new namespace: invalid argument: ", "mtu", "maximum")

	_, err = dump(n, RouteFilter{Table: 4711}.request(unix.AF_INET), decodeRoute)
	if !errors.As(err, &e) || e.Errno != unix.ENOENT {
		t.Fatalf("%#v", err)
	}
	contains(t, err, "FIB table does not exist")
}

// socketOf gives the namespace's socket, opened.
func socketOf(t *testing.T, n *Namespace) *socket {
	t.Helper()
	n.mu.Lock()
	defer n.mu.Unlock()
	s, err := n.socket()
	must(t, err)
	return s
}

func unanswered1(t *testing.T, n *Namespace, errno unix.Errno) {
	t.Helper()
	err := n.AddLink(LinkSpec{Name: "a", Kind: IFBKind{}})
	var e *Error
	if !errors.As(err, &e) || !e.Unanswered || !Unanswered(err) || e.Errno != errno {
		t.Fatalf("%#v", err)
	}
	if Busy(err) || Exists(err) || Absent(ObjectLink, err) {
		t.Errorf("%v is taken for an answer", err)
	}
	contains(t, err, "link.add a in ", "may have been done")
	// It was, and the next call is not confused by what came late.
	link(t, n, "a")
}

// TestUnansweredWhenTheAnswerIsLost: the kernel drops the answer when the
// buffer is full of other news.
func TestUnansweredWhenTheAnswerIsLost(t *testing.T) {
	t.Parallel()
	n := newNS(t)
	s := socketOf(t, n)
	must(t, unix.SetsockoptInt(s.fd, unix.SOL_SOCKET, unix.SO_RCVBUF, 1))
	must(t, unix.SetsockoptInt(s.fd, unix.SOL_NETLINK, unix.NETLINK_ADD_MEMBERSHIP, unix.RTNLGRP_LINK))
	unanswered1(t, n, unix.ENOBUFS)
}

// TestUnansweredWhenNoneComes: the answer is kept away by a filter.
func TestUnansweredWhenNoneComes(t *testing.T) {
	t.Parallel()
	n := newNS(t)
	s := socketOf(t, n)
	nothing := []unix.SockFilter{{Code: unix.BPF_RET | unix.BPF_K, K: 0}}
	must(t, unix.SetsockoptSockFprog(s.fd, unix.SOL_SOCKET, unix.SO_ATTACH_FILTER,
		&unix.SockFprog{Len: 1, Filter: unsafe.SliceData(nothing)}))
	must(t, unix.SetsockoptTimeval(s.fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Usec: 1000}))
	unanswered1(t, n, unix.EAGAIN)
}

// TestOnlyTheKernelIsHeard: another process may send to our socket.
func TestOnlyTheKernelIsHeard(t *testing.T) {
	t.Parallel()
	n := newNS(t)
	s := socketOf(t, n)
	forged := newRequest(unix.NLMSG_ERROR, 0, []byte{0xff, 0xff, 0xff, 0xff})
	fake := s.seq + 1
	for i, v := range []uint32{uint32(len(forged.b)), 0, fake, s.pid} {
		if i != 1 {
			*(*uint32)(unsafe.Pointer(&forged.b[4*i])) = v
		}
	}
	must(t, n.do(func() error {
		o, err := openSocket(unix.NETLINK_ROUTE)
		if err != nil {
			return err
		}
		defer o.close()
		return unix.Sendto(o.fd, forged.b, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK, Pid: s.pid})
	}))
	link(t, n, "lo")
}

func TestManyAtOnce(t *testing.T) {
	t.Parallel()
	n := newNS(t)
	a, _ := addPair(t, n, "a", n, "b")
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			for range 50 {
				if l, ok, err := n.LinkByIndex(a.Index); err != nil || !ok || l.Name != "a" {
					t.Error(l, ok, err)
				}
				if _, ok, err := n.Link("none"); ok || err != nil {
					t.Error(ok, err)
				}
			}
		})
	}
	wg.Wait()
}

func TestMalformedAnswers(t *testing.T) {
	t.Parallel()
	for name, b := range map[string][]byte{
		"length too short": {8, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0},
		"length too long":  {255, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0},
	} {
		if err := (&answer{}).read(b); !errors.Is(err, errMalformed) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, b := range map[string][]byte{
		"attribute too short": {3, 0, 1, 0},
		"attribute too long":  {9, 0, 1, 0, 0, 0, 0, 0},
	} {
		err := eachAttr(b, func(uint16, []byte) error { return nil })
		if !errors.Is(err, errMalformed) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestAnswerToAnotherRequest: what still comes for an earlier request, or for
// another socket, says nothing of this one.
func TestAnswerToAnotherRequest(t *testing.T) {
	t.Parallel()
	failure := func(seq, pid uint32) []byte {
		b := binary.NativeEndian.AppendUint32(nil, 20)
		b = binary.NativeEndian.AppendUint16(b, unix.NLMSG_ERROR)
		b = binary.NativeEndian.AppendUint16(b, 0)
		b = binary.NativeEndian.AppendUint32(b, seq)
		b = binary.NativeEndian.AppendUint32(b, pid)
		return binary.NativeEndian.AppendUint32(b, uint32(0xffffffff)) // -EPERM
	}
	for _, c := range []struct {
		seq, pid uint32
		ours     bool
	}{{6, 1, false}, {7, 2, false}, {7, 1, true}} {
		a := answer{seq: 7, pid: 1}
		if err := a.read(failure(c.seq, c.pid)); err != nil || a.done != c.ours {
			t.Errorf("request %d of socket %d: done %v, %v", c.seq, c.pid, a.done, err)
		}
	}
}

// FuzzDecode: no answer makes a decoder panic.
func FuzzDecode(f *testing.F) {
	f.Add(make([]byte, 64))
	f.Fuzz(func(t *testing.T, b []byte) {
		_, _ = decodeLink(b)
		_, _, _ = decodeAddress(b)
		_, _, _ = decodeRoute(b)
		_, _, _ = decodeIPRule(b)
		_, _, _ = decodeNeighbour(b)
		_, _, _ = decodeFDB(b)
		_, _, _ = decodeVLANs(b)
		_, _ = decodeSRv6Encap(b)
		_, _ = decodeBridgePort(b)
		for _, kind := range []string{"bridge", "vlan", "vxlan", "geneve", "ipip", "gre", "macvlan", "ipvlan", "vrf", "bond"} {
			_, _ = decodeKind(kind, b)
		}
		a := answer{each: func(b []byte) error { _, err := decodeLink(b); return err }}
		_ = a.read(b)
	})
}
