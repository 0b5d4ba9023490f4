package main

import (
	"maps"

	"github.com/fairlead-net/fairlead/cni"
	"github.com/fairlead-net/fairlead/ipam"
	"github.com/fairlead-net/fairlead/plugin/bridge"
	"github.com/fairlead-net/fairlead/plugin/dummy"
	hostdevice "github.com/fairlead-net/fairlead/plugin/host-device"
	hostlocal "github.com/fairlead-net/fairlead/plugin/host-local"
	"github.com/fairlead-net/fairlead/plugin/ipvlan"
	"github.com/fairlead-net/fairlead/plugin/loopback"
	"github.com/fairlead-net/fairlead/plugin/macvlan"
	"github.com/fairlead-net/fairlead/plugin/ptp"
	"github.com/fairlead-net/fairlead/plugin/sbr"
	"github.com/fairlead-net/fairlead/plugin/static"
	"github.com/fairlead-net/fairlead/plugin/tap"
	"github.com/fairlead-net/fairlead/plugin/tuning"
	"github.com/fairlead-net/fairlead/plugin/vlan"
	"github.com/fairlead-net/fairlead/plugin/vpc"
	"github.com/fairlead-net/fairlead/plugin/vrf"
	"github.com/fairlead-net/fairlead/resource"
)

// allPlugins is the table of plugins, in the order that people see.
func allPlugins() []cni.Plugin {
	return []cni.Plugin{
		loopback.Plugin(), bridge.Plugin(), ptp.Plugin(),
		macvlan.Plugin(), ipvlan.Plugin(), vlan.Plugin(), dummy.Plugin(), tap.Plugin(), hostdevice.Plugin(), vpc.Plugin(),
		vrf.Plugin(), sbr.Plugin(), tuning.Plugin(),
		hostlocal.Plugin(), static.Plugin(),
	}
}

func findPlugin(name string) (cni.Plugin, bool) {
	for _, p := range allPlugins() {
		if p.Name == name {
			return p, true
		}
	}
	return cni.Plugin{}, false
}

// kinds puts together the codecs of every kind that the journal may hold.
func kinds() map[string]func() resource.Resource {
	all := resource.Kinds()
	maps.Copy(all, ipam.Kinds())
	return all
}
