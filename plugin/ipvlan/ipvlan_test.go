package ipvlan

import (
	"net"
	"slices"
	"testing"

	current "github.com/containernetworking/cni/pkg/types/100"

	"github.com/fairlead-net/fairlead/cni"
	"github.com/fairlead-net/fairlead/cni/plantest"
	"github.com/fairlead-net/fairlead/resource"
)

func TestPlans(t *testing.T) {
	t.Parallel()
	plantest.Run(t, Plugin())
}

const addresses = `"ips": [{"address": "192.0.2.10/24"}]`

func TestCase08RefusedByADDNotByDEL(t *testing.T) {
	t.Parallel()
	prev := func(members string) string { return `, "prevResult": {"cniVersion": "1.1.0", ` + members + `}` }
	plantest.Refuses(t, Plugin(), true, map[string]plantest.Refusal{
		"mode":         {Conf: `, "mode": "bridge"`, Code: cni.CodeConfig, Says: `mode "bridge" is none of l2, l3, l3s`},
		"mtu":          {Conf: `, "mtu": -1`, Code: cni.CodeConfig, Says: "mtu -1"},
		"master":       {Conf: `, "master": "a b"`, Code: cni.CodeConfig, Says: "a b"},
		"no addresses": {Conf: `, "master": "ens5"`, Code: cni.CodeConfig, Says: "wants addresses"},
		"none passed":  {Conf: `, "master": "ens5"` + prev(`"interfaces": [{"name": "ens5"}]`), Code: cni.CodeConfig, Says: "wants addresses"},
		"no interface": {Conf: prev(addresses), Code: cni.CodeConfig, Says: "prevResult has 0 interfaces"},
		"interfaces":   {Conf: prev(`"interfaces": [{"name": "a"}, {"name": "b"}], ` + addresses), Code: cni.CodeConfig, Says: "prevResult has 2 interfaces"},
		"no name":      {Conf: prev(`"interfaces": [{"name": ""}], ` + addresses), Code: cni.CodeConfig, Says: "wants master"},
		"bad name":     {Conf: prev(`"interfaces": [{"name": "a/b"}], ` + addresses), Code: cni.CodeConfig, Says: "a/b"},
		"types":        {Conf: `, "master": 5`, Code: cni.CodeDecode, Says: "master"},
	})
}

// TestPassedAddresses: without ipam those of the plugin before are this
// interface's, whichever they were of; with ipam they are not.
func TestPassedAddresses(t *testing.T) {
	t.Parallel()
	const prev = `, "prevResult": {"cniVersion": "1.1.0", "interfaces": [{"name": "ens6"}],
		"ips": [{"address": "192.0.2.10/24", "interface": 0}, {"address": "2001:db8::10/64"}],
		"routes": [{"dst": "198.51.100.0/24"}], "dns": {"domain": "before.example"}}}`
	given := cni.Know(&current.Result{IPs: []*current.IPConfig{{Address: net.IPNet{IP: net.IPv4(203, 0, 113, 9), Mask: net.CIDRMask(24, 32)}}}})
	for _, c := range []struct {
		conf   string
		ipam   cni.Known[*current.Result]
		want   []string
		domain string
	}{
		{``, cni.Known[*current.Result]{}, []string{"192.0.2.10/24", "2001:db8::10/64"}, "before.example"},
		{`, "dns": {"domain": "conf.example"}`, cni.Known[*current.Result]{}, []string{"192.0.2.10/24", "2001:db8::10/64"}, "conf.example"},
		{`, "ipam": {"type": "static"}`, given, []string{"203.0.113.9/24"}, ""},
	} {
		req := plantest.Request([]byte(`{"cniVersion": "1.1.0", "name": "net", "type": "ipvlan"` + c.conf + prev))
		list, err := cni.Plan(Plugin(), req, cni.Facts{}, c.ipam)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, r := range list {
			if a, ok := r.(*resource.Address); ok {
				got = append(got, a.Address.String())
			}
		}
		if link, ok := list[0].(*resource.ChildLink); !ok || link.Master != "ens6" || !slices.Equal(got, c.want) {
			t.Errorf("%s: %+v, %v, want %v", c.conf, list[0], got, c.want)
		}
		st, err := Plugin().Prepare(req)
		if err != nil {
			t.Fatal(err)
		}
		made := cni.Made{Link: list[:1]}
		made.IPAM, _ = c.ipam.Get()
		r, err := st.Result(made)
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Interfaces) != 1 || r.Interfaces[0].Name != "eth0" || len(r.IPs) != len(c.want) || r.DNS.Domain != c.domain {
			t.Errorf("%s: result %+v", c.conf, r)
		}
		for _, ip := range r.IPs {
			if ip.Interface == nil || *ip.Interface != 0 {
				t.Errorf("%s: address %s is of another interface", c.conf, ip.Address.String())
			}
		}
	}
}
