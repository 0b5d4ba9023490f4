package macvlan

import (
	"testing"

	current "github.com/containernetworking/cni/pkg/types/100"

	"github.com/fairlead-net/fairlead/attachment"
	"github.com/fairlead-net/fairlead/cni"
	"github.com/fairlead-net/fairlead/cni/plantest"
	"github.com/fairlead-net/fairlead/resource"
)

func TestPlans(t *testing.T) {
	t.Parallel()
	plantest.Run(t, Plugin())
}

func TestCase08RefusedByADDNotByDEL(t *testing.T) {
	t.Parallel()
	plantest.Refuses(t, Plugin(), true, map[string]plantest.Refusal{
		"mode":              {Conf: `, "mode": "L2"`, Code: cni.CodeConfig, Says: `mode "L2" is none of bridge, private, vepa, passthru`},
		"mtu":               {Conf: `, "mtu": -1`, Code: cni.CodeConfig, Says: "mtu -1"},
		"mtu of no link":    {Conf: `, "mtu": 65536`, Code: cni.CodeConfig, Says: "mtu 65536"},
		"mtu over master's": {Conf: `, "mtu": 1501`, Code: cni.CodeConfig, Says: "mtu 1501 is over that of the master ens5, which is 1500"},
		"master":            {Conf: `, "master": "a/b"`, Code: cni.CodeConfig, Says: "a/b"},
		"mac":               {Conf: `, "mac": "letters"`, Code: cni.CodeConfig, Says: "letters"},
		"mac of a group":    {Conf: `, "mac": "01:00:5e:00:00:01"`, Code: cni.CodeConfig, Says: "01:00:5e:00:00:01"},
		"MAC":               {Args: "MAC=02:00", Code: cni.CodeConfig, Says: "02:00"},
		"runtime's mac":     {Conf: `, "runtimeConfig": {"mac": "02:00:00:00:00:00:00:01"}`, Code: cni.CodeConfig, Says: "02:00:00:00:00:00:00:01"},
		"types":             {Conf: `, "bcqueuelen": -1`, Code: cni.CodeDecode, Says: "bcqueuelen"},
		"boolean":           {Conf: `, "linkInContainer": "yes"`, Code: cni.CodeDecode, Says: "linkInContainer"},
	})
}

// TestMAC: CNI_ARGS count more than the configuration, the runtime most.
func TestMAC(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ conf, args, want string }{
		{``, "", resource.NewMacvlan(attachment.ID{Network: "net", Container: "c0ffee", IfName: "eth0"}, "bridge").MAC},
		{`, "mac": "02:00:00:00:00:01"`, "", "02:00:00:00:00:01"},
		{`, "mac": "02-00-00-00-00-0A"`, "", "02:00:00:00:00:0a"},
		{`, "mac": "02:00:00:00:00:01"`, "MAC=02:00:00:00:00:02", "02:00:00:00:00:02"},
		{`, "mac": "02:00:00:00:00:01", "runtimeConfig": {"mac": "02:00:00:00:00:03"}`, "MAC=02:00:00:00:00:02", "02:00:00:00:00:03"},
		{`, "mac": "02:00:00:00:00:01", "mode": "passthru"`, "", ""},
	} {
		req := plantest.Request([]byte(`{"cniVersion": "1.1.0", "name": "net", "type": "macvlan"` + c.conf + `}`))
		req.Args = c.args
		list, err := cni.Plan(Plugin(), req, plantest.Facts(), cni.Known[*current.Result]{})
		if err != nil {
			t.Fatal(err)
		}
		if link, ok := list[0].(*resource.ChildLink); !ok || link.MAC != c.want {
			t.Errorf("%s %s: %+v, want %s", c.conf, c.args, list[0], c.want)
		}
	}
}
