package kernel

import (
	"testing"

	"golang.org/x/sys/unix"
)

func TestVethPairInOneMessage(t *testing.T) {
	t.Parallel()
	host, ctr := newNS(t), newNS(t)
	br := addLink(t, host, LinkSpec{Name: "br0", Kind: BridgeKind{}, MAC: mac("02:00:00:00:00:01"), Up: true})
	must(t, host.AddLink(LinkSpec{
		Name: "veth0", MTU: 1400, MAC: mac("02:00:00:00:00:02"), Master: br.Index, TxQLen: ptr(7), Up: true,
		Kind: VethKind{Peer: LinkSpec{
			Name: "eth0", MTU: 1300, MAC: mac("02:00:00:00:00:03"), Netns: ctr, TxQLen: ptr(8),
		}},
	}))
	h, c := link(t, host, "veth0"), link(t, ctr, "eth0")
	t.Logf("%+v", h)
	t.Logf("%+v", c)
	noLink(t, host, "eth0")
	_ = unix.EPERM
}
