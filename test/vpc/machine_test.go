package vpc

import (
	"strings"
	"testing"

	"github.com/fairlead-net/fairlead/test/host"
)

// TestKernelWithoutVRFs: STATUS and ADD say the same, whatever this kernel has.
// Where ADD fails nothing is left, and DEL succeeds.
func TestKernelWithoutVRFs(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"veth", "tap"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			h := host.New(t)
			a := attach(t, h, conf("blue", "web", "mode", mode, "ipam", addresses("10.1.0.5/24")))
			before := h.Snapshot()
			status, add := a.Status(), a.Call("ADD")
			if status.OK() != add.OK() {
				t.Errorf("STATUS: %s; ADD: %s", status.Stdout, add.Stdout)
			}
			if !status.OK() && (status.Error(t).Code != 50 || !strings.Contains(strings.ToLower(status.Error(t).Error()), "vrf")) {
				t.Errorf("%s", status.Stdout)
			}
			if !add.OK() {
				h.Same(t, before, stays)
			}
			a.MustDel(t)
			a.MustDel(t)
			h.Same(t, before, stays)
		})
	}
}
