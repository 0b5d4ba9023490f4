package vlan

import (
	"testing"

	"github.com/fairlead-net/fairlead/cni"
	"github.com/fairlead-net/fairlead/cni/plantest"
)

func TestPlans(t *testing.T) {
	t.Parallel()
	plantest.Run(t, Plugin())
}

func TestCase08RefusedByADDNotByDEL(t *testing.T) {
	t.Parallel()
	plantest.Refuses(t, Plugin(), true, map[string]plantest.Refusal{
		"no master":         {Conf: `, "vlanId": 5`, Code: cni.CodeConfig, Says: "wants master"},
		"master":            {Conf: `, "master": ".."`, Code: cni.CodeConfig, Says: `".."`},
		"below":             {Conf: `, "master": "ens5", "vlanId": -1`, Code: cni.CodeConfig, Says: "vlanId -1 is not within 0 and 4094"},
		"reserved":          {Conf: `, "master": "ens5", "vlanId": 4095`, Code: cni.CodeConfig, Says: "vlanId 4095 is not within 0 and 4094"},
		"mtu":               {Conf: `, "master": "ens5", "mtu": -1`, Code: cni.CodeConfig, Says: "mtu -1"},
		"mtu over master's": {Conf: `, "master": "ens5", "mtu": 9000`, Code: cni.CodeConfig, Says: "mtu 9000 is over that of the master ens5, which is 1500"},
		"types":             {Conf: `, "master": "ens5", "vlanId": "5"`, Code: cni.CodeDecode, Says: "vlanId"},
	})
}
