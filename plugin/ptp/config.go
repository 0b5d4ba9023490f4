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
	if req.Removes() {
		return c, nil // what ADD refuses must not keep what is there
	}
	if req.Conf.IPAM.Type == "" {
		return nil, cni.Errorf(cni.CodeConfig, "ptp wants ipam: it is nothing but a link between two addresses")
	}
	if err := cni.ValidateMTU(c.MTU); err != nil {
		return nil, err
	}
	return c, cni.ValidateMasqBackend(c.IPMasqBackend)
}
