package conformance

import (
	"fmt"
	"strings"

	"github.com/fairlead-net/fairlead/test/host"
)

// tap has no master.
func tap() subject {
	s := child("tap")
	s.prepare = nil
	return s
}

// hostDevice gives every container a device of its own. They are ends of veth
// pairs, which die with the container's namespace as no hardware does; what
// becomes of hardware is tested where the virtual machine's is moved.
func hostDevice() subject {
	s := child("host-device", "device", "ens1")
	s.prepare = devices
	s.own = func(container string) []any { return []any{"device", "ens" + strings.TrimPrefix(container, "c")} }
	s.stands = func(f host.Fact) bool { return strings.HasPrefix(f.Name, "ens") }
	return s
}

// devices are as many as a trial makes containers.
func devices(h *host.Host) {
	var batch strings.Builder
	for n := 1; n <= 16; n++ {
		fmt.Fprintf(&batch, "link add ens%d type veth peer name ens%d-far\nlink set ens%d-far up\n", n, n, n)
	}
	h.WriteFile("/run/devices", batch.String())
	h.MustRun("ip", "-batch", "/run/devices")
	h.RemoveAll("/run/devices")
}
