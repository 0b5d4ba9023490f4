package hostlocal

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/containernetworking/cni/pkg/types"
	current "github.com/containernetworking/cni/pkg/types/100"

	"github.com/fairlead-net/fairlead/cni"
	"github.com/fairlead-net/fairlead/cni/plantest"
	"github.com/fairlead-net/fairlead/engine"
	"github.com/fairlead-net/fairlead/ipam"
	"github.com/fairlead-net/fairlead/resource"
)

func TestPlans(t *testing.T) {
	t.Parallel()
	plantest.Run(t, Plugin())
}

// request is a validated one, as the protocol's room makes it.
func request(verb cni.Verb, conf, args string) *cni.Request {
	req := plantest.Request([]byte(conf))
	req.Verb, req.Args = verb, args
	req.Conf.Name, req.Conf.CNIVersion = "net", "1.1.0"
	return req
}

func prepare(t *testing.T, verb cni.Verb, conf, args string) *statement {
	t.Helper()
	st, err := Plugin().Prepare(request(verb, conf, args))
	if err != nil {
		t.Fatal(err)
	}
	return st.(*statement)
}

// lease makes what the statement owns.
func lease(t *testing.T, st *statement) cni.Made {
	t.Helper()
	list, err := st.Link(cni.Facts{})
	if err != nil {
		t.Fatal(err)
	}
	raw := map[string]json.RawMessage{}
	for _, f := range st.Facts() {
		found, err := f.Find(context.Background(), resource.Env{})
		if err != nil {
			t.Fatal(err)
		}
		if raw[f.Name()], err = json.Marshal(found); err != nil {
			t.Fatal(err)
		}
	}
	for _, r := range list {
		if err := r.Create(context.Background(), resource.Env{}); err != nil {
			t.Fatal(err)
		}
	}
	return cni.Made{Facts: cni.NewFacts(raw), Link: list}
}

func TestErrors(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		conf, args, want string
		code             uint
	}{
		"no ipam":       {`{}`, "", "no ipam section", cni.CodeConfig},
		"no ranges":     {`{"ipam":{}}`, "", "no ranges", cni.CodeConfig},
		"outside":       {`{"ipam":{"subnet":"10.0.0.0/24","rangeStart":"10.0.1.1"}}`, "", "rangeStart 10.0.1.1 is outside", cni.CodeConfig},
		"wrong type":    {`{"ipam":{"ranges":[{"subnet":"10.0.0.0/24"}]}}`, "", "ipam.ranges", cni.CodeDecode},
		"route":         {`{"ipam":{"subnet":"10.0.0.0/24","routes":[{"gw":"10.0.0.1"}]}}`, "", "dst is missing", cni.CodeConfig},
		"IP in args":    {`{"ipam":{"subnet":"10.0.0.0/24"}}`, "IP=ten", "CNI_ARGS: IP", cni.CodeEnvironment},
		"IP elsewhere":  {`{"ipam":{"subnet":"10.0.0.0/24"}}`, "IP=10.0.1.1", "in none of the ranges", cni.CodeConfig},
		"IP of gateway": {`{"ipam":{"subnet":"10.0.0.0/24"}}`, "IP=10.0.0.1", "is the gateway", cni.CodeConfig},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := Plugin().Prepare(request(cni.Add, tt.conf, tt.args))
			if err == nil || !strings.Contains(err.Error(), tt.want) || cni.Code(err) != tt.code {
				t.Errorf("got %v (code %d), want code %d and %q", err, cni.Code(err), tt.code, tt.want)
			}
		})
	}
}

// Ranges that have become wrong since ADD must not keep a lease.
func TestSpec3DELWithABrokenConfiguration(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	conf := func(rest string) string { return fmt.Sprintf(`{"ipam":{"dataDir":%q,%s}}`, dir, rest) }
	made := lease(t, prepare(t, cni.Add, conf(`"subnet":"10.0.0.0/24"`), ""))
	list, err := prepare(t, cni.Del, conf(`"subnet":"nonsense"`), "IP=x").Link(cni.Facts{})
	if err != nil {
		t.Fatal(err)
	}
	if list[0].Key() != made.Link[0].Key() {
		t.Errorf("%q at ADD, %q at DEL", made.Link[0].Key(), list[0].Key())
	}
	if err := list[0].Remove(context.Background(), resource.Env{}); err != nil {
		t.Fatal(err)
	}
	if st, err := made.Link[0].Observe(context.Background(), resource.Env{}); err != nil || st.Is != engine.IsAbsent {
		t.Errorf("after DEL: %+v, %v", st, err)
	}
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
	dir := t.TempDir()
	resolv := filepath.Join(dir, "resolv.conf")
	if err := os.WriteFile(resolv, []byte("nameserver 10.9.9.9\nsearch a.example b.example\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	st := prepare(t, cni.Add, fmt.Sprintf(`{"ipam":{"dataDir":%q,"resolvConf":%q,
		"ranges":[[{"subnet":"10.0.0.0/24"}],[{"subnet":"fd00::/64","gateway":"fd00::ffff"}]],
		"routes":[{"dst":"0.0.0.0/0","mtu":1400,"advmss":1360,"priority":7,"table":100,"scope":0},{"dst":"::/0","gw":"fd00::ffff"}]}}`,
		dir, resolv), "")
	const want = `{"cniVersion":"1.1.0","ips":[{"address":"10.0.0.2/24","gateway":"10.0.0.1"},{"address":"fd00::1/64","gateway":"fd00::ffff"}],` +
		`"routes":[{"dst":"0.0.0.0/0","mtu":1400,"advmss":1360,"priority":7,"table":100,"scope":0},{"dst":"::/0","gw":"fd00::ffff"}],` +
		`"dns":{"nameservers":["10.9.9.9"],"search":["a.example","b.example"]}}`
	preview, err := st.Preview(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	result, err := st.Result(lease(t, st))
	if err != nil {
		t.Fatal(err)
	}
	for name, r := range map[string]*current.Result{"preview": preview, "result": result} {
		r.CNIVersion = "1.1.0"
		got, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		t.Log(name)
		sameJSON(t, want, got)
	}
}

func TestSpec23Status(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	conf := fmt.Sprintf(`{"ipam":{"dataDir":%q,"subnet":"10.0.0.0/30","resolvConf":%q}}`, dir, filepath.Join(dir, "resolv.conf"))
	// STATUS names no container.
	req := request(cni.Status, conf, "")
	req.ContainerID, req.IfName, req.Netns = "", "", ""
	prepared, err := Plugin().Prepare(req)
	if err != nil {
		t.Fatal(err)
	}
	st := prepared.(*statement)
	if err := st.Status(context.Background(), resource.Env{}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("without resolv.conf: %v", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "resolv.conf"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := st.Status(context.Background(), resource.Env{}); err != nil {
		t.Error(err)
	}
	list, err := st.Link(cni.Facts{})
	if err != nil {
		t.Fatal(err)
	}
	ready := func() error { return list[0].(resource.Readier).Ready(context.Background(), resource.Env{}) }
	if err := ready(); err != nil {
		t.Error(err)
	}
	lease(t, prepare(t, cni.Add, conf, ""))
	if err := ready(); !errors.Is(err, ipam.ErrExhausted) {
		t.Errorf("used up: %v", err)
	}
}

func TestResolvConf(t *testing.T) {
	t.Parallel()
	got := parseResolvConf(`# a comment
; another
nameserver 192.0.2.1
 nameserver	2001:db8::1   # the rest is not read
nameserver
domain first.example
domain last.example
search a.example b.example
search c.example
options ndots:2 edns0
sortlist 192.0.2.0`)
	want := types.DNS{
		Nameservers: []string{"192.0.2.1", "2001:db8::1"}, Domain: "last.example",
		Search: []string{"a.example", "b.example", "c.example"}, Options: []string{"ndots:2", "edns0"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func FuzzResolvConf(f *testing.F) {
	f.Add("nameserver 192.0.2.1\nsearch a b\n")
	f.Add("options\r\n;\x00")
	f.Fuzz(func(t *testing.T, text string) {
		if _, err := json.Marshal(parseResolvConf(text)); err != nil {
			t.Error(err)
		}
	})
}

func FuzzPrepare(f *testing.F) {
	f.Add(`{"ipam":{"subnet":"10.0.0.0/24","routes":[{"dst":"::/0"}]}}`, "IP=10.0.0.9;K=V")
	f.Add(`{"ipam":{"ranges":[[{"subnet":"fd00::/64"}]]},"runtimeConfig":{"ips":["fd00::9/64"]}}`, "")
	f.Fuzz(func(t *testing.T, conf, args string) {
		for _, verb := range []cni.Verb{cni.Add, cni.Del, cni.Status} {
			st, err := Plugin().Prepare(request(verb, conf, args))
			if err != nil {
				if cni.Code(err) == cni.CodeFailed {
					t.Errorf("%s: no code: %v", verb, err)
				}
				continue
			}
			if list, err := st.Link(cni.Facts{}); err != nil || len(list) != 1 || list[0].Key() == "" {
				t.Errorf("%s: %v, %v", verb, list, err)
			}
		}
	})
}
