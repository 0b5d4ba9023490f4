package kernel

import (
	"errors"
	"os"
	"reflect"
	"testing"

	"golang.org/x/sys/unix"
)

// kindCase is a link of a kind: how it is made, and how it then is.
type kindCase struct {
	kind LinkKind
	want LinkKind // what a look-up tells; kind if nil
	// parent is wanted below it.
	parent bool
	// twice: how a second one is refused, unless by EEXIST.
	twice unix.Errno
	// noMAC: it has no Ethernet address, or none of its own.
	noMAC bool
}

// testKinds makes each kind at home, in another namespace by IFLA_NET_NS_FD,
// and, where it has a parent, on the socket of the other namespace (rule 12).
func testKinds(t *testing.T, cases map[string]kindCase) {
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			t.Run("at home", func(t *testing.T) { testKind(t, c, 0) })
			t.Run("sent away", func(t *testing.T) { testKind(t, c, 1) })
			if c.parent {
				t.Run("TestRule12StraightIntoTheContainer", func(t *testing.T) { testKind(t, c, 2) })
			}
		})
	}
}

func testKind(t *testing.T, c kindCase, way int) {
	host, ctr := newNS(t), newNS(t)
	s := LinkSpec{Name: "x0", Kind: c.kind, MTU: 1280}
	if !c.noMAC {
		s.MAC = mac("02:00:00:00:00:09")
	}
	if c.parent {
		p, _ := addPair(t, host, "p0", host, "p1")
		s.Parent = p.Index
	}
	from, at := host, host
	switch way {
	case 1:
		s.Netns, at = ctr, ctr
	case 2:
		s.ParentNetns, s.Via, from, at = host, "y0", ctr, ctr
		// The host may have a link of this name.
		addLink(t, host, LinkSpec{Name: "x0", Kind: IFBKind{}})
	}
	err := from.AddLink(s)
	if !requireKind(t, c.kind.Kind(), err) {
		return
	}
	l := link(t, at, "x0")
	want := c.want
	if want == nil {
		want = c.kind
	}
	if l.Kind != c.kind.Kind() || !reflect.DeepEqual(l.Info, want) {
		t.Errorf("%s %+v, want %+v", l.Kind, l.Info, want)
	}
	if l.MTU != 1280 || c.parent && l.Parent != s.Parent || !c.noMAC && l.MAC.String() != s.MAC.String() {
		t.Errorf("%+v", l)
	}
	if err := from.AddLink(s); !Exists(err) && (c.twice == 0 || !errors.Is(err, c.twice)) {
		t.Errorf("made twice: %v", err)
	}
	noLink(t, at, "y0")
	must(t, at.SetLink(l.Index, LinkChange{Up: ptr(true), Alias: ptr("mark")}))
	if l := link(t, at, "x0"); !l.Up || l.Alias != "mark" {
		t.Errorf("%+v", l)
	}
	if ok, err := at.DelLink(l.Index); !ok || err != nil {
		t.Error(ok, err)
	}
	noLink(t, at, "x0")
}

func TestKinds(t *testing.T) {
	t.Parallel()
	testKinds(t, map[string]kindCase{
		"ifb":      {kind: IFBKind{}},
		"macvlan":  {kind: MacvlanKind{Mode: MacvlanBridge, BCQueueLen: 2000}, parent: true},
		"private":  {kind: MacvlanKind{Mode: MacvlanPrivate}, want: MacvlanKind{Mode: MacvlanPrivate, BCQueueLen: 1000}, parent: true},
		"passthru": {kind: MacvlanKind{Mode: MacvlanPassthru}, want: MacvlanKind{Mode: MacvlanPassthru, BCQueueLen: 1000}, parent: true, noMAC: true, twice: unix.EINVAL},
		"vxlan": {
			kind: VXLANKind{VNI: 7, Local: addr("192.0.2.1"), Remote: addr("192.0.2.2"), Port: 4789, TTL: 3, TOS: 4, Learning: true, UDPChecksum: ptr(false)},
		},
		"vxlan over IPv6": {
			kind: VXLANKind{VNI: 8, Local: addr("2001:db8::1"), Remote: addr("2001:db8::2"), Port: 4790, L2Miss: true, L3Miss: true, Proxy: true, UDPChecksum: ptr(true)},
		},
		"vxlan by packet": {
			kind: VXLANKind{CollectMetadata: true, Port: 4791, UDPChecksum: ptr(true)},
		},
	})
}

func TestBridgeKind(t *testing.T) {
	t.Parallel()
	n := newNS(t)
	br := addLink(t, n, LinkSpec{Name: "br0", Kind: BridgeKind{AgeingTime: ptr(uint32(0)), McastSnooping: ptr(false)}})
	k, ok := br.Info.(BridgeKind)
	if !ok || *k.AgeingTime != 0 || *k.McastSnooping || k.VLANFiltering {
		t.Errorf("%+v", br.Info)
	}
	must(t, n.SetLink(br.Index, LinkChange{Info: BridgeKind{AgeingTime: ptr(uint32(500))}}))
	if k := link(t, n, "br0").Info.(BridgeKind); *k.AgeingTime != 500 || *k.McastSnooping {
		t.Errorf("%+v", k)
	}
}

func TestUnknownKind(t *testing.T) {
	t.Parallel()
	n := newNS(t)
	if err := n.AddLink(LinkSpec{Name: "a", Kind: UnknownKind("none")}); !Unsupported(err) {
		t.Error(err)
	}
	if err := n.AddLink(LinkSpec{Name: "a"}); !errors.Is(err, unix.EINVAL) {
		t.Error(err)
	}
	// One that a kernel knows, and we do not describe: IFLA_INFO_KIND alone.
	var l Link
	must(t, l.info(append([]byte{11, 0, unix.IFLA_INFO_KIND, 0}, "netkit\x00\x00"...)))
	if l.Kind != "netkit" || l.Info != UnknownKind("netkit") {
		t.Errorf("%+v", l)
	}
}

// TestRule12ParentElsewhere: a parent that is not there, and one that can't be
// asked for, are errors.
func TestRule12ParentElsewhere(t *testing.T) {
	t.Parallel()
	host, ctr := newNS(t), newNS(t)
	s := LinkSpec{Name: "a", Kind: MacvlanKind{Mode: MacvlanBridge}, Parent: 99, ParentNetns: host}
	if err := ctr.AddLink(s); !Absent(ObjectLink, err) {
		t.Error(err)
	}
	closed, err := Create("")
	must(t, err)
	must(t, closed.Close())
	s.ParentNetns = closed
	if err := ctr.AddLink(s); err == nil || errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	noLink(t, ctr, "a")
}

func TestNetnsID(t *testing.T) {
	t.Parallel()
	a, b, c := newNS(t), newNS(t), newNS(t)
	ids := map[int]bool{}
	for _, o := range []*Namespace{b, c} {
		id, err := a.NetnsID(o)
		must(t, err)
		again, err := a.NetnsID(o)
		must(t, err)
		if id < 0 || again != id || ids[id] {
			t.Errorf("number %d, then %d", id, again)
		}
		ids[id] = true
	}
	if _, err := b.NetnsID(c); err != nil {
		t.Error(err)
	}
}
