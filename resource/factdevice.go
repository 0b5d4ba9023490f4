package resource

import (
	"context"
	"fmt"
)

// FindDevice is the fact of a device of the host that is to be moved.
type FindDevice struct {
	Wanted DeviceSelector
	// Config: what is configured on it is to be found too.
	Config bool
	sys    sysfs
}

// HostDevice is what FindDevice finds.
type HostDevice struct {
	Name  string `json:"name,omitempty"` // on the host
	Index int    `json:"index,omitempty"`
	// Driver is the userspace driver that has the device: it has no interface.
	Driver string `json:"driver,omitempty"`
	// Config is what is configured on it, where that was asked for.
	Config *DeviceConfig `json:"config,omitempty"`
}

func (FindDevice) Name() string { return "host-device" }

// Lock keeps two calls from finding one device before either has moved it.
// Those that name it in different ways find out when they move it.
func (f FindDevice) Lock() string { return "host-" + f.Wanted.String() }

// Find looks it up.
func (f FindDevice) Find(_ context.Context, env Env) (any, error) {
	host, err := env.At(Host)
	if err != nil {
		return nil, err
	}
	link, driver, err := f.Wanted.find(host, f.sys)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.Wanted, err)
	}
	if link.Loopback {
		return nil, fmt.Errorf("%s: the loopback interface can't be moved", f.Wanted)
	}
	found := HostDevice{Name: link.Name, Index: link.Index, Driver: driver}
	if f.Config && driver == "" {
		found.Config, err = configOf(host, link)
	}
	return found, err
}
