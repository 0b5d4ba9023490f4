package hostdevice

import (
	"net"
	"path/filepath"
	"strings"

	"github.com/fairlead-net/fairlead/cni"
	"github.com/fairlead-net/fairlead/resource"
)

// config is what the README documents, key by key.
type config struct {
	Device     string `json:"device"`
	HWAddr     string `json:"hwaddr"`
	KernelPath string `json:"kernelpath"`
	PCIBusID   string `json:"pciBusID"`

	UseInterfaceNetwork bool `json:"useInterfaceNetwork"`
	MadeByCaller        bool `json:"madeByCaller"`

	RuntimeConfig struct {
		DeviceID string `json:"deviceID"`
	} `json:"runtimeConfig"`
}

// hardwarePaths is what the path of every piece of hardware begins with.
const hardwarePaths = "/sys/devices/"

func parse(req *cni.Request) (*config, error) {
	c := &config{}
	if err := req.Decode(c); err != nil {
		return nil, err
	}
	// The runtime gives its part at ADD; no other verb needs to look for the
	// device.
	if req.Verb == cni.Add && c.wanted() == (resource.DeviceSelector{}) {
		return nil, cni.Errorf(cni.CodeConfig, "no device is named: one of device, hwaddr, kernelpath, pciBusID is wanted, or a deviceID from the runtime")
	}
	err := c.validate()
	if err != nil && req.Removes() {
		// No device was moved by that. What is in the container has its mark.
		return &config{UseInterfaceNetwork: c.UseInterfaceNetwork}, nil
	}
	return c, err
}

func (c *config) validate() error {
	// An alternative name may be longer than a name.
	if strings.ContainsAny(c.Device, "/\x00") {
		return cni.Errorf(cni.CodeConfig, "device %q is no interface's name", c.Device)
	}
	if c.HWAddr != "" {
		if _, err := net.ParseMAC(c.HWAddr); err != nil {
			return cni.Errorf(cni.CodeConfig, "hwaddr: %w", err)
		}
	}
	if p := c.KernelPath; p != "" && (filepath.Clean(p) != strings.TrimSuffix(p, "/") || !strings.HasPrefix(p, hardwarePaths)) {
		return cni.Errorf(cni.CodeConfig, "kernelpath %q is no path below %s", p, hardwarePaths)
	}
	for key, id := range map[string]string{"pciBusID": c.PCIBusID, "deviceID": c.RuntimeConfig.DeviceID} {
		if strings.ContainsAny(id, "/\x00") || id == "." || id == ".." {
			return cni.Errorf(cni.CodeConfig, "%s %q is no address on a bus", key, id)
		}
	}
	return nil
}

func (c *config) wanted() resource.DeviceSelector {
	return resource.DeviceSelector{
		Name: c.Device, MAC: c.HWAddr, KernelPath: c.KernelPath, PCI: c.PCIBusID, ID: c.RuntimeConfig.DeviceID,
	}
}
