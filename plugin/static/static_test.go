package static

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-net/fairlead/cni"
	"github.com/fairlead-net/fairlead/cni/plantest"
	"github.com/fairlead-net/fairlead/resource"
)

func TestPlans(t *testing.T) {
	t.Parallel()
	plantest.Run(t, Plugin())
}

// request is a validated one, as the protocol's room makes it.
func request(verb cni.Verb, version, conf, args string) *cni.Request {
	req := plantest.Request([]byte(conf))
	req.Verb, req.Args = verb, args
	req.Conf.Name, req.Conf.CNIVersion = "net", version
	return req
}

func TestConfig(t *testing.T) {
	t.Parallel()
	const two = `"addresses":[{"address":"10.0.0.7/24","gateway":"10.0.0.1"},{"address":"fd00::7/64"}]`
	tests := map[string]struct {
		version, conf, args string
		want                string // addresses with gateways, or the error's text after "!"
		code                uint
	}{
		"configuration": {conf: `{"ipam":{` + two + `}}`, want: "10.0.0.7/24>10.0.0.1 fd00::7/64>"},
		"args are appended": {conf: `{"ipam":{` + two + `}}`, args: "IP=10.0.1.7/24, fd01::7/64;GATEWAY=fd01::1,10.0.1.1,10.0.0.2",
			want: "10.0.0.7/24>10.0.0.1 fd00::7/64> 10.0.1.7/24>10.0.1.1 fd01::7/64>fd01::1"},
		"args alone":      {conf: `{"ipam":{}}`, args: "IP=10.0.1.7/24", want: "10.0.1.7/24>"},
		"args.cni.ips":    {conf: `{"args":{"cni":{"ips":["10.2.0.7/24"]}},"ipam":{` + two + `}}`, args: "IP=10.0.1.7/24", want: "10.2.0.7/24>"},
		"runtime":         {conf: `{"runtimeConfig":{"ips":["10.3.0.7/24","fd03::7/64"]},"args":{"cni":{"ips":["10.2.0.7/24"]}},"ipam":{` + two + `}}`, want: "10.3.0.7/24> fd03::7/64>"},
		"unused is moot":  {conf: `{"runtimeConfig":{"ips":["10.3.0.7/24"]},"ipam":{"addresses":[{"address":"x"}]}}`, want: "10.3.0.7/24>"},
		"none":            {conf: `{"ipam":{}}`, want: ""},
		"mapped gateway":  {conf: `{"ipam":{"addresses":[{"address":"10.0.0.7/24","gateway":"::ffff:10.0.0.1"}]}}`, want: "10.0.0.7/24>10.0.0.1"},
		"mapped":          {conf: `{"ipam":{"addresses":[{"address":"::ffff:10.0.0.7/120"}]}}`, want: "10.0.0.7/24>"},
		"unknown arg":     {conf: `{"ipam":{}}`, args: "FOO=bar;IP=10.0.1.7/24", want: "10.0.1.7/24>"},
		"one each, 0.2.0": {version: "0.2.0", conf: `{"ipam":{` + two + `}}`, want: "10.0.0.7/24>10.0.0.1 fd00::7/64>"},

		"two, 0.2.0":       {version: "0.2.0", conf: `{"ipam":{` + two + `}}`, args: "IP=10.0.1.7/24", want: "!one address per family", code: cni.CodeConfig},
		"no ipam":          {conf: `{}`, want: "!no ipam section", code: cni.CodeConfig},
		"no prefix length": {conf: `{"ipam":{"addresses":[{"address":"10.0.0.7"}]}}`, want: "!ipam.addresses 0", code: cni.CodeConfig},
		"no address":       {conf: `{"ipam":{"addresses":[{"gateway":"10.0.0.7"}]}}`, want: `!"" is not an address`, code: cni.CodeConfig},
		"gateway":          {conf: `{"ipam":{"addresses":[{"address":"10.0.0.7/24","gateway":"x"}]}}`, want: `!gateway "x"`, code: cni.CodeConfig},
		"multicast":        {conf: `{"ipam":{"addresses":[{"address":"224.0.0.7/24"}]}}`, want: "!can't be", code: cni.CodeConfig},
		"unspecified":      {conf: `{"ipam":{"addresses":[{"address":"::/64"}]}}`, want: "!can't be", code: cni.CodeConfig},
		"mapped, too wide": {conf: `{"ipam":{"addresses":[{"address":"::ffff:10.0.0.7/24"}]}}`, want: "!IPv4 form", code: cni.CodeConfig},
		"runtime's":        {conf: `{"runtimeConfig":{"ips":["10.0.0.7"]},"ipam":{}}`, want: "!runtimeConfig.ips", code: cni.CodeConfig},
		"args'":            {conf: `{"args":{"cni":{"ips":["10.0.0.7"]}},"ipam":{}}`, want: "!args.cni.ips", code: cni.CodeConfig},
		"CNI_ARGS IP":      {conf: `{"ipam":{}}`, args: "IP=10.0.0.7", want: "!CNI_ARGS: IP", code: cni.CodeEnvironment},
		"CNI_ARGS GATEWAY": {conf: `{"ipam":{}}`, args: "GATEWAY=x", want: "!CNI_ARGS: GATEWAY", code: cni.CodeEnvironment},
		"route":            {conf: `{"ipam":{"routes":[{}]}}`, want: "!dst is missing", code: cni.CodeConfig},
		"wrong type":       {conf: `{"ipam":{"addresses":"10.0.0.7/24"}}`, want: "!ipam.addresses", code: cni.CodeDecode},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if tt.version == "" {
				tt.version = "1.1.0"
			}
			conf, err := parse(request(cni.Add, tt.version, tt.conf, tt.args))
			if want, fails := strings.CutPrefix(tt.want, "!"); fails {
				if err == nil || !strings.Contains(err.Error(), want) || cni.Code(err) != tt.code {
					t.Fatalf("got %v, want code %d and %q", err, tt.code, want)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := show(conf.addresses); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func show(list []address) string {
	var parts []string
	for _, a := range list {
		text := a.prefix.String() + ">"
		if a.gateway.IsValid() {
			text += a.gateway.String()
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, " ")
}

func sameJSON(t *testing.T, want string, got []byte) {
	t.Helper()
	var a, b any
	if err := errors.Join(json.Unmarshal([]byte(want), &a), json.Unmarshal(got, &b)); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(a, b); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestSpec35Result(t *testing.T) {
	t.Parallel()
	req := request(cni.Add, "1.1.0", `{"ipam":{"addresses":[{"address":"10.0.0.7/24","gateway":"10.0.0.1"},{"address":"fd00::7/64"}],
		"routes":[{"dst":"0.0.0.0/0","gw":"10.0.0.1","mtu":1400,"advmss":1360,"priority":7,"table":100,"scope":0}],
		"dns":{"nameservers":["10.0.0.1"],"domain":"a.example","search":["b.example"],"options":["ndots:2"]}}}`, "")
	st, err := Plugin().Prepare(req)
	if err != nil {
		t.Fatal(err)
	}
	result, err := st.(cni.Previewer).Preview(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	result.CNIVersion = "1.1.0"
	got, err := json.Marshal(result)
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"cniVersion":"1.1.0","ips":[{"address":"10.0.0.7/24","gateway":"10.0.0.1"},{"address":"fd00::7/64"}],` +
		`"routes":[{"dst":"0.0.0.0/0","gw":"10.0.0.1","mtu":1400,"advmss":1360,"priority":7,"table":100,"scope":0}],` +
		`"dns":{"nameservers":["10.0.0.1"],"domain":"a.example","search":["b.example"],"options":["ndots:2"]}}`
	sameJSON(t, want, got)
}

// There is nothing to take away, whatever the configuration has become.
func TestSpec3DELWithABrokenConfiguration(t *testing.T) {
	t.Parallel()
	for _, verb := range []cni.Verb{cni.Del, cni.GC} {
		for _, conf := range []string{`{}`, `{"ipam":{"addresses":"x"}}`} {
			if _, err := Plugin().Prepare(request(verb, "1.1.0", conf, "IP=x")); err != nil {
				t.Errorf("%s with %s: %v", verb, conf, err)
			}
		}
	}
}

// TestSpec14CheckComparesGateways: those that are named must be in prevResult;
// where none is, the interface's plugin may have filled in its own.
func TestSpec14CheckComparesGateways(t *testing.T) {
	t.Parallel()
	const named = `"address":"10.0.0.7/24","gateway":"10.0.0.1"`
	for name, c := range map[string]struct {
		conf, prev string
		says       string // "": CHECK succeeds
	}{
		"as named":      {named, named, ""},
		"IPv6":          {`"address":"fd00::7/64","gateway":"fd00::1"`, `"address":"fd00::7/64","gateway":"fd00:0::1"`, ""},
		"another":       {named, `"address":"10.0.0.7/24","gateway":"10.0.0.2"`, "10.0.0.2"},
		"none any more": {named, `"address":"10.0.0.7/24"`, "10.0.0.1"},
		"filled in":     {`"address":"10.0.0.7/24"`, named, ""},
		"no address":    {named, `"address":"10.0.0.8/24","gateway":"10.0.0.1"`, "10.0.0.7/24"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			vars := map[string]string{
				"CNI_COMMAND": "CHECK", "CNI_CONTAINERID": "c0ffee", "CNI_IFNAME": "eth0",
				// No namespace is touched: any will do.
				"CNI_NETNS": "/proc/self/ns/net", "CNI_NETNS_OVERRIDE": "1", "FAIRLEAD_STATE_DIR": t.TempDir(),
			}
			var out, said bytes.Buffer
			runner := cni.Runner{
				Plugins: func(string) (cni.Plugin, bool) { return Plugin(), true },
				Kinds:   resource.Kinds,
				Getenv:  func(key string) string { return vars[key] },
				Stdin: strings.NewReader(`{"cniVersion":"1.0.0","name":"net","type":"bridge","ipam":{"type":"static","addresses":[{` + c.conf +
					`}]},"prevResult":{"cniVersion":"1.0.0","ips":[{` + c.prev + `}]}}`),
				Stdout: &out, Stderr: &said,
			}
			code := runner.Main("static")
			if (code == 0) != (c.says == "") || !strings.Contains(out.String(), c.says) {
				t.Errorf("%d: %s%s, want %q", code, &out, &said, c.says)
			}
		})
	}
}

func FuzzConfig(f *testing.F) {
	f.Add(`{"ipam":{"addresses":[{"address":"10.0.0.7/24","gateway":"10.0.0.1"}]}}`, "IP=10.0.1.7/24,fd00::1/64;GATEWAY=fd00::2")
	f.Add(`{"runtimeConfig":{"ips":["fd00::1/64"]},"ipam":{"routes":[null]}}`, "")
	f.Add(`{"args":{"cni":{"ips":["10.0.0.1/32"]}},"ipam":{}}`, "GATEWAY=,")
	f.Fuzz(func(t *testing.T, conf, args string) {
		st, err := Plugin().Prepare(request(cni.Add, "0.2.0", conf, args))
		if err != nil {
			if cni.Code(err) == cni.CodeFailed {
				t.Errorf("no code: %v", err)
			}
			return
		}
		result, err := st.Result(cni.Made{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := json.Marshal(result); err != nil {
			t.Errorf("accepted, but the result can't be written: %v", err)
		}
		for _, ip := range result.IPs {
			if _, err := cni.Prefix(ip.Address); err != nil {
				t.Error(err)
			}
		}
	})
}
