package campaign

import (
	"encoding/binary"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/fairlead-net/fairlead/lab/host"
)

// TestAsk: what is asked is done when the call returns, and where it was asked.
func TestAsk(t *testing.T) {
	t.Parallel()
	h, err := host.New()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.Close() })
	path, err := h.AddNetns("c1")
	if err != nil {
		t.Fatal(err)
	}
	for _, netns := range []string{"", path} {
		c := h.Command("ip", "link", "add", "v0", "type", "veth", "peer", "name", "v1")
		if out, err := h.OutputIn(netns, c); err != nil {
			t.Fatal(err, string(out))
		}
	}
	n := &node{Host: h}
	if err := n.ask(path, unix.NETLINK_ROUTE, delLink("v0")); err != nil {
		t.Fatal(err)
	}
	for netns, want := range map[string]bool{"": true, path: false} {
		out, err := h.OutputIn(netns, h.Command("ip", "-o", "link"))
		if there := strings.Contains(string(out), " v0@"); err != nil || there != want {
			t.Errorf("in %q: %t, %v", netns, there, err)
		}
	}
	if err := n.ask("/run/netns/none", unix.NETLINK_ROUTE, nil); err == nil {
		t.Error("in no namespace: no error")
	}
}

// delLink is a request to delete a link by its name.
func delLink(name string) []byte {
	attr := append([]byte(name), 0)
	size := unix.SizeofNlMsghdr + unix.SizeofIfInfomsg + unix.SizeofNlAttr + len(attr)
	m := make([]byte, (size+3)&^3)
	binary.NativeEndian.PutUint32(m, uint32(len(m)))
	binary.NativeEndian.PutUint16(m[4:], unix.RTM_DELLINK)
	binary.NativeEndian.PutUint16(m[6:], unix.NLM_F_REQUEST)
	at := m[unix.SizeofNlMsghdr+unix.SizeofIfInfomsg:]
	binary.NativeEndian.PutUint16(at, uint16(unix.SizeofNlAttr+len(attr)))
	binary.NativeEndian.PutUint16(at[2:], unix.IFLA_IFNAME)
	copy(at[unix.SizeofNlAttr:], attr)
	return m
}
