package tap

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fairlead-net/fairlead/cni"
	"github.com/fairlead-net/fairlead/cni/plantest"
)

func TestCase07RefusedByADDNotByDEL(t *testing.T) {
	t.Parallel()
	plantest.Refuses(t, Plugin(), true, map[string]plantest.Refusal{
		"mtu":            {Conf: `, "mtu": -1`, Code: cni.CodeConfig, Says: "mtu -1"},
		"mtu of no link": {Conf: `, "mtu": 65536`, Code: cni.CodeConfig, Says: "mtu 65536"},
		"mac":            {Conf: `, "mac": "x"`, Code: cni.CodeConfig, Says: "x"},
		"MAC":            {Args: "MAC=02:00", Code: cni.CodeConfig, Says: "02:00"},
		"bridge":         {Conf: `, "bridge": "a/b"`, Code: cni.CodeConfig, Says: "bridge"},
		"selinuxContext": {Conf: `, "selinuxContext": "a\nb"`, Code: cni.CodeConfig, Says: "selinuxContext"},
		"types":          {Conf: `, "owner": -1`, Code: cni.CodeDecode, Says: "owner"},
	})
}

func TestPlans(t *testing.T) {
	t.Parallel()
	plantest.Run(t, Plugin())
}

// TestMAC: of several words that of the runtime counts most.
func TestMAC(t *testing.T) {
	t.Parallel()
	all := []string{`"mac": "02:00:00:00:00:01"`, "", `"args": {"cni": {"mac": "02:00:00:00:00:03"}}`, `"runtimeConfig": {"mac": "02:00:00:00:00:04"}`}
	for n := range all {
		keys := []string{`"name": "net"`, `"type": "tap"`}
		req := &cni.Request{}
		for i, key := range all[:n+1] {
			if i == 1 {
				req.Args = "IgnoreUnknown=1;MAC=02:00:00:00:00:02"
			} else {
				keys = append(keys, key)
			}
		}
		req.Stdin = []byte("{" + strings.Join(keys, ", ") + "}")
		c, err := parse(req)
		if err != nil {
			t.Fatal(err)
		}
		if want := fmt.Sprintf("02:00:00:00:00:%02d", n+1); c.mac.String() != want {
			t.Errorf("%s %s: %s, want %s", req.Args, req.Stdin, c.mac, want)
		}
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	for keys, want := range map[string]string{
		`"mtu": 70000`:                      "mtu 70000",
		`"mtu": -1`:                         "mtu -1",
		`"mac": "fish"`:                     "fish",
		`"mac": "01:00:00:00:00:01"`:        "01:00:00:00:00:01",
		`"bridge": "a/b"`:                   "bridge",
		`"owner": -1`:                       "owner",
		`"selinuxContext": "a\u0000b"`:      "selinuxContext",
		`"runtimeConfig": {"mac": "02:00"}`: "02:00",
	} {
		_, err := parse(&cni.Request{Stdin: []byte(`{"name": "net", "type": "tap", ` + keys + `}`)})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, which does not name %s", keys, err, want)
		}
	}
}
