package ptp

import (
	"github.com/fairlead-net/fairlead/cni"
)

// config is what the README documents, key by key.
type config struct {
	IPMasq        bool    `json:"ipMasq"`
	IPMasqBackend *string `json:"ipMasqBackend"`
	MTU           int     `json:"mtu"`
}

func parse(req *cni.Request) (*config, error) {
	c := &config{}
	if err := req.Decode(c); err != nil {
		return nil, err
	}
	if req.Conf.IPAM.Type == "" {
		return nil, cni.Errorf(cni.CodeConfig, "ptp wants ipam: it is nothing but a link between two addresses")
	}
	if c.MTU < 0 || c.MTU > 65535 {
		return nil, cni.Errorf(cni.CodeConfig, "mtu %d is not within 0 and 65535", c.MTU)
	}
	return c, cni.ValidateMasqBackend(c.IPMasqBackend)
}
