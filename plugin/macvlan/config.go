package macvlan

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
	MAC             string `json:"mac"`
	LinkInContainer bool   `json:"linkInContainer"`
	BCQueueLen      uint32 `json:"bcqueuelen"`
	RuntimeConfig   struct {
		MAC string `json:"mac"`
	} `json:"runtimeConfig"`
}

func parse(req *cni.Request) (*config, error) {
	c := &config{}
	if err := req.Decode(c); err != nil {
		return nil, err
	}
	if req.Removes() {
		return c, nil // the interface is known by its name
	}
	modes := resource.MacvlanModes()
	if c.Mode == "" {
		c.Mode = modes[0]
	}
	if !slices.Contains(modes, c.Mode) {
		return nil, cni.Errorf(cni.CodeConfig, "mode %q is none of %s", c.Mode, strings.Join(modes, ", "))
	}
	if err := c.readMAC(req); err != nil {
		return nil, err
	}
	if err := cni.ValidateMaster(c.Master); err != nil {
		return nil, err
	}
	return c, cni.ValidateMTU(c.MTU)
}

// readMAC: the runtime's word counts most, that of the configuration least.
func (c *config) readMAC(req *cni.Request) error {
	if arg := req.Arg("MAC"); arg != "" {
		c.MAC = arg
	}
	if c.RuntimeConfig.MAC != "" {
		c.MAC = c.RuntimeConfig.MAC
	}
	mac, err := cni.ParseMAC(c.MAC)
	if mac != nil {
		c.MAC = mac.String()
	}
	return err
}
