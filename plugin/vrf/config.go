package vrf

import (
	"fmt"

	"github.com/fairlead-net/fairlead/cni"
	"github.com/fairlead-net/fairlead/resource"
)

// config is what the README documents, key by key.
type config struct {
	VRFName string `json:"vrfname"`
	Table   uint32 `json:"table"`
}

func parse(req *cni.Request) (*config, error) {
	c := &config{}
	if err := req.Decode(c); err != nil {
		return nil, err
	}
	err := c.checkName()
	if req.Removes() {
		if err != nil {
			c.VRFName = "" // no VRF can have it, so there is nothing to remove
		}
		return c, nil
	}
	if err != nil {
		return nil, err
	}
	if resource.KernelTable(c.Table) {
		return nil, fmt.Errorf("table %d is one that the kernel uses by itself: 253 to 255 can't be a VRF's", c.Table)
	}
	return c, nil
}

func (c *config) checkName() error {
	if c.VRFName == "" {
		return fmt.Errorf("vrfname is missing")
	}
	if err := cni.ValidateIfName(c.VRFName); err != nil {
		return fmt.Errorf("vrfname: %w", err)
	}
	return nil
}
