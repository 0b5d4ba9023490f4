package hostlocal

import (
	"github.com/fairlead-net/fairlead/cni"
	"github.com/fairlead-net/fairlead/ipam"
)

// parse reads the configuration; ipam.Wire says which keys there are. A DEL or
// a GC wants only the place where leases are: what has become wrong since ADD,
// or made it fail, must not keep an address.
func parse(req *cni.Request) (*ipam.Config, error) {
	if req.Removes() {
		return place(req)
	}
	var wire ipam.Wire
	if err := req.Decode(&wire); err != nil {
		return nil, err
	}
	wire.CNIVersion = req.Conf.CNIVersion
	arg := req.Arg("IP")
	if _, _, err := ipam.ParseRequest(arg); err != nil {
		return nil, cni.Errorf(cni.CodeEnvironment, "host-local: CNI_ARGS: IP: %w", err)
	}
	return coded(wire.Config(arg))
}

func place(req *cni.Request) (*ipam.Config, error) {
	var wire struct {
		IPAM struct {
			DataDir string `json:"dataDir"`
		} `json:"ipam"`
	}
	if err := req.Decode(&wire); err != nil {
		return nil, err
	}
	if wire.IPAM.DataDir == "" {
		wire.IPAM.DataDir = ipam.DefaultDataDir
	}
	return &ipam.Config{DataDir: wire.IPAM.DataDir}, nil
}

func coded(conf *ipam.Config, err error) (*ipam.Config, error) {
	if err != nil {
		return nil, cni.Errorf(cni.CodeConfig, "host-local: %w", err)
	}
	return conf, nil
}
