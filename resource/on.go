package resource

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"

	"github.com/fairlead-net/fairlead/engine"
	"github.com/fairlead-net/fairlead/kernel"
)

// On says which link a thing is on, and what it dies with. The kinds that live
// on a link embed it.
type On struct {
	Side Side   `json:"side"`
	Link string `json:"link"`
	// In is the Ref of what the thing dies with: the link, where it is ours.
	In engine.Ref `json:"in,omitempty"`
}

// Within answers for the kinds that embed On.
func (o On) Within() engine.Ref { return o.In }

// key is an identity on the link: "container eth0", and parts that tell apart
// several things of one kind.
func (o On) key(parts ...string) string {
	return strings.Join(append([]string{string(o.Side), o.Link}, parts...), " ")
}

// ordinal tells apart things whose value may be unknown at DEL (rule 3).
func ordinal(n int) string { return "#" + strconv.Itoa(n) }

// errNoLink is answered where a link is missing that something is to be put on.
var errNoLink = errors.New("there is no such link")

// find looks the link up. That it is not there is a fact, not an error.
func (o On) find(env Env) (*kernel.Namespace, kernel.Link, bool, error) {
	ns, err := env.At(o.Side)
	if err != nil {
		return nil, kernel.Link{}, false, err
	}
	link, ok, err := ns.Link(o.Link)
	return ns, link, ok, err
}

// recorded looks up the link that had the index on record, whatever it is called
// by now: another one of its name never had what is on record. kind is what it
// was then; "" says nothing. Without an index it goes by name.
func (o On) recorded(env Env, index int, kind string) (*kernel.Namespace, kernel.Link, bool, error) {
	if index == 0 {
		return o.find(env)
	}
	ns, err := env.At(o.Side)
	if err != nil {
		return nil, kernel.Link{}, false, err
	}
	link, ok, err := ns.LinkByIndex(index)
	return ns, link, ok && (kind == "" || link.Kind == kind), err
}

// need looks the link up; that it is missing is an error.
func (o On) need(env Env) (*kernel.Namespace, kernel.Link, error) {
	ns, link, ok, err := o.find(env)
	if err == nil && !ok {
		err = fmt.Errorf("%s in the %s namespace: %w", o.Link, o.Side, errNoLink)
	}
	return ns, link, err
}

// unsure is how a failed first change of a Create is reported: where no answer
// was read, it may have been done.
func unsure(err error) error {
	if kernel.Unanswered(err) {
		return engine.Partial(err)
	}
	return err
}

// drift collects what differs from what is wanted.
type drift []string

func (d *drift) add(format string, args ...any) {
	*d = append(*d, fmt.Sprintf(format, args...))
}

// member compares what the link is a port of, or which VRF it is in; "" is
// neither.
func (d *drift) member(ns *kernel.Namespace, link kernel.Link, bridge, vrf string) error {
	above := first(bridge, vrf)
	if above == "" {
		return nil
	}
	master, ok, err := ns.Link(above)
	if err != nil || ok && link.Master == master.Index {
		if ok && vrf != "" && zoneOf(master.Group) != 0 && link.Group != master.Group {
			d.add("%s is not in the zone of VRF %s", link.Name, vrf)
		}
		if err == nil && bridge != "" {
			err = d.noVLAN(ns, master, link)
		}
		return err
	}
	if bridge != "" {
		d.add("%s is no port of %s", link.Name, bridge)
	} else {
		d.add("%s is not in VRF %s", link.Name, vrf)
	}
	return nil
}

// noVLAN is for a port of a bridge, or the bridge itself, to which no frame can
// come: the bridge filters VLANs, and it is in none. An operator's bridge puts new
// ports in none where its default_pvid is 0.
func (d *drift) noVLAN(ns *kernel.Namespace, bridge, link kernel.Link) error {
	if !filtersVLANs(bridge) {
		return nil
	}
	vlans, err := ns.BridgeVLANs(link.Index)
	if err == nil && len(vlans) == 0 {
		d.add("%s is in no VLAN, and %s filters them", link.Name, bridge.Name)
	}
	return err
}

// state is Present, or Drifted with every difference named.
func (d drift) state() engine.State {
	if len(d) == 0 {
		return engine.Present()
	}
	return engine.Drifted(strings.Join(d, "; "))
}

// mac compares a link's hardware address with want; "" wants nothing.
func (d *drift) mac(link kernel.Link, want string) {
	if want == "" {
		return
	}
	if mac, err := net.ParseMAC(want); err != nil || !bytes.Equal(mac, link.MAC) {
		d.add("the MAC address of %s is %s, want %s", link.Name, link.MAC, want)
	}
}

// mtu compares a link's MTU with want; 0 and AnyMTU want nothing.
func (d *drift) mtu(link kernel.Link, want int) {
	if want > 0 && link.MTU != want {
		d.add("the mtu of %s is %d, want %d", link.Name, link.MTU, want)
	}
}

// first is the first of a and b that states something.
func first[T comparable](a, b T) T {
	var zero T
	if a != zero {
		return a
	}
	return b
}
