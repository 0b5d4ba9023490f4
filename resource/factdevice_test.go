package resource

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fairlead-net/fairlead/kernel"
)

// fakeSys is a tree like the kernel's, of one machine: a card with an interface
// of its own (ens5), one of a virtual machine (ens6), one that a userspace
// driver has, one that nothing drives, one without an interface, and a device
// on the auxiliary bus (ens7).
func fakeSys(t *testing.T) sysfs {
	t.Helper()
	root := t.TempDir()
	dir := func(parts ...string) {
		noError(t, os.MkdirAll(filepath.Join(append([]string{root}, parts...)...), 0o755))
	}
	for pci, driver := range map[string]string{
		"0000:01:00.0": "ixgbe", "0000:02:00.0": "virtio-pci", "0000:03:00.0": "vfio-pci", "0000:04:00.0": "", "0000:05:00.0": "ahci",
	} {
		dir("bus/pci/devices", pci)
		if driver != "" {
			dir("bus/pci/drivers", driver)
			noError(t, os.Symlink("../../drivers/"+driver, filepath.Join(root, "bus/pci/devices", pci, "driver")))
		}
	}
	dir("bus/pci/devices/0000:01:00.0/net/ens5")
	dir("bus/pci/devices/0000:02:00.0/virtio3/net/ens6")
	dir("bus/auxiliary/devices/mlx5_core.sf.4/net/ens7")
	dir("devices/pci0000:00/0000:01:00.0/net/ens5")
	return sysfs(root)
}

func TestFindDevice(t *testing.T) {
	t.Parallel()
	env := newEnv(t)
	sys := fakeSys(t)
	occupy(t, env.Host, "ens5")
	occupy(t, env.Host, "ens6")
	occupy(t, env.Host, "ens7")
	set(t, env.Host, "ens5", kernel.LinkChange{MAC: testTap().Owner.MAC("ens5")})
	noError(t, env.Host.AddAltName(link(t, env.Host, "ens5").Index, "enp1s0"))
	mac := testTap().Owner.MAC("ens5").String()
	for name, tc := range map[string]struct {
		wanted           DeviceSelector
		want, driver, no string
	}{
		"name":             {wanted: DeviceSelector{Name: "ens5"}, want: "ens5"},
		"alternative name": {wanted: DeviceSelector{Name: "enp1s0"}, want: "ens5"},
		"MAC":              {wanted: DeviceSelector{MAC: mac}, want: "ens5"},
		"MAC in capitals":  {wanted: DeviceSelector{MAC: strings.ToUpper(mac)}, want: "ens5"},
		"kernel path":      {wanted: DeviceSelector{KernelPath: sys.path("devices/pci0000:00/0000:01:00.0")}, want: "ens5"},
		"PCI":              {wanted: DeviceSelector{PCI: "0000:01:00.0"}, want: "ens5"},
		"PCI, virtual":     {wanted: DeviceSelector{PCI: "0000:02:00.0"}, want: "ens6"},
		"ID of PCI":        {wanted: DeviceSelector{ID: "0000:02:00.0"}, want: "ens6"},
		"auxiliary":        {wanted: DeviceSelector{ID: "mlx5_core.sf.4"}, want: "ens7"},
		"ID before all":    {wanted: DeviceSelector{ID: "mlx5_core.sf.4", Name: "ens5", MAC: mac, PCI: "0000:03:00.0"}, want: "ens7"},
		"name before MAC":  {wanted: DeviceSelector{Name: "ens6", MAC: mac}, want: "ens6"},
		"driver":           {wanted: DeviceSelector{PCI: "0000:03:00.0"}, driver: "vfio-pci"},
		"driver, by ID":    {wanted: DeviceSelector{ID: "0000:03:00.0"}, driver: "vfio-pci"},
		"no driver":        {wanted: DeviceSelector{PCI: "0000:04:00.0"}, no: "driver of PCI device 0000:04:00.0"},
		"no interface":     {wanted: DeviceSelector{PCI: "0000:05:00.0"}, no: "no interface"},
		"no PCI device":    {wanted: DeviceSelector{PCI: "0000:09:00.0"}, no: "0000:09:00.0"},
		"no such ID":       {wanted: DeviceSelector{ID: "mlx5_core.sf.9"}, no: "mlx5_core.sf.9"},
		"no such name":     {wanted: DeviceSelector{Name: "ens9"}, no: "ens9"},
		"no such MAC":      {wanted: DeviceSelector{MAC: "02:ff:ff:ff:ff:ff"}, no: "02:ff:ff:ff:ff:ff"},
		"no such path":     {wanted: DeviceSelector{KernelPath: sys.path("devices/none")}, no: "devices/none"},
		"loopback":         {wanted: DeviceSelector{Name: "lo"}, no: "loopback"},
		"what is below":    {wanted: DeviceSelector{KernelPath: sys.path("bus/pci/devices/0000:02:00.0/virtio3")}, want: "ens6"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			found, err := FindDevice{Wanted: tc.wanted, sys: sys}.Find(context.Background(), env)
			if tc.no != "" {
				if err == nil || !strings.Contains(err.Error(), tc.no) {
					t.Errorf("%+v, %v: want an error that names %s", found, err, tc.no)
				}
				return
			}
			noError(t, err)
			want := HostDevice{Driver: tc.driver}
			if tc.want != "" {
				want = HostDevice{Name: tc.want, Index: link(t, env.Host, tc.want).Index}
			}
			if found != want {
				t.Errorf("%+v, want %+v", found, want)
			}
		})
	}
}

// TestCase17FindDevice: what could not be found out is not told as "there is
// none".
func TestCase17FindDevice(t *testing.T) {
	t.Parallel()
	env := newEnv(t)
	occupy(t, env.Host, "ens5")
	for _, wanted := range []DeviceSelector{{Name: "ens5"}, {MAC: link(t, env.Host, "ens5").MAC.String()}} {
		for _, mode := range faultModes {
			faulty, fired := mode.failing(env, 1)
			_, err := FindDevice{Wanted: wanted}.Find(context.Background(), faulty)
			if !fired() || err == nil || errors.Is(err, errNoLink) {
				t.Errorf("%s, %s: %v", wanted, mode.name, err)
			}
		}
	}
}
