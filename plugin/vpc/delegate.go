package vpc

import (
	"encoding/json"
	"slices"

	"github.com/fairlead-net/fairlead/cni"
)

const (
	hostDevice = "host-device"
	// overLink is the one IPAM plugin that asks over the link, which must be in
	// the container by then.
	overLink = "dhcp"
)

// Delegations: addresses, then the move of the guest's end, so that the move is
// undone before the addresses are given back. The tap stays where it is.
func (s *statement) Delegations() []cni.Delegation {
	list := s.Base.Delegations()
	if s.isTap() || s.conf.VPC == "" {
		return list
	}
	veth := s.veth()
	move := cni.Delegation{Type: hostDevice, Config: moveConfig(s.Req.Stdin, veth.Passing), Moves: veth}
	if s.Req.Conf.IPAM.Type == overLink {
		return append([]cni.Delegation{move}, list...)
	}
	return append(list, move)
}

// moveConfig is the configuration without ipam, with device (rule 24). What else
// would say which device is meant is left out.
func moveConfig(stdin []byte, device string) []byte {
	var conf, runtime map[string]json.RawMessage
	if json.Unmarshal(stdin, &conf) != nil {
		return nil // it was decoded before
	}
	for _, key := range []string{"ipam", "hwaddr", "kernelpath", "pciBusID", "useInterfaceNetwork"} {
		delete(conf, key)
	}
	if json.Unmarshal(conf["runtimeConfig"], &runtime) == nil && runtime != nil {
		delete(runtime, "deviceID")
		conf["runtimeConfig"] = raw(runtime)
	}
	// Before 0.3.0 a result without addresses can't be said.
	var version string
	if json.Unmarshal(conf["cniVersion"], &version) != nil || slices.Contains([]string{"", "0.1.0", "0.2.0"}, version) {
		conf["cniVersion"] = raw("0.3.0")
	}
	conf["type"], conf["device"], conf["madeByCaller"] = raw(hostDevice), raw(device), raw(true)
	return raw(conf)
}

// raw is JSON of what always can be said in it.
func raw(v any) json.RawMessage {
	data, err := json.Marshal(v)
	if err != nil {
		return nil
	}
	return data
}
