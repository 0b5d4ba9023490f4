package vrf

import (
	"strings"
	"testing"

	current "github.com/containernetworking/cni/pkg/types/100"

	"github.com/fairlead-net/fairlead/cni"
	"github.com/fairlead-net/fairlead/cni/plantest"
)

func TestPlans(t *testing.T) {
	t.Parallel()
	plantest.Run(t, Plugin())
}

func TestCase07RefusedByADDNotByDEL(t *testing.T) {
	t.Parallel()
	plantest.Refuses(t, Plugin(), true, map[string]plantest.Refusal{
		"no name": {Conf: `, "table": 5`, Code: cni.CodeConfig, Says: "vrfname", Nothing: true},
		"name":    {Conf: `, "vrfname": "a/b"`, Code: cni.CodeConfig, Says: "vrfname", Nothing: true},
		"table":   {Conf: `, "vrfname": "red", "table": 254`, Code: cni.CodeConfig, Says: "254"},
		"types":   {Conf: `, "vrfname": "red", "table": "5"`, Code: cni.CodeDecode, Says: "table"},
	})
}

func TestConfig(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		keys string
		code uint // 0: accepted
		says string
	}{
		"name":              {`"vrfname": "red"`, 0, ""},
		"table":             {`"vrfname": "red", "table": 4294967295`, 0, ""},
		"any table":         {`"vrfname": "red", "table": 0`, 0, ""},
		"ipam is not asked": {`"vrfname": "red", "ipam": {"type": "static"}`, 0, ""},
		"no name":           {`"table": 5`, cni.CodeConfig, "vrfname"},
		"name too long":     {`"vrfname": "a-name-of-16-byte"`, cni.CodeConfig, "vrfname"},
		"name with a slash": {`"vrfname": "a/b"`, cni.CodeConfig, "vrfname"},
		"table default":     {`"vrfname": "red", "table": 253`, cni.CodeConfig, "253"},
		"table main":        {`"vrfname": "red", "table": 254`, cni.CodeConfig, "254"},
		"table local":       {`"vrfname": "red", "table": 255`, cni.CodeConfig, "255"},
		"table too high":    {`"vrfname": "red", "table": 4294967296`, cni.CodeDecode, "table"},
		"negative table":    {`"vrfname": "red", "table": -1`, cni.CodeDecode, "table"},
		"table as text":     {`"vrfname": "red", "table": "5"`, cni.CodeDecode, "table"},
	} {
		req := plantest.Request([]byte(`{"cniVersion": "1.0.0", "name": "net", "type": "vrf", ` + c.keys + `}`))
		list, err := cni.Plan(Plugin(), req, plantest.Facts(), cni.Known[*current.Result]{})
		switch {
		case c.code == 0 && (err != nil || len(list) != 3):
			t.Errorf("%s: %v, %v", name, list, err)
		case c.code != 0 && err == nil:
			t.Errorf("%s: accepted", name)
		case c.code != 0 && (cni.Code(err) != c.code || !strings.Contains(err.Error(), c.says)):
			t.Errorf("%s: code %d, %v", name, cni.Code(err), err)
		}
	}
}
