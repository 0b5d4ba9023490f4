package sbr

import (
	"strings"
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

const prevResult = `, "prevResult": {"cniVersion": "1.0.0", "interfaces": [{"name": "net9"}, {"name": "eth0", "sandbox": "/ns"}],
	"ips": [{"address": "10.1.0.5/16", "interface": 1}, {"address": "10.2.0.5/16", "interface": 0},
		{"address": "fd00::5/64"}, {"address": "10.3.0.5/16", "interface": 7}]}`

func request(keys string) *cni.Request {
	return plantest.Request([]byte(`{"cniVersion": "1.0.0", "name": "net", "type": "sbr"` + keys + `}`))
}

func TestCase07RefusedByADDNotByDEL(t *testing.T) {
	t.Parallel()
	plantest.Refuses(t, Plugin(), true, map[string]plantest.Refusal{
		"gateways":    {Conf: `, "gateways": ["x"]`, Code: cni.CodeConfig, Says: `"x"`},
		"one family":  {Conf: `, "gateways": ["10.0.0.1", "10.0.0.2"]`, Code: cni.CodeConfig, Says: "10.0.0.2"},
		"table":       {Conf: `, "table": 0`, Code: cni.CodeConfig, Says: "table 0"},
		"no address":  {Conf: `, "prevResult": {"cniVersion": "1.0.0"}`, Code: cni.CodeConfig, Says: "eth0"},
		"table's end": {Conf: `, "table": 4294967296`, Code: cni.CodeConfig, Says: "4294967296"},
		"types":       {Conf: `, "gateways": "x"`, Code: cni.CodeDecode, Says: "gateways"},
	})
}

// TestCase07DELKnowsTheAddresses though a gateway is refused.
func TestCase07DELKnowsTheAddresses(t *testing.T) {
	t.Parallel()
	req := request(`, "gateways": ["x"]` + prevResult)
	req.Verb = cni.Del
	list, err := cni.Plan(Plugin(), req, cni.Facts{}, cni.Known[*current.Result]{})
	if err != nil {
		t.Fatal(err)
	}
	if rules := list[0].(*resource.SourceRules); len(rules.Addresses) != 3 {
		t.Errorf("%+v", rules)
	}
}

func TestConfig(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		keys string
		code uint // 0: accepted
		says string
	}{
		"nothing":              {``, 0, ""},
		"table":                {`, "table": 4294967295`, 0, ""},
		"two gateways":         {`, "gateways": ["10.0.0.1", "fd00::1"]`, 0, ""},
		"hints":                {`, "addSourceHints": true`, 0, ""},
		"ignored with a table": {`, "table": 5, "gateways": ["x"], "addSourceHints": true`, 0, ""},
		"table 0":              {`, "table": 0`, cni.CodeConfig, "table 0"},
		"negative table":       {`, "table": -5`, cni.CodeConfig, "table -5"},
		"table too high":       {`, "table": 4294967296`, cni.CodeConfig, "4294967296"},
		"table as text":        {`, "table": "5"`, cni.CodeDecode, "table"},
		"two of IPv4":          {`, "gateways": ["10.0.0.1", "::ffff:10.0.0.2"]`, cni.CodeConfig, "10.0.0.2"},
		"two of IPv6":          {`, "gateways": ["fd00::2", "10.0.0.1", "fd00::1"]`, cni.CodeConfig, "fd00::1"},
		"no address":           {`, "gateways": ["10.0.0.0/8"]`, cni.CodeConfig, "10.0.0.0/8"},
		"no address of ours": {`, "prevResult": {"cniVersion": "1.0.0", "interfaces": [{"name": "net9"}],
			"ips": [{"address": "10.2.0.5/16", "interface": 0}]}`, cni.CodeConfig, "eth0"},
	} {
		_, err := cni.Plan(Plugin(), request(c.keys), plantest.Facts(), cni.Known[*current.Result]{})
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

// TestSources: the interface's addresses, those of no interface, and those of
// one that is not there.
func TestSources(t *testing.T) {
	t.Parallel()
	for verb, want := range map[cni.Verb]int{cni.Add: 3, cni.Check: 3, cni.Del: 3} {
		req := request(prevResult)
		req.Verb = verb
		list, err := cni.Plan(Plugin(), req, cni.Facts{}, cni.Known[*current.Result]{})
		if err != nil {
			t.Fatal(err)
		}
		if rules := list[0].(*resource.SourceRules); len(rules.Addresses) != want || len(rules.Rules) != 0 {
			t.Errorf("%s: %+v", verb, rules)
		}
	}
}

// TestRule03DELKnowsNothing: the configuration's table does not tell who made a
// rule, and prevResult may be missing.
func TestRule03DELKnowsNothing(t *testing.T) {
	t.Parallel()
	for _, keys := range []string{`, "table": 7` + prevResult, `, "table": 7`, prevResult, ``} {
		req := request(keys)
		req.Verb = cni.Del
		list, err := cni.Plan(Plugin(), req, cni.Facts{}, cni.Known[*current.Result]{})
		if err != nil {
			t.Fatal(err)
		}
		rules := list[0].(*resource.SourceRules)
		if len(rules.Rules) != 0 || (rules.Table == 7) != strings.Contains(keys, "table") {
			t.Errorf("%s: %+v", keys, rules)
		}
	}
}
