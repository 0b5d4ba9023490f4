package tuning

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	current "github.com/containernetworking/cni/pkg/types/100"
	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-net/fairlead/cni"
	"github.com/fairlead-net/fairlead/cni/plantest"
	"github.com/fairlead-net/fairlead/resource"
)

func TestPlans(t *testing.T) {
	t.Parallel()
	plantest.Run(t, Plugin())
}

func request(keys string) *cni.Request {
	return plantest.Request([]byte(`{"cniVersion": "1.0.0", "name": "net", "type": "tuning"` + keys + `}`))
}

// plan gives each object of the plan in a few words.
func plan(t *testing.T, req *cni.Request, facts cni.Facts) ([]string, error) {
	t.Helper()
	list, err := cni.Plan(Plugin(), req, facts, cni.Known[*current.Result]{})
	var words []string
	for _, r := range list {
		switch r := r.(type) {
		case *resource.RestoredSysctl:
			words = append(words, r.Name+"="+r.Value)
		case *resource.LinkAttr:
			words = append(words, strings.TrimSuffix(string(r.Attr)+"="+r.Value, "="))
		case *resource.LinkBackup:
			words = append(words, r.Path)
		default:
			t.Errorf("%T", r)
		}
	}
	return words, err
}

func TestConfig(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		keys string
		code uint // 0: accepted
		says string
	}{
		"nothing":               {``, 0, ""},
		"null":                  {`, "sysctl": null, "txQLen": null, "allmulti": null, "args": null`, 0, ""},
		"a queue of none":       {`, "txQLen": 0`, 0, ""},
		"not the network's":     {`, "sysctl": {"kernel.pid_max": "5"}`, cni.CodeConfig, "kernel.pid_max"},
		"by a detour":           {`, "sysctl": {"net/../kernel/pid_max": "5"}`, 0, ""}, // dots are no detour: net/kernel/pid_max
		"no name":               {`, "sysctl": {"": "5"}`, cni.CodeConfig, "none of the network's"},
		"net itself":            {`, "sysctl": {"net": "5"}`, cni.CodeConfig, "net"},
		"twice":                 {`, "sysctl": {"net.core.somaxconn": "5", "net.core.somaxconn": "5"}`, cni.CodeConfig, "twice"},
		"twice, in two objects": {`, "sysctl": {"net.core.somaxconn": "5"}, "sysctl": {"net.core.somaxconn": "5"}`, cni.CodeConfig, "twice"},
		"twice, by name":        {`, "sysctl": {"net.ipv4.conf.IFNAME.tag": "5", "net.ipv4.conf.eth0.tag": "5"}`, cni.CodeConfig, "twice"},
		"twice, with slashes":   {`, "sysctl": {"net.core.somaxconn": "5", "net/core/somaxconn": "5"}`, cni.CodeConfig, "twice"},
		"twice, in args":        {`, "args": {"cni": {"sysctl": {"net.core.somaxconn": "5", "net.core.somaxconn": "6"}}}`, cni.CodeConfig, "twice"},
		"a number":              {`, "sysctl": {"net.core.somaxconn": 5}`, cni.CodeDecode, "number"},
		"a list":                {`, "sysctl": ["net.core.somaxconn"]`, cni.CodeDecode, "array"},
		"no MAC address":        {`, "mac": "02:00"`, cni.CodeConfig, "02:00"},
		"a group's MAC address": {`, "mac": "03:00:00:00:00:01"`, cni.CodeConfig, "03:00:00:00:00:01"},
		"negative mtu":          {`, "mtu": -1`, cni.CodeConfig, "mtu -1"},
		"mtu as text":           {`, "mtu": "1400"`, cni.CodeDecode, "mtu"},
		"negative queue":        {`, "txQLen": -1`, cni.CodeConfig, "txQLen -1"},
		"dataDir not absolute":  {`, "dataDir": "run"`, cni.CodeConfig, "run"},
	} {
		_, err := plan(t, request(c.keys), cni.Facts{})
		switch {
		case c.code == 0 && err != nil:
			t.Errorf("%s: %v", name, err)
		case c.code != 0 && err == nil:
			t.Errorf("%s: accepted", name)
		case c.code != 0 && (cni.Code(err) != c.code || !strings.Contains(err.Error(), c.says)):
			t.Errorf("%s: code %d, %v", name, cni.Code(err), err)
		}
	}
}

func TestCase07RefusedByADDNotByDEL(t *testing.T) {
	t.Parallel()
	plantest.Refuses(t, Plugin(), true, map[string]plantest.Refusal{
		"mac":     {Conf: `, "mac": "x"`, Code: cni.CodeConfig, Says: "x"},
		"MAC":     {Args: "MAC=02:00", Code: cni.CodeConfig, Says: "02:00"},
		"mtu":     {Conf: `, "mtu": -1`, Code: cni.CodeConfig, Says: "mtu -1"},
		"txQLen":  {Conf: `, "txQLen": -1`, Code: cni.CodeConfig, Says: "txQLen -1"},
		"sysctl":  {Conf: `, "sysctl": {"kernel.pid_max": "5"}`, Code: cni.CodeConfig, Says: "kernel.pid_max"},
		"dataDir": {Conf: `, "dataDir": "run", "mtu": 1400`, Code: cni.CodeConfig, Says: "run", Nothing: true},
		"types":   {Conf: `, "mtu": "1400"`, Code: cni.CodeDecode, Says: "mtu"},
	})
}

// TestSysctls: what reaches further is set first, args count more, and the
// placeholder stands for a name that may have dots.
func TestSysctls(t *testing.T) {
	t.Parallel()
	req := request(`, "sysctl": {"net.ipv4.conf.IFNAME.tag": "1", "net.ipv4.conf.all.tag": "2", "net.ipv4.conf.default.tag": "3",
		"net.ipv4.ip_forward": "4", "net.ipv4.neigh.IFNAME.app_solicit": "5", "net.core.somaxconn": "6"},
		"args": {"cni": {"sysctl": {"net.core.somaxconn": "7", "net/ipv4/conf/eth0.7/tag": "8", "net.core.optmem_max": "9"}}}`)
	req.IfName = "eth0.7"
	got, err := plan(t, req, cni.Facts{})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"net/core/optmem_max=9", "net/core/somaxconn=7", "net/ipv4/ip_forward=4", "net/ipv4/conf/default/tag=3",
		"net/ipv4/conf/all/tag=2", "net/ipv4/conf/eth0.7/tag=1", "net/ipv4/conf/eth0/7/tag=8", "net/ipv4/neigh/eth0.7/app_solicit=5",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestPrecedence: of MAC addresses CNI_ARGS counts more than the
// configuration's, the runtime's more than that, args.cni most.
func TestPrecedence(t *testing.T) {
	t.Parallel()
	const (
		conf    = `, "mac": "02:00:00:00:00:01", "promisc": true, "mtu": 1400, "txQLen": 10, "allmulti": true`
		runtime = `, "runtimeConfig": {"mac": "02:00:00:00:00:03"}`
		args    = `, "args": {"cni": {"mac": "02:00:00:00:00:04", "promisc": false, "mtu": 1300, "txQLen": 20, "allmulti": false}}`
	)
	for _, c := range []struct {
		keys, cniArgs string
		want          []string
	}{
		{conf, "", []string{"mac=02:00:00:00:00:01", "promisc=true", "mtu=1400", "allmulti=true", "txqlen=10"}},
		{conf, "IgnoreUnknown=1;MAC=02:00:00:00:00:02", []string{"mac=02:00:00:00:00:02", "promisc=true", "mtu=1400", "allmulti=true", "txqlen=10"}},
		{conf + runtime, "MAC=02:00:00:00:00:02", []string{"mac=02:00:00:00:00:03", "promisc=true", "mtu=1400", "allmulti=true", "txqlen=10"}},
		{conf + runtime + args, "MAC=02:00:00:00:00:02", []string{"mac=02:00:00:00:00:04", "mtu=1300", "allmulti=false", "txqlen=20"}},
	} {
		req := request(c.keys)
		req.Args = c.cniArgs
		got, err := plan(t, req, cni.Facts{})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(append([]string{"/run/cni/tuning/c0ffee_eth0.json"}, c.want...), got); diff != "" {
			t.Errorf("%s: %s", c.keys, diff)
		}
	}
}

// TestRule13DELAsksForEverything: the file may have more than today's
// configuration says.
func TestRule13DELAsksForEverything(t *testing.T) {
	t.Parallel()
	req := request(`, "mtu": 1400, "dataDir": "/var/lib/tuning"`)
	req.Verb = cni.Del
	got, err := plan(t, req, cni.Facts{})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"/var/lib/tuning/c0ffee_eth0.json", "mac", "promisc", "mtu=1400", "allmulti", "txqlen"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestAllowList(t *testing.T) {
	t.Parallel()
	facts := func(patterns string) cni.Facts {
		return cni.NewFacts(map[string]json.RawMessage{
			"sysctl-allow-list": json.RawMessage(`{"present": true, "patterns": [` + patterns + `]}`),
		})
	}
	req := request(`, "sysctl": {"net.ipv4.conf.IFNAME.tag": "1"}`)
	if _, err := plan(t, req, facts(`"^net.core", "^net.ipv4.conf.IFNAME.t[a-z]*$"`)); err != nil {
		t.Error(err)
	}
	_, err := plan(t, req, facts(`"^net.core", "^net.ipv4.conf.eth0.t[a-z]*$"`))
	if cni.Code(err) != cni.CodeConfig || !strings.Contains(err.Error(), "net.ipv4.conf.IFNAME.tag") || !strings.Contains(err.Error(), "^net.core") {
		t.Errorf("code %d, %v", cni.Code(err), err)
	}
	if _, err := plan(t, req, facts(`"("`)); err == nil {
		t.Error("no sense was made of")
	}
}

// TestResult: the interface in the container has what was set, and no other
// interface of its name.
func TestResult(t *testing.T) {
	t.Parallel()
	for version, mtu := range map[string]string{"1.1.0": `, "mtu": 1500`, "1.0.0": ""} {
		req := request(fmt.Sprintf(`, "mac": "02:00:00:00:00:77", "mtu": 1400, "prevResult": {"cniVersion": %q,
			"interfaces": [{"name": "eth0", "mac": "02:00:00:00:00:01"%s}, {"name": "eth0", "mac": "02:00:00:00:00:02", "sandbox": "/ns"%s},
				{"name": "eth1", "mac": "02:00:00:00:00:03", "sandbox": "/ns"}],
			"ips": [{"address": "10.1.0.5/16", "interface": 1}], "routes": [{"dst": "0.0.0.0/0"}]}`, version, mtu, mtu))
		req.Stdin = []byte(strings.Replace(string(req.Stdin), `"cniVersion": "1.0.0"`, `"cniVersion": "`+version+`"`, 1))
		if _, err := plan(t, req, cni.Facts{}); err != nil { // it validates the request
			t.Fatal(err)
		}
		st, err := Plugin().Prepare(req)
		if err != nil {
			t.Fatal(err)
		}
		out, err := st.Result(cni.Made{})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, i := range out.Interfaces {
			got = append(got, fmt.Sprintf("%s %s %d", i.Name, i.Mac, i.Mtu))
		}
		want := []string{"eth0 02:00:00:00:00:01 1500", "eth0 02:00:00:00:00:77 1400", "eth1 02:00:00:00:00:03 0"}
		if mtu == "" {
			want = []string{"eth0 02:00:00:00:00:01 0", "eth0 02:00:00:00:00:77 0", "eth1 02:00:00:00:00:03 0"}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		if len(out.IPs) != 1 || len(out.Routes) != 1 || req.Conf.PrevResult.Interfaces[1].Mac != "02:00:00:00:00:02" {
			t.Errorf("%+v", out)
		}
	}
}
