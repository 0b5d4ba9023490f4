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
	if c.VRFName == "" {
		return nil, fmt.Errorf("vrfname is missing")
	}
	if err := cni.ValidateIfName(c.VRFName); err != nil {
		return nil, fmt.Errorf("vrfname: %w", err)
	}
	if resource.KernelTable(c.Table) {
		return nil, fmt.Errorf("table %d is one that the kernel uses by itself: 253 to 255 can't be a VRF's", c.Table)
	}
	return c, nil
}
