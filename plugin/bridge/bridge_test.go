package bridge

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
		"bridge":       {Conf: `, "bridge": "a/b"`, Code: cni.CodeConfig, Says: "a/b"},
		"vlan":         {Conf: `, "vlan": 4095`, Code: cni.CodeConfig, Says: "vlan 4095"},
		"gateway":      {Conf: `, "bridge": "twelve-bytes", "vlan": 100, "isGateway": true`, Code: cni.CodeConfig, Says: "twelve-bytes.100"},
		"trunk":        {Conf: `, "vlanTrunk": [{"minID": 9, "maxID": 8}]`, Code: cni.CodeConfig, Says: "vlanTrunk[0]"},
		"half a range": {Conf: `, "vlanTrunk": [{"maxID": 8}]`, Code: cni.CodeConfig, Says: "minID"},
		"mtu":          {Conf: `, "mtu": -1`, Code: cni.CodeConfig, Says: "mtu -1"},
		"modes":        {Conf: `, "hairpinMode": true, "promiscMode": true`, Code: cni.CodeConfig, Says: "hairpinMode and promiscMode"},
		"no interface": {Conf: `, "disableContainerInterface": true, "ipam": {"type": "x"}`, Code: cni.CodeConfig, Says: "disableContainerInterface"},
		"backend":      {Conf: `, "ipMasq": true, "ipMasqBackend": "ebtables"`, Code: cni.CodeUnsupportedField, Says: `ipMasqBackend "ebtables"`},
		"mac":          {Conf: `, "runtimeConfig": {"mac": "01:00:5e:00:00:01"}`, Code: cni.CodeConfig, Says: "01:00:5e:00:00:01"},
		"MAC":          {Args: "MAC=letters", Code: cni.CodeConfig, Says: "letters"},
		"types":        {Conf: `, "mtu": "1500"`, Code: cni.CodeDecode, Says: "mtu"},
	})
}
