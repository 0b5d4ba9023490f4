package kernel

import "testing"

// BenchmarkPair is what an attachment to a bridge needs of links.
func BenchmarkPair(b *testing.B) {
	host := newNS(b)
	br := addLink(b, host, LinkSpec{Name: "br0", Kind: BridgeKind{}, MAC: mac("02:00:00:00:00:01"), Up: true})
	for b.Loop() {
		b.StopTimer()
		ctr := newNS(b)
		b.StartTimer()
		must(b, host.AddLink(LinkSpec{
			Name: "veth0", MTU: 1400, MAC: mac("02:00:00:00:00:02"), Master: br.Index, Up: true,
			Kind: VethKind{Peer: LinkSpec{Name: "eth0", MTU: 1400, Netns: ctr}},
		}))
		b.StopTimer()
		l := link(b, host, "veth0")
		_, err := host.DelLink(l.Index)
		must(b, err)
		_ = ctr.Close()
		b.StartTimer()
	}
}

func BenchmarkLinkLookUp(b *testing.B) {
	n := newNS(b)
	for b.Loop() {
		link(b, n, "lo")
	}
}

func BenchmarkOpen(b *testing.B) {
	path := newNS(b).Path()
	for b.Loop() {
		n, _, err := Open(path)
		must(b, err)
		_ = n.Close()
	}
}

// BenchmarkOpenAndAsk has the socket in it.
func BenchmarkOpenAndAsk(b *testing.B) {
	path := newNS(b).Path()
	for b.Loop() {
		n, _, err := Open(path)
		must(b, err)
		link(b, n, "lo")
		_ = n.Close()
	}
}

func BenchmarkDo(b *testing.B) {
	n := newNS(b)
	for b.Loop() {
		must(b, n.Do(func() error { return nil }))
	}
}

func BenchmarkSysctl(b *testing.B) {
	n := newNS(b)
	for b.Loop() {
		must(b, n.SetSysctl("net/ipv4/conf/lo/arp_notify", "1"))
	}
}

func BenchmarkAddress(b *testing.B) {
	n, l := routed(b)
	a := Address{Link: l.Index, Prefix: pfx("192.0.2.99/24")}
	for b.Loop() {
		must(b, n.AddAddress(a))
		_, err := n.DelAddress(a)
		must(b, err)
	}
}
