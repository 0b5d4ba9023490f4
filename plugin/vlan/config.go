package vlan

import "github.com/fairlead-net/fairlead/cni"

// vlanMax is the highest VLAN that may be used: 4095 is reserved (IEEE 802.1Q).
const vlanMax = 4094

// config is what the README documents, key by key.
type config struct {
	Master          string `json:"master"`
	VLANID          int    `json:"vlanId"`
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
	switch {
	case c.Master == "":
		return nil, cni.Errorf(cni.CodeConfig, "vlan wants master: the interface that the VLAN is on")
	case c.VLANID < 0 || c.VLANID > vlanMax:
		return nil, cni.Errorf(cni.CodeConfig, "vlanId %d is not within 0 and %d", c.VLANID, vlanMax)
	}
	if err := cni.ValidateMaster(c.Master); err != nil {
		return nil, err
	}
	return c, cni.ValidateMTU(c.MTU)
}
