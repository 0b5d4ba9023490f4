package ptp

import (
	"testing"

	"github.com/fairlead-net/fairlead/cni"
	"github.com/fairlead-net/fairlead/cni/plantest"
)

func TestPlans(t *testing.T) {
	t.Parallel()
	plantest.Run(t, Plugin())
}

// TestCase07RefusedByADDNotByDEL: a runtime calls DEL after an ADD that failed,
// until it succeeds.
func TestCase07RefusedByADDNotByDEL(t *testing.T) {
	t.Parallel()
	plantest.Refuses(t, Plugin(), true, map[string]plantest.Refusal{
		"no ipam": {Code: cni.CodeConfig, Says: "ptp wants ipam"},
		"mtu":     {Conf: `, "mtu": 70000, "ipam": {"type": "x"}`, Code: cni.CodeConfig, Says: "mtu 70000"},
		"backend": {Conf: `, "ipMasqBackend": "ebtables", "ipam": {"type": "x"}`, Code: cni.CodeUnsupportedField, Says: `ipMasqBackend "ebtables"`},
		"types":   {Conf: `, "ipMasq": 1, "ipam": {"type": "x"}`, Code: cni.CodeDecode, Says: "ipMasq"},
	})
}
