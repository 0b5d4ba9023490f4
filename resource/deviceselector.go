package resource

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/fairlead-net/fairlead/kernel"
)

// DeviceSelector says which of the host's devices is meant. The first field
// that is set counts, but ID before all.
type DeviceSelector struct {
	Name       string `json:"name,omitempty"`
	MAC        string `json:"mac,omitempty"`
	KernelPath string `json:"kernelPath,omitempty"` // of the hardware: "/sys/devices/…"
	PCI        string `json:"pci,omitempty"`        // "0000:03:00.0"
	ID         string `json:"id,omitempty"`         // of a PCI device, or of one on the auxiliary bus
}

// String names what is looked for.
func (s DeviceSelector) String() string {
	switch {
	case s.ID != "":
		return "device " + s.ID
	case s.Name != "":
		return "interface " + s.Name
	case s.MAC != "":
		return "interface with MAC address " + s.MAC
	case s.KernelPath != "":
		return "interface of " + s.KernelPath
	}
	return "PCI device " + s.PCI
}

// userspaceDrivers take a device from the kernel's network, for programs that
// drive it themselves (DPDK).
func userspaceDrivers() []string { return []string{"vfio-pci", "uio_pci_generic", "igb_uio"} }

// sysfs is where the kernel tells of devices: "/sys", if empty. Its network
// interfaces are those of the namespace that it was mounted in.
type sysfs string

func (f sysfs) path(parts ...string) string {
	root := "/sys"
	if f != "" {
		root = string(f)
	}
	return filepath.Join(append([]string{root}, parts...)...)
}

// there tells whether there is such a file; an error is not an answer.
func there(path string) (bool, error) {
	_, err := os.Lstat(path)
	if kernel.Absent(kernel.ObjectFile, err) {
		return false, nil
	}
	return err == nil, err
}

// driver is the userspace driver that has the device, or "". A PCI device
// without any driver is an error: it can be nobody's.
func (f sysfs) driver(pci string) (string, error) {
	path, err := os.Readlink(f.path("bus/pci/devices", pci, "driver"))
	if err != nil {
		return "", fmt.Errorf("driver of PCI device %s: %w", pci, err)
	}
	if name := filepath.Base(path); slices.Contains(userspaceDrivers(), name) {
		return name, nil
	}
	return "", nil
}

// pciInterface is the name of a PCI device's interface. That of a virtual
// machine's card is one step below.
func (f sysfs) pciInterface(pci string) (string, error) {
	dir := f.path("bus/pci/devices", pci)
	ok, err := there(filepath.Join(dir, "net"))
	if err != nil {
		return "", err
	}
	if ok {
		return interfaceIn(dir)
	}
	below, err := os.ReadDir(dir)
	if err != nil {
		return "", err
	}
	for _, d := range below {
		if strings.HasPrefix(d.Name(), "virtio") {
			return interfaceIn(filepath.Join(dir, d.Name()))
		}
	}
	return "", fmt.Errorf("PCI device %s has no interface: %w", pci, errNoLink)
}

// interfaceIn is the first of a device's interfaces.
func interfaceIn(device string) (string, error) {
	all, err := os.ReadDir(filepath.Join(device, "net"))
	if err != nil && !kernel.Absent(kernel.ObjectFile, err) {
		return "", err
	}
	if len(all) == 0 {
		return "", fmt.Errorf("%s has no interface: %w", device, errNoLink)
	}
	return all[0].Name(), nil
}

// byID says what a device's ID is of: PCI devices are looked at first.
func (f sysfs) byID(id string) (pci, auxiliary string, err error) {
	for _, bus := range []string{"pci", "auxiliary"} {
		ok, err := there(f.path("bus", bus, "devices", id))
		if err != nil {
			return "", "", err
		}
		if ok && bus == "pci" {
			return id, "", nil
		}
		if ok {
			return "", id, nil
		}
	}
	return "", "", fmt.Errorf("device %s is on neither the PCI nor the auxiliary bus: %w", id, errNoLink)
}

// device is the hardware that a link is an interface of, as a path below
// /sys/devices; "" where there is none.
func (f sysfs) device(l kernel.Link) string {
	path := f.path("class/net", l.Name, "device") // before Linux 5.14; on the host alone
	if l.ParentDev != "" {
		path = f.path("bus", l.ParentDevBus, "devices", l.ParentDev)
	} else if l.Kind != "" {
		return ""
	}
	path, err := filepath.EvalSymlinks(path)
	if err != nil {
		return ""
	}
	return path
}

// find looks for the device in the namespace. driver is that of userspace that
// has it: then there is no interface.
func (s DeviceSelector) find(ns *kernel.Namespace, f sysfs) (link kernel.Link, driver string, err error) {
	pci, auxiliary := s.PCI, ""
	if s.ID != "" {
		if pci, auxiliary, err = f.byID(s.ID); err != nil {
			return link, "", err
		}
		s = DeviceSelector{}
	}
	if pci != "" {
		if driver, err = f.driver(pci); err != nil || driver != "" {
			return link, driver, err
		}
	}
	name := s.Name
	switch {
	case name != "":
	case s.MAC != "":
		link, err = byMAC(ns, s.MAC)
		return link, "", err
	case s.KernelPath != "":
		name, err = interfaceIn(s.KernelPath)
	case pci != "":
		name, err = f.pciInterface(pci)
	case auxiliary != "":
		name, err = interfaceIn(f.path("bus/auxiliary/devices", auxiliary))
	}
	if err != nil {
		return link, "", err
	}
	_, link, err = On{Side: Host, Link: name}.need(Env{Host: ns})
	return link, "", err
}

// byMAC prefers hardware: what is built on a device often has its address.
func byMAC(ns *kernel.Namespace, want string) (kernel.Link, error) {
	mac, err := net.ParseMAC(want)
	if err != nil {
		return kernel.Link{}, err
	}
	all, err := ns.Links()
	if err != nil {
		return kernel.Link{}, err
	}
	best := -1
	for i, l := range all {
		if bytes.Equal(l.MAC, mac) && (best < 0 || l.Kind == "" && all[best].Kind != "") {
			best = i
		}
	}
	if best < 0 {
		return kernel.Link{}, fmt.Errorf("MAC address %s: %w", want, errNoLink)
	}
	return all[best], nil
}
