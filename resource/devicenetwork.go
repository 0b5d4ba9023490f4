package resource

import (
	"context"

	"github.com/fairlead-net/fairlead/engine"
	"github.com/fairlead-net/fairlead/kernel"
)

// DeviceNetwork is all that is configured on a moved device in the container:
// addresses, and the routes that go with them. The device lives on, so they are
// taken off it, before it goes back; with the namespace they are gone, wherever
// the device is (rules 4 and 5).
type DeviceNetwork struct {
	Name string `json:"name"` // of the device in the container
	// Driver is the userspace driver that has the device: there is nothing to
	// configure.
	Driver string `json:"driver,omitempty"`
	// Index is what Create saw: a hint.
	Index int `json:"index,omitempty"`
}

const deviceNetworkKind = "device-network.1"

func (n *DeviceNetwork) Kind() string       { return deviceNetworkKind }
func (n *DeviceNetwork) Key() string        { return n.Name }
func (n *DeviceNetwork) Within() engine.Ref { return Sandbox }

// On is where things on the device are.
func (n *DeviceNetwork) On() On {
	return On{Side: Container, Link: n.Name, In: engine.MakeRef(deviceNetworkKind, n.Name)}
}

// Create makes nothing: what is configured says so itself.
func (n *DeviceNetwork) Create(_ context.Context, env Env) error {
	if n.Driver != "" {
		return nil
	}
	_, link, err := n.On().need(env)
	n.Index = link.Index
	return err
}

func (n *DeviceNetwork) Observe(_ context.Context, env Env) (engine.State, error) {
	if n.Driver != "" {
		return engine.Present(), nil
	}
	container, err := env.At(Container)
	if err != nil {
		return engine.State{}, err
	}
	link, err := n.find(env, container)
	if err != nil || link == nil {
		return absentUnless(err)
	}
	return engine.Present(), nil
}

// Remove takes every address off the device: none is the host's.
func (n *DeviceNetwork) Remove(_ context.Context, env Env) error {
	if n.Driver != "" {
		return nil
	}
	container, err := env.At(Container)
	if err != nil {
		return err
	}
	link, err := n.find(env, container)
	if err != nil || link == nil {
		return err
	}
	all, err := container.Addresses(link.Index)
	if err != nil {
		return ignoreGone(err)
	}
	for _, a := range all {
		if _, err := container.DelAddress(a); err != nil && ignoreGone(err) != nil {
			return err
		}
	}
	return nil
}

// find gives the device, by the index that Create saw; without that, by its
// name and mark.
func (n *DeviceNetwork) find(env Env, ns *kernel.Namespace) (*kernel.Link, error) {
	if n.Index != 0 {
		link, ok, err := ns.LinkByIndex(n.Index)
		if err != nil || !ok {
			return nil, err
		}
		return &link, nil
	}
	link, ok, err := ns.Link(n.Name)
	if err != nil || !ok || link.Name != n.Name || homeOf(link) == "" {
		return nil, err
	}
	if claimed, err := env.claimed(n.Name); err != nil || claimed {
		return nil, err
	}
	return &link, nil
}
