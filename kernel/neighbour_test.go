package kernel

import (
	"errors"
	"net"
	"reflect"
	"testing"

	"golang.org/x/sys/unix"
)

func TestNeighbours(t *testing.T) {
	t.Parallel()
	n, a := routed(t)
	for name, e := range map[string]Neighbour{
		"IPv4":       {Addr: addr("192.0.2.7"), MAC: mac("02:00:00:00:00:07")},
		"IPv6":       {Addr: addr("2001:db8::7"), MAC: mac("02:00:00:00:00:07"), Router: true, Protocol: 77},
		"stale":      {Addr: addr("192.0.2.8"), MAC: mac("02:00:00:00:00:08"), State: unix.NUD_STALE},
		"proxy":      {Addr: addr("192.0.2.9"), Proxy: true},
		"proxy IPv6": {Addr: addr("2001:db8::9"), Proxy: true},
	} {
		e.Link = a.Index
		must(t, n.AddNeighbour(e))
		want := e
		if want.State == 0 && !e.Proxy {
			want.State = unix.NUD_PERMANENT
		}
		got, ok, err := n.Neighbour(Neighbour{Link: a.Index, Addr: e.Addr, Proxy: e.Proxy})
		if err != nil || !ok || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, want %+v, %v", name, got, want, err)
		}
		if err := n.AddNeighbour(e); !Exists(err) && !e.Proxy {
			t.Errorf("%s: added twice: %v", name, err)
		}
		if !e.Proxy {
			e.MAC = mac("02:00:00:00:00:99")
			must(t, n.ReplaceNeighbour(e))
			all, err := n.Neighbours(a.Index)
			if err != nil || !hasMAC(all, e.MAC) {
				t.Errorf("%s: %+v, %v", name, all, err)
			}
		}
		for i, want := range []bool{true, false} {
			if ok, err := n.DelNeighbour(e); ok != want || err != nil {
				t.Errorf("%s: removal %d: %v, %v", name, i+1, ok, err)
			}
		}
		if got, ok, err := n.Neighbour(e); ok || err != nil {
			t.Errorf("%s: %+v, %v, %v", name, got, ok, err)
		}
	}
}

func hasMAC(all []Neighbour, m net.HardwareAddr) bool {
	for _, e := range all {
		if e.MAC.String() == m.String() {
			return true
		}
	}
	return false
}

func TestNeighbourAbsence(t *testing.T) {
	t.Parallel()
	n, a := routed(t)
	for _, e := range []Neighbour{
		{Link: 4711, Addr: addr("192.0.2.7")}, {Link: 4711, Addr: addr("2001:db8::7")},
		{Link: a.Index, Addr: addr("192.0.2.7")}, {Link: a.Index, Addr: addr("192.0.2.7"), Proxy: true},
	} {
		if _, ok, err := n.Neighbour(e); ok || err != nil {
			t.Errorf("%+v: %v, %v", e, ok, err)
		}
		if ok, err := n.DelNeighbour(e); ok || err != nil {
			t.Errorf("%+v: %v, %v", e, ok, err)
		}
	}
	if all, err := n.Neighbours(4711); err != nil || len(all) != 0 {
		t.Error(all, err)
	}
	if err := n.AddNeighbour(Neighbour{Link: 4711, Addr: addr("192.0.2.7"), MAC: mac("02:00:00:00:00:07")}); !Absent(ObjectLink, err) {
		t.Error(err)
	}
	if err := n.AddNeighbour(Neighbour{Link: a.Index}); !errors.Is(err, unix.EINVAL) {
		t.Error(err)
	}
}

func TestFDB(t *testing.T) {
	t.Parallel()
	n := newNS(t)
	br := addLink(t, n, LinkSpec{Name: "br0", Kind: BridgeKind{}, Up: true})
	vx := addLink(t, n, LinkSpec{Name: "vx0", Kind: VXLANKind{VNI: 7, Port: 4789}, Master: br.Index, Up: true})
	m := mac("02:00:00:00:00:07")
	for name, e := range map[string]FDBEntry{
		"port":   {MAC: m},
		"learnt": {MAC: m, ExtLearned: true, State: unix.NUD_REACHABLE},
		"tunnel": {MAC: m, Self: true, Dst: addr("192.0.2.9")},
	} {
		e.Link = vx.Index
		must(t, n.AddFDB(e))
		if err := n.AddFDB(e); !Exists(err) && !e.ExtLearned {
			t.Errorf("%s: added twice: %v", name, err)
		}
		must(t, n.ReplaceFDB(e))
		found := false
		all, err := n.FDB(vx.Index)
		must(t, err)
		for _, x := range all {
			if x.MAC.String() == m.String() {
				found = true
				if x.Self != e.Self || x.Dst != e.Dst || x.ExtLearned != e.ExtLearned {
					t.Errorf("%s: %+v", name, x)
				}
			}
		}
		if !found {
			t.Errorf("%s: not in %+v", name, all)
		}
		for i, want := range []bool{true, false} {
			if ok, err := n.DelFDB(e); ok != want || err != nil {
				t.Errorf("%s: removal %d: %v, %v", name, i+1, ok, err)
			}
		}
	}
	all0 := FDBEntry{Link: vx.Index, MAC: mac("00:00:00:00:00:00"), Self: true, Dst: addr("192.0.2.9")}
	must(t, n.AppendFDB(all0))
	all0.Dst = addr("192.0.2.10")
	must(t, n.AppendFDB(all0))
	if ok, err := n.DelFDB(FDBEntry{Link: 4711, MAC: m}); ok || err != nil {
		t.Error(ok, err)
	}
	if all, err := n.FDB(4711); err != nil || len(all) != 0 {
		t.Error(all, err)
	}
}
