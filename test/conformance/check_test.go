package conformance

import (
	"context"
	"testing"

	"github.com/fairlead-net/fairlead/test/host"
)

func spec14(tr *trial) {
	a := tr.attach()
	r := a.MustAdd(tr)
	silent(tr, "CHECK", a.Check(r))
	moved := r.Clone()
	moved.IPs()[0]["address"] = "10.99.0.77/24"
	mustFail(tr, "CHECK with another address in prevResult", a.Check(moved))
	if tr.interfaces == nil {
		return
	}
	if tr.inside() {
		renamed := r.Clone()
		renamed.Interfaces()[tr.addressOf]["name"] = "other0"
		mustFail(tr, "CHECK with another interface in prevResult", a.Check(renamed))
	}
	if len(r.Routes()) > 0 && tr.inside() {
		rerouted := r.Clone()
		rerouted.Routes()[0]["dst"] = "198.51.100.0/24"
		mustFail(tr, "CHECK with another route in prevResult", a.Check(rerouted))
	}
	if tr.name != "loopback" {
		remade := r.Clone()
		remade.Interfaces()[tr.addressOf]["mac"] = "02:00:00:00:00:77"
		mustFail(tr, "CHECK with another MAC address in prevResult", a.Check(remade))
	}
}

// spec15: a later plugin changes the MAC address and the MTU, adds an address,
// a route and an interface, and says so in its result.
func spec15(tr *trial) {
	a := tr.attach()
	r := a.MustAdd(tr).Clone()
	list, _ := r["interfaces"].([]any)
	if tr.interfaces == nil {
		// An IPAM plugin sees the interfaces of those that called it.
		r["interfaces"] = append(list, map[string]any{"name": "eth0", "sandbox": a.Netns})
		r.IPs()[0]["interface"] = 0
		silent(tr, "CHECK", a.Check(r))
		return
	}
	r["interfaces"] = append(list, map[string]any{"name": "late0", "sandbox": a.Netns})
	tr.h.MustRunIn(a.Netns, "ip", "link", "add", "late0", "type", "veth", "peer", "name", "late1")
	if tr.name != "loopback" && tr.inside() {
		own := r.Interfaces()[tr.addressOf]
		own["mtu"] = 1400
		tr.h.MustRunIn(a.Netns, "ip", "link", "set", a.IfName, "mtu", "1400")
		if !tr.sharesMAC {
			own["mac"] = "02:00:00:00:00:15"
			tr.h.MustRunIn(a.Netns, "ip", "link", "set", a.IfName, "address", "02:00:00:00:00:15")
		}
		tr.h.MustRunIn(a.Netns, "ip", "address", "add", "203.0.113.5/24", "dev", a.IfName)
		tr.h.MustRunIn(a.Netns, "ip", "route", "add", "198.51.100.0/24", "via", "203.0.113.1", "dev", a.IfName)
		ips, _ := r["ips"].([]any)
		r["ips"] = append(ips, map[string]any{"address": "203.0.113.5/24", "interface": tr.addressOf})
		routes, _ := r["routes"].([]any)
		r["routes"] = append(routes, map[string]any{"dst": "198.51.100.0/24", "gw": "203.0.113.1"})
	}
	silent(tr, "CHECK", a.Check(r))
}

func spec16(tr *trial) { tr.breakAll(16) }
func spec17(tr *trial) { tr.breakAll(17) }
func spec18(tr *trial) { tr.breakAll(18) }

func (tr *trial) breakAll(number int) {
	for _, b := range tr.breakages {
		if b.number != number {
			continue
		}
		tr.Run(b.name, func(t *testing.T) {
			t.Parallel()
			tr := tr.again(t)
			a := tr.attach(b.changes...)
			r := a.MustAdd(t)
			silent(t, "CHECK of what is healthy", a.Check(r))
			b.do(a, r)
			mustFail(t, "CHECK", a.Check(r))
		})
	}
}

func spec19(tr *trial) {
	for _, v := range since(versions, "0.4.0") {
		tr.Run(v, func(t *testing.T) {
			t.Parallel()
			tr := tr.again(t)
			a := tr.attach("cniVersion", v)
			c, list, ctx := tr.h.Libcni(tr.dir), a.List(t), context.Background()
			if _, err := c.AddNetworkList(ctx, list, a.Runtime()); err != nil {
				t.Fatalf("ADD: %v", err)
			}
			if err := c.CheckNetworkList(ctx, list, a.Runtime()); err != nil {
				t.Errorf("CHECK: %v", err)
			}
		})
	}
}

func spec20(tr *trial) {
	a, records := tr.recorded(refuses("CHECK")...)
	r := a.MustAdd(tr)
	contains(tr, mustFail(tr, "CHECK whose delegate fails", a.Check(r), 113), "the recorder refuses CHECK")
	got := host.Records(tr, records, "CHECK")
	if len(got) != 1 {
		tr.Fatalf("the delegate got %d CHECKs, want 1", len(got))
	}
	if got[0].Stdin["prevResult"] == nil {
		tr.Error("the delegate got no prevResult")
	}
}
