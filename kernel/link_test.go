package kernel

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestVethPairInOneMessage: both ends are as wanted, each in its namespace, the
// host's a port of the bridge and up.
func TestVethPairInOneMessage(t *testing.T) {
	t.Parallel()
	host, ctr := newNS(t), newNS(t)
	br := addLink(t, host, LinkSpec{Name: "br0", Kind: BridgeKind{}, MAC: mac("02:00:00:00:00:01"), Up: true})
	must(t, host.AddLink(LinkSpec{
		Name: "veth0", Index: 76, MTU: 1400, MAC: mac("02:00:00:00:00:02"), Master: br.Index, TxQLen: ptr(7), Up: true,
		Kind: VethKind{Peer: LinkSpec{
			Name: "eth0", Index: 77, MTU: 1300, MAC: mac("02:00:00:00:00:03"), Netns: ctr, TxQLen: ptr(8), NumRxQueues: 3,
		}},
	}))
	noLink(t, host, "eth0")
	// The kernel answers before it has worked the operational state out.
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	h, err := host.WaitLink(ctx, link(t, host, "veth0").Index, func(l Link) bool { return !l.Running })
	must(t, err)
	c := link(t, ctr, "eth0")
	if h.MTU != 1400 || h.MAC.String() != "02:00:00:00:00:02" || h.Master != br.Index || h.MasterKind != "bridge" ||
		h.TxQLen != 7 || !h.Up || h.Parent != 77 || h.ParentNetnsID == nil || h.Kind != "veth" {
		t.Errorf("host's end: %+v", h)
	}
	if c.MTU != 1300 || c.MAC.String() != "02:00:00:00:00:03" || c.Index != 77 || c.TxQLen != 8 || c.NumRxQueues != 3 ||
		c.Up || c.Parent != h.Index || c.OperState != OperDown {
		t.Errorf("container's end: %+v", c)
	}
	if id, err := host.NetnsID(ctr); err != nil || id != *h.ParentNetnsID {
		t.Errorf("the container is number %d, the link says %d: %v", id, *h.ParentNetnsID, err)
	}
	if br := link(t, host, "br0"); br.MAC.String() != "02:00:00:00:00:01" {
		t.Errorf("the bridge's MAC changed to %s", br.MAC)
	}

	must(t, ctr.SetLink(c.Index, LinkChange{Up: ptr(true)}))
	if h, err := host.WaitLink(ctx, h.Index, func(l Link) bool { return l.Running && l.OperState == OperUp }); err != nil {
		t.Errorf("host's end, when both are up: %+v: %v", h, err)
	}
	gone, err := host.DelLink(h.Index)
	if err != nil || !gone {
		t.Error(gone, err)
	}
	noLink(t, ctr, "eth0")
}

func TestVethPeerCannotBeUp(t *testing.T) {
	t.Parallel()
	n := newNS(t)
	err := n.AddLink(LinkSpec{Name: "a", Kind: VethKind{Peer: LinkSpec{Name: "b", Up: true}}})
	if !errors.Is(err, unix.ENOTCONN) {
		t.Errorf("the peer can be up now: %v", err)
	}
	noLink(t, n, "a")
	noLink(t, n, "b")
}

func TestVethNamesTaken(t *testing.T) {
	t.Parallel()
	n, o := newNS(t), newNS(t)
	addPair(t, n, "a", o, "b")
	for name, s := range map[string]LinkSpec{
		"own":    {Name: "a", Kind: VethKind{Peer: LinkSpec{Name: "c"}}},
		"peer's": {Name: "c", Kind: VethKind{Peer: LinkSpec{Name: "b", Netns: o}}},
	} {
		if err := n.AddLink(s); !Exists(err) {
			t.Errorf("%s name: %v", name, err)
		}
	}
	noLink(t, n, "c")
}

func TestLinkLookUps(t *testing.T) {
	t.Parallel()
	n := newNS(t)
	a := addLink(t, n, LinkSpec{Name: "a", Kind: IFBKind{}})
	if b, ok, err := n.LinkByIndex(a.Index); err != nil || !ok || b.Name != "a" {
		t.Error(b, ok, err)
	}
	if b, ok, err := n.LinkByIndex(a.Index + 100); err != nil || ok || b.Name != "" {
		t.Error(b, ok, err)
	}
	noLink(t, n, "fifteen-letters")
	noLink(t, n, strings.Repeat("x", 100)) // could be an alternative name
	noLink(t, n, "")
	if _, ok, err := n.Link(strings.Repeat("x", 200)); err == nil || ok {
		t.Errorf("a name longer than there can be: %v, %v", ok, err)
	}
	lo := link(t, n, "lo")
	if !lo.Loopback || lo.Up || lo.Kind != "" || lo.Info != nil || lo.MTU != 65536 || lo.Index != 1 {
		t.Errorf("%+v", lo)
	}
}

// TestLinkByAlternativeName: it is found, and no link can have that name.
func TestLinkByAlternativeName(t *testing.T) {
	t.Parallel()
	n := newNS(t)
	a := addLink(t, n, LinkSpec{Name: "a", Kind: IFBKind{}})
	long := strings.Repeat("x", 100)
	r := newRequest(unix.RTM_NEWLINKPROP, unix.NLM_F_CREATE|unix.NLM_F_EXCL|unix.NLM_F_APPEND, ifInfo(a.Index, 0, 0))
	r.nest(unix.IFLA_PROP_LIST|unix.NLA_F_NESTED, func() {
		r.str(unix.IFLA_ALT_IFNAME, "other")
		r.str(unix.IFLA_ALT_IFNAME, long)
	})
	must(t, n.change(r))
	for _, name := range []string{"other", long} {
		if l := link(t, n, name); l.Index != a.Index || l.Name != "a" || strings.Join(l.AltNames, " ") != "other "+long {
			t.Errorf("%+v", l)
		}
	}
	if err := n.AddLink(LinkSpec{Name: "other", Kind: IFBKind{}}); !Exists(err) {
		t.Error(err)
	}
}

func TestSetLink(t *testing.T) {
	t.Parallel()
	n, o := newNS(t), newNS(t)
	br := addLink(t, n, LinkSpec{Name: "br0", Kind: BridgeKind{}, Up: true})
	a, _ := addPair(t, n, "a", o, "b")
	must(t, n.SetLink(a.Index, LinkChange{Up: ptr(false)}))
	alias := "fairlead:" + strings.Repeat("x", 246)
	must(t, n.SetLink(a.Index, LinkChange{
		Name: ptr("c"), MTU: ptr(1400), MAC: mac("02:00:00:00:00:09"), Alias: &alias, Master: &br.Index, TxQLen: ptr(0),
		Promisc: ptr(true), AllMulti: ptr(true), ARP: ptr(false), AddrGenMode: ptr(AddrGenNone), Up: ptr(true),
	}))
	l := link(t, n, "c")
	if l.Index != a.Index || l.MTU != 1400 || l.MAC.String() != "02:00:00:00:00:09" || l.Alias != alias || l.Master != br.Index ||
		l.TxQLen != 0 || !l.Promisc || !l.AllMulti || !l.NoARP || l.AddrGenMode != AddrGenNone || !l.Up {
		t.Errorf("%+v", l)
	}
	must(t, n.SetLink(a.Index, LinkChange{
		Alias: ptr(""), Master: ptr(0), Promisc: ptr(false), AllMulti: ptr(false), ARP: ptr(true), Up: ptr(false),
	}))
	l = link(t, n, "c")
	if l.MTU != 1400 || l.Alias != "" || l.Master != 0 || l.Promisc || l.AllMulti || l.NoARP || l.Up || l.Promiscuity != 0 {
		t.Errorf("%+v", l)
	}
	if err := n.SetLink(a.Index, LinkChange{Alias: ptr(strings.Repeat("x", 256))}); err == nil {
		t.Error("an alias of 256 bytes")
	}
	if err := n.SetLink(a.Index+100, LinkChange{Up: ptr(true)}); !Absent(ObjectLink, err) {
		t.Errorf("no such link: %v", err)
	}
}

// TestMarkPortAndUpInOneMessage: rule 10's "a port with a policy comes up last"
// needs no more than one message after the pair is made.
func TestMarkPortAndUpInOneMessage(t *testing.T) {
	t.Parallel()
	n, o := newNS(t), newNS(t)
	br := addLink(t, n, LinkSpec{Name: "br0", Kind: BridgeKind{}, Up: true})
	must(t, n.AddLink(LinkSpec{Name: "a", Master: br.Index, Kind: VethKind{Peer: LinkSpec{Name: "b", Netns: o}}}))
	a := link(t, n, "a")
	must(t, n.SetLink(a.Index, LinkChange{
		Alias: ptr("mark"), Up: ptr(true), Port: &BridgePort{Hairpin: ptr(true), Isolated: ptr(true), Learning: ptr(false)},
	}))
	a = link(t, n, "a")
	if a.Alias != "mark" || !a.Up || !*a.Port.Hairpin || !*a.Port.Isolated || *a.Port.Learning || !*a.Port.UnicastFlood {
		t.Errorf("%+v", a)
	}
	must(t, n.SetBridgePort(a.Index, BridgePort{
		Isolated: ptr(false), Learning: ptr(true), UnicastFlood: ptr(false), McastFlood: ptr(false), BcastFlood: ptr(false),
		ProxyARP: ptr(true), NeighSuppress: ptr(true), FastLeave: ptr(true), Guard: ptr(true), RootBlock: ptr(true),
		Locked: ptr(true), Priority: ptr(uint16(7)), Cost: ptr(uint32(9)),
	}))
	p := link(t, n, "a").Port
	if *p.Isolated || !*p.Learning || *p.UnicastFlood || *p.McastFlood || *p.BcastFlood || !*p.ProxyARP || !*p.NeighSuppress ||
		!*p.FastLeave || !*p.Guard || !*p.RootBlock || !*p.Locked || *p.Priority != 7 || *p.Cost != 9 || !*p.Hairpin {
		t.Errorf("%+v", p)
	}
	lo := link(t, n, "lo")
	if err := n.SetBridgePort(lo.Index, BridgePort{Hairpin: ptr(true)}); err == nil {
		t.Error("lo is a port")
	}
	if err := n.SetBridgePort(4711, BridgePort{Hairpin: ptr(true)}); !Absent(ObjectLink, err) {
		t.Error(err)
	}
}

// TestRule11MoveThenRename: a move under the old name, and a rename there, are
// one change or two.
func TestRule11MoveThenRename(t *testing.T) {
	t.Parallel()
	for name, atOnce := range map[string]bool{"one": true, "two": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n, o := newNS(t), newNS(t)
			a := addLink(t, n, LinkSpec{Name: "a", Kind: IFBKind{}, MAC: mac("02:00:00:00:00:09")})
			c := LinkChange{Netns: o, Index: ptr(99)}
			if atOnce {
				c.Name = ptr("net0")
			}
			must(t, n.SetLink(a.Index, c))
			if !atOnce {
				must(t, o.SetLink(99, LinkChange{Name: ptr("net0")}))
			}
			noLink(t, n, "a")
			if l := link(t, o, "net0"); l.Index != 99 || !bytes.Equal(l.MAC, a.MAC) {
				t.Errorf("%+v", l)
			}
		})
	}
}

// TestMoveNameTaken: the move fails as a whole.
func TestMoveNameTaken(t *testing.T) {
	t.Parallel()
	n, o := newNS(t), newNS(t)
	a := addLink(t, n, LinkSpec{Name: "a", Kind: IFBKind{}})
	addLink(t, o, LinkSpec{Name: "a", Kind: IFBKind{}})
	if err := n.SetLink(a.Index, LinkChange{Netns: o}); !Exists(err) {
		t.Error(err)
	}
	link(t, n, "a")
}

func TestDelLink(t *testing.T) {
	t.Parallel()
	n := newNS(t)
	a := addLink(t, n, LinkSpec{Name: "a", Kind: IFBKind{}})
	for i, want := range []bool{true, false} {
		if ok, err := n.DelLink(a.Index); ok != want || err != nil {
			t.Errorf("%d: %v, %v", i, ok, err)
		}
	}
	if ok, err := n.DelLink(1); ok || err == nil {
		t.Errorf("lo was deleted: %v, %v", ok, err)
	}
}

func TestLinkLists(t *testing.T) {
	t.Parallel()
	n := newNS(t)
	br := addLink(t, n, LinkSpec{Name: "br0", Kind: BridgeKind{}})
	addLink(t, n, LinkSpec{Name: "p0", Master: br.Index, Kind: VethKind{Peer: LinkSpec{Name: "q0"}}})
	addLink(t, n, LinkSpec{Name: "i0", Kind: IFBKind{}})
	names := func(all []Link, err error) string {
		must(t, err)
		var s []string
		for _, l := range all {
			s = append(s, l.Name)
		}
		return strings.Join(s, " ")
	}
	if got := names(n.Links()); got != "lo br0 q0 p0 i0" {
		t.Error(got)
	}
	if got := names(n.LinksOfMaster(br.Index)); got != "p0" {
		t.Error(got)
	}
	if got := names(n.LinksOfMaster(br.Index + 1)); got != "" {
		t.Error(got)
	}
	if got := names(n.LinksOfKind("veth")); got != "q0 p0" {
		t.Error(got)
	}
	if got := names(n.LinksOfKind("wireguard")); got != "" {
		t.Error(got)
	}
}
