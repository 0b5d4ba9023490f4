package hostlocal

import (
	"fmt"

	"github.com/fairlead-net/fairlead/cni"
	"github.com/fairlead-net/fairlead/ipam"
)

// parse reads the configuration; ipam.Wire says which keys there are. A DEL or
// a GC wants only the place where leases are: a range that has become wrong
// since ADD must not keep an address.
func parse(req *cni.Request) (*ipam.Config, error) {
	var wire ipam.Wire
	if err := req.Decode(&wire); err != nil {
		return nil, err
	}
	wire.CNIVersion = req.Conf.CNIVersion
	conf, err := read(req, &wire)
	if err != nil {
		return nil, cni.Errorf(cni.CodeConfig, "host-local: %w", err)
	}
	return conf, nil
}

func read(req *cni.Request, wire *ipam.Wire) (*ipam.Config, error) {
	if req.Verb == cni.Del || req.Verb == cni.GC {
		return wire.Place()
	}
	arg := req.Arg("IP")
	if _, _, err := ipam.ParseRequest(arg); err != nil {
		return nil, cni.Errorf(cni.CodeEnvironment, "CNI_ARGS: IP: %w", err)
	}
	conf, err := wire.Config(arg)
	if err != nil {
		return nil, fmt.Errorf("ipam: %w", err)
	}
	return conf, nil
}
