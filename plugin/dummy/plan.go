// Package dummy is the dummy plugin: an interface that leads nowhere, for
// addresses that the container is to have. See README.md.
package dummy

import (
	"github.com/fairlead-net/fairlead/cni"
	"github.com/fairlead-net/fairlead/resource"
)

// Plugin is the dummy plugin.
func Plugin() cni.Plugin {
	return cni.Plugin{
		Name:  "dummy",
		About: "an interface that leads nowhere, to hold addresses",
		Prepare: func(req *cni.Request) (cni.Statement, error) {
			if req.Conf.IPAM.Type == "" && !req.Removes() {
				return nil, cni.Errorf(cni.CodeConfig, "dummy wants ipam: it is nothing but a place for addresses")
			}
			return &cni.Child{Base: cni.Base{Req: req}, Child: resource.NewDummy(req.ID())}, nil
		},
	}
}
