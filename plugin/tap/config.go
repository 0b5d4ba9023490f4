package tap

import (
	"fmt"
	"net"
	"strings"

	"github.com/fairlead-net/fairlead/cni"
)

// config is what the README documents, key by key.
type config struct {
	MultiQueue     bool    `json:"multiQueue"`
	MTU            int     `json:"mtu"`
	MAC            string  `json:"mac"`
	Owner          *uint32 `json:"owner"`
	Group          *uint32 `json:"group"`
	SELinuxContext string  `json:"selinuxContext"`
	Bridge         string  `json:"bridge"`

	Args struct {
		CNI struct {
			MAC string `json:"mac"`
		} `json:"cni"`
	} `json:"args"`
	RuntimeConfig struct {
		MAC string `json:"mac"`
	} `json:"runtimeConfig"`

	mac net.HardwareAddr
}

func parse(req *cni.Request) (*config, error) {
	c := &config{}
	if err := req.Decode(c); err != nil {
		return nil, err
	}
	if req.Removes() {
		return c, nil // the device is known by its name
	}
	if err := cni.ValidateMTU(c.MTU); err != nil {
		return nil, err
	}
	if c.Bridge != "" {
		if err := cni.ValidateIfName(c.Bridge); err != nil {
			return nil, fmt.Errorf("bridge: %w", err)
		}
	}
	if strings.ContainsAny(c.SELinuxContext, "\x00\n") {
		return nil, cni.Errorf(cni.CodeConfig, "selinuxContext %q has a line's end or a zero byte", c.SELinuxContext)
	}
	return c, c.readMAC(req)
}

// readMAC: the runtime's word counts most, the configuration's own least.
func (c *config) readMAC(req *cni.Request) error {
	mac := c.MAC
	for _, word := range []string{req.Arg("MAC"), c.Args.CNI.MAC, c.RuntimeConfig.MAC} {
		if word != "" {
			mac = word
		}
	}
	var err error
	c.mac, err = cni.ParseMAC(mac)
	return err
}
