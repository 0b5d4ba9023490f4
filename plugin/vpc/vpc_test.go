package vpc

import (
	"encoding/json"
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-net/fairlead/attachment"
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
	const ids = `, "vpc": "blue", "attachment": "a1"`
	srv6 := func(keys string) string { return ids + `, "srv6": {"locator": "fc00:0:1::/48"` + keys + `}` }
	plantest.Refuses(t, Plugin(), true, map[string]plantest.Refusal{
		"no vpc":            {Conf: `, "attachment": "a1"`, Code: cni.CodeConfig, Says: "vpc", Nothing: true},
		"no attachment":     {Conf: `, "vpc": "blue"`, Code: cni.CodeConfig, Says: "attachment", Nothing: true},
		"vpc with a slash":  {Conf: `, "vpc": "a/b", "attachment": "a1"`, Code: cni.CodeConfig, Says: "a/b", Nothing: true},
		"vpc of hyphens":    {Conf: `, "vpc": "-", "attachment": "a1"`, Code: cni.CodeConfig, Says: "vpc", Nothing: true},
		"long attachment":   {Conf: `, "vpc": "blue", "attachment": "0123456789012345678901234567890123456789012345678901234567890123"`, Code: cni.CodeConfig, Says: "at most 63", Nothing: true},
		"mode":              {Conf: ids + `, "mode": "sriov"`, Code: cni.CodeUnsupportedField, Says: `mode "sriov"`},
		"mtu":               {Conf: ids + `, "mtu": 70000`, Code: cni.CodeConfig, Says: "mtu 70000"},
		"kernel's table":    {Conf: ids + `, "table": 254`, Code: cni.CodeConfig, Says: "254"},
		"no range":          {Conf: ids + `, "tables": {"first": 9, "last": 8}`, Code: cni.CodeConfig, Says: "tables"},
		"range from 0":      {Conf: ids + `, "tables": {"last": 8}`, Code: cni.CodeConfig, Says: "tables"},
		"route's dst":       {Conf: ids + `, "routes": [{"dst": "10.1.0.1/24"}]`, Code: cni.CodeConfig, Says: "10.1.0.1/24"},
		"route's via":       {Conf: ids + `, "routes": [{"dst": "10.1.0.0/24", "via": "fd00::1"}]`, Code: cni.CodeConfig, Says: "fd00::1"},
		"route twice":       {Conf: ids + `, "routes": [{"dst": "10.1.0.0/24"}, {"dst": "10.1.0.0/24"}]`, Code: cni.CodeConfig, Says: "twice"},
		"IPv4 locator":      {Conf: ids + `, "srv6": {"locator": "10.0.0.0/24"}`, Code: cni.CodeConfig, Says: "locator"},
		"no locator":        {Conf: ids + `, "srv6": {}`, Code: cni.CodeConfig, Says: "locator"},
		"long locator":      {Conf: ids + `, "srv6": {"locator": "fc00::/97"}`, Code: cni.CodeConfig, Says: "locator"},
		"source":            {Conf: srv6(`, "source": "fe80::1"`), Code: cni.CodeConfig, Says: "source"},
		"sid":               {Conf: srv6(`, "remotes": [{"prefix": "10.0.0.0/8", "sid": "10.0.0.1"}]`), Code: cni.CodeConfig, Says: "sid"},
		"remote twice":      {Conf: srv6(`, "remotes": [{"prefix": "10.0.0.0/8", "sid": "fc00::1"}, {"prefix": "10.0.0.0/8", "sid": "fc00::2"}]`), Code: cni.CodeConfig, Says: "twice"},
		"sid of this node":  {Conf: srv6(`, "function": 9, "remotes": [{"prefix": "10.0.0.0/8", "sid": "fc00:0:1:0:9::"}]`), Code: cni.CodeConfig, Says: "own"},
		"types":             {Conf: ids + `, "mtu": "1"`, Code: cni.CodeDecode, Says: "mtu"},
		"no prefix, no sid": {Conf: srv6(`, "remotes": [{}]`), Code: cni.CodeConfig, Says: "prefix"},
	})
}

// TestSegments: the number follows the locator's bits, wherever these end.
func TestSegments(t *testing.T) {
	t.Parallel()
	for locator, want := range map[string]string{
		"fc00:0:1::/48": "fc00:0:1:1234:5678::",
		"fc00::/16":     "fc00:1234:5678::",
		"fc00:1::/36":   "fc00:1:123:4567:8000::",
		"fc00::/96":     "fc00::1234:5678",
	} {
		if got := segment(netip.MustParsePrefix(locator), 0x12345678); got.String() != want {
			t.Errorf("%s: %s, want %s", locator, got, want)
		}
	}
}

// TestSegmentIsKnownElsewhere: an operator can say it of another node, by
// sha256sum.
func TestSegmentIsKnownElsewhere(t *testing.T) {
	t.Parallel()
	if got := attachment.Number("blue"); got != 0x16477688 {
		t.Errorf("%#x", got)
	}
}

// TestRule24Delegates: host-device gets the configuration without ipam, with
// device, and nothing else that names one; IPAM gets it whole; a tap needs no
// host-device. Addresses come first, so that they outlive the move; but dhcp
// needs the interface.
func TestRule24Delegates(t *testing.T) {
	t.Parallel()
	conf := func(mode, ipam string) []byte {
		return []byte(`{"cniVersion": "1.1.0", "name": "net", "type": "vpc", "vpc": "blue", "attachment": "a1", "mode": "` + mode + `",
			"hwaddr": "02:00:00:00:00:01", "runtimeConfig": {"deviceID": "0000:03:00.0", "mac": "x"}, "table": 4294967295, "ipam": {"type": "` + ipam + `"}}`)
	}
	for _, c := range []struct {
		mode, ipam string
		want       []string
	}{
		{"veth", "host-local", []string{"host-local", "host-device"}},
		{"veth", "dhcp", []string{"host-device", "dhcp"}},
		{"tap", "host-local", []string{"host-local"}},
	} {
		req := plantest.Request(conf(c.mode, c.ipam))
		req.Conf.Name, req.Conf.IPAM.Type = "net", c.ipam
		st, err := Plugin().Prepare(req)
		if err != nil {
			t.Fatal(err)
		}
		var types []string
		for _, d := range st.Delegations() {
			types = append(types, d.Type)
			if d.IPAM {
				if string(d.Config) != string(req.Stdin) {
					t.Errorf("%s gets %s", d.Type, d.Config)
				}
				continue
			}
			var got map[string]any
			if err := json.Unmarshal(d.Config, &got); err != nil {
				t.Fatal(err)
			}
			want := map[string]any{
				"cniVersion": "1.1.0", "name": "net", "type": "host-device", "vpc": "blue", "attachment": "a1", "mode": "veth",
				"runtimeConfig": map[string]any{"mac": "x"}, "table": 4294967295.0, "madeByCaller": true,
				"device": req.ID().Owner().GuestVeth(),
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		}
		if diff := cmp.Diff(c.want, types); diff != "" {
			t.Errorf("%s, %s (-want +got)\n%s", c.mode, c.ipam, diff)
		}
	}
}
