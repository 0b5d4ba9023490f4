package ipvlan

import (
	"slices"
	"strings"

	"github.com/fairlead-net/fairlead/cni"
	"github.com/fairlead-net/fairlead/resource"
)

// config is what the README documents, key by key.
type config struct {
	Master          string `json:"master"`
	Mode            string `json:"mode"`
	MTU             int    `json:"mtu"`
	LinkInContainer bool   `json:"linkInContainer"`
}

func parse(req *cni.Request) (*config, error) {
	c := &config{}
	if err := req.Decode(c); err != nil {
		return nil, err
	}
	if req.Removes() {
		return c, nil // the interface is known by its name
	}
	modes := resource.IPVlanModes()
	if c.Mode == "" {
		c.Mode = modes[0]
	}
	if !slices.Contains(modes, c.Mode) {
		return nil, cni.Errorf(cni.CodeConfig, "mode %q is none of %s", c.Mode, strings.Join(modes, ", "))
	}
	if err := cni.ValidateMaster(c.Master); err != nil {
		return nil, err
	}
	if err := cni.ValidateMTU(c.MTU); err != nil {
		return nil, err
	}
	if req.Verb == cni.Add {
		return c, c.readPrevious(req)
	}
	return c, nil
}

// readPrevious takes from the plugin before what the configuration leaves out:
// the master, and the addresses.
func (c *config) readPrevious(req *cni.Request) error {
	prev := req.Conf.PrevResult
	if c.Master == "" && prev != nil {
		if len(prev.Interfaces) != 1 || prev.Interfaces[0].Name == "" {
			return cni.Errorf(cni.CodeConfig, "ipvlan wants master: prevResult has %d interfaces, and not the one to take", len(prev.Interfaces))
		}
		c.Master = prev.Interfaces[0].Name
	}
	if req.Conf.IPAM.Type == "" && (prev == nil || len(prev.IPs) == 0) {
		return cni.Errorf(cni.CodeConfig, "ipvlan wants addresses: from ipam, or from a plugin before it in the list")
	}
	return cni.ValidateMaster(c.Master)
}
