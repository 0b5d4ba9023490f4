package dummy

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
		"no ipam":   {Code: cni.CodeConfig, Says: "wants ipam"},
		"ipam.type": {Conf: `, "ipam": {}`, Code: cni.CodeConfig, Says: "wants ipam"},
		"types":     {Conf: `, "ipam": "static"`, Code: cni.CodeDecode, Says: "ipam"},
	})
}
