package oracle

import (
	"errors"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// packet is one netlink message.
func packet(kind, flags uint16, seq uint32, data ...byte) []byte {
	b := make([]byte, unix.NLMSG_HDRLEN, unix.NLMSG_HDRLEN+len(data))
	put32(b, 0, uint32(unix.NLMSG_HDRLEN+len(data)))
	put16(b, 4, kind)
	put16(b, 6, flags)
	put32(b, 8, seq)
	b = append(b, data...)
	return append(b, make([]byte, (4-len(b)%4)%4)...)
}

// answered is a connection to something that answers every request alike, but
// for the sequence number; an answer is several datagrams.
func answered(t *testing.T, answers ...func(seq uint32) [][]byte) *conn {
	t.Helper()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer unix.Close(fds[1])
		buf := make([]byte, 4096)
		for n := 0; ; n++ {
			if got, err := unix.Read(fds[1], buf); err != nil || got == 0 {
				return
			}
			for _, b := range answers[min(n, len(answers)-1)](native32(buf, 8)) {
				if _, err := unix.Write(fds[1], b); err != nil {
					return
				}
			}
		}
	}()
	t.Cleanup(func() {
		unix.Close(fds[0])
		<-done
	})
	return &conn{fd: fds[0], buf: make([]byte, 4096)}
}

// TestDump: what the kernel says may be a part only is never taken for all.
func TestDump(t *testing.T) {
	t.Parallel()
	const one, multi = unix.RTM_NEWLINK, unix.NLM_F_MULTI
	whole := func(seq uint32) [][]byte {
		return [][]byte{append(packet(one, multi, seq, 1), packet(one, multi, seq, 2)...), packet(unix.NLMSG_DONE, multi, seq, 0, 0, 0, 0)}
	}
	interrupted := func(seq uint32) [][]byte {
		return [][]byte{packet(one, multi|unix.NLM_F_DUMP_INTR, seq, 1), packet(unix.NLMSG_DONE, multi, seq, 0, 0, 0, 0)}
	}
	interruptedAtEnd := func(seq uint32) [][]byte {
		return [][]byte{packet(one, multi, seq, 1), packet(unix.NLMSG_DONE, multi|unix.NLM_F_DUMP_INTR, seq, 0, 0, 0, 0)}
	}
	minus := func(e unix.Errno) []byte {
		b := make([]byte, 4)
		put32(b, 0, uint32(-int32(e)))
		return b
	}
	for name, c := range map[string]struct {
		answers []func(uint32) [][]byte
		want    int
		err     string
	}{
		"whole":               {[]func(uint32) [][]byte{whole}, 2, ""},
		"interrupted once":    {[]func(uint32) [][]byte{interrupted, whole}, 2, ""},
		"interrupted at last": {[]func(uint32) [][]byte{interruptedAtEnd, whole}, 2, ""},
		"always interrupted":  {[]func(uint32) [][]byte{interrupted}, 0, "changes meanwhile"},
		"refused": {[]func(uint32) [][]byte{func(seq uint32) [][]byte {
			return [][]byte{packet(unix.NLMSG_ERROR, 0, seq, minus(unix.EPERM)...)}
		}}, 0, "not permitted"},
		"failed in the middle": {[]func(uint32) [][]byte{func(seq uint32) [][]byte {
			return [][]byte{packet(one, multi, seq, 1), packet(unix.NLMSG_DONE, multi, seq, minus(unix.ENOMEM)...)}
		}}, 0, "cannot allocate"},
		"overrun": {[]func(uint32) [][]byte{func(seq uint32) [][]byte {
			return [][]byte{packet(one, multi, seq, 1), packet(unix.NLMSG_OVERRUN, 0, seq)}
		}}, 0, "overrun"},
		"too long": {[]func(uint32) [][]byte{func(seq uint32) [][]byte {
			return [][]byte{packet(one, multi, seq, make([]byte, 5000)...)}
		}}, 0, "bytes at once"},
		"cut short": {[]func(uint32) [][]byte{func(seq uint32) [][]byte {
			return [][]byte{packet(one, multi, seq, 1, 2, 3, 4)[:18]}
		}}, 0, "cut short"},
		"an answer to another": {[]func(uint32) [][]byte{func(seq uint32) [][]byte {
			return append([][]byte{packet(one, multi, seq-1, 9), packet(unix.NLMSG_DONE, multi, seq-1, 0, 0, 0, 0)}, whole(seq)...)
		}}, 2, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			list, err := answered(t, c.answers...).dump(unix.RTM_GETLINK, make([]byte, 16))
			if len(list) != c.want || (err == nil) != (c.err == "") || (err != nil && !strings.Contains(err.Error(), c.err)) {
				t.Errorf("%d messages, %v", len(list), err)
			}
		})
	}
}

func TestAttributesCutShort(t *testing.T) {
	t.Parallel()
	good := append(u32attr(7, 99), u32attr(8, 1)...)
	if all, err := list(good); err != nil || len(all) != 2 || u32(all[0].data) != 99 {
		t.Errorf("%v, %v", all, err)
	}
	for _, bad := range [][]byte{good[:14], {3, 0, 1, 0}, {0, 0, 0, 0}} {
		if all, err := list(bad); err == nil {
			t.Errorf("%v was read as %v", bad, all)
		}
	}
	if _, _, err := headed(good, 17); err == nil {
		t.Error("a message without its head was read")
	}
}

// TestUnknownLink: a name that could not be found makes Take look again.
func TestUnknownLink(t *testing.T) {
	t.Parallel()
	ns := &netns{name: hostName, byIdx: map[int32]*link{}}
	ns.tell("route", "default dev "+ns.linkName(5), "")
	p := Picture{facts: ns.facts}
	if err := p.finish(func(s string) string { return s }); !errors.Is(err, errMoved) {
		t.Errorf("%v", err)
	}
}

// TestUnknownAttributes are shown by number; those that are zero or as usual are
// not.
func TestUnknownAttributes(t *testing.T) {
	t.Parallel()
	raw := append(append(append(u32attr(9, 0xff), u32attr(1, 5)...), u32attr(2, 1)...), u32attr(3, 0)...)
	got, err := schema{1: num("one"), 2: num("two").usually("1")}.ignoring(3).render(nil, raw)
	if err != nil || strings.Join(got, " ") != "one=5 attribute9=ff000000" {
		t.Errorf("%q, %v", got, err)
	}
}

func TestVLANs(t *testing.T) {
	t.Parallel()
	vlan := func(flags, id uint16) attr {
		b := make([]byte, 4)
		put16(b, 0, flags)
		put16(b, 2, id)
		return attr{2, b}
	}
	if got := vlanList([]attr{vlan(6, 1), {1, []byte{1, 2}}, vlan(4, 7), vlan(0, 100)}); got != "1pu,7u,100" {
		t.Error(got)
	}
}
