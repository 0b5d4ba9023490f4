package cni

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/containernetworking/cni/pkg/types"
	current "github.com/containernetworking/cni/pkg/types/100"
)

// TestSpec31DelegateHearsTodaysEnvironment: DEL may say another path, and other
// arguments; what it leaves out is as it was at ADD.
func TestSpec31DelegateHearsTodaysEnvironment(t *testing.T) {
	t.Parallel()
	for _, said := range []bool{true, false} {
		d := newDesk(t)
		script := "#!/bin/sh\necho \"$CNI_COMMAND $CNI_NETNS $CNI_ARGS\" >> " + d.dir + "/heard\n" +
			`[ "$CNI_COMMAND" = ADD ] && echo '{"cniVersion":"1.1.0","ips":[{"address":"10.0.0.2/24"}]}'; exit 0` + "\n"
		if err := os.WriteFile(filepath.Join(d.dir, "recorder"), []byte(script), 0o700); err != nil {
			t.Fatal(err)
		}
		path := d.vars["CNI_NETNS"]
		d.vars["CNI_PATH"], d.vars["CNI_ARGS"] = d.dir, "A=add"
		conf := `{"cniVersion":"1.1.0","name":"net","type":"toy","ipam":{"type":"recorder"}}`
		want := "ADD " + path + " A=add\nDEL " + path + " A=add\n"
		if code, out := d.call(Add, conf); code != 0 {
			t.Fatal(out)
		}
		entry, err := os.ReadFile(d.entries(t)[0])
		if err != nil || !strings.Contains(string(entry), `"delegate.1"`) || strings.Contains(string(entry), "10.0.0.2") {
			t.Errorf("a result that nobody reads is in the record, or no delegate is (%v): %s", err, entry)
		}
		d.vars["CNI_NETNS"], d.vars["CNI_ARGS"] = "", ""
		if said {
			other := strings.Replace(path, "/proc/", "/proc/self/../", 1)
			d.vars["CNI_NETNS"], d.vars["CNI_ARGS"] = other, "A=del"
			want = "ADD " + path + " A=add\nDEL " + other + " A=del\n"
		}
		if code, out := d.call(Del, conf); code != 0 {
			t.Fatal(out)
		}
		if heard, err := os.ReadFile(filepath.Join(d.dir, "heard")); err != nil || string(heard) != want {
			t.Errorf("heard %q, want %q (%v)", heard, want, err)
		}
	}
}

// talker is a plugin that says more than an old version can.
type talker struct{ Base }

func (talker) Result(Made) (*current.Result, error) {
	network := func(s string) net.IPNet {
		_, n, err := net.ParseCIDR(s)
		if err != nil {
			panic(err)
		}
		return *n
	}
	return &current.Result{
		IPs:    []*current.IPConfig{{Address: network("10.0.0.0/24")}},
		Routes: []*types.Route{{Dst: network("0.0.0.0/0")}, {Dst: network("::/0")}},
	}, nil
}

// TestDelegateInProcessSaysWhatAnExecutedOneCan, and no more.
func TestDelegateInProcessSaysWhatAnExecutedOneCan(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	plugin := Plugin{Name: "talker", Prepare: func(req *Request) (Statement, error) { return talker{Base{req}}, nil }}
	for version, routes := range map[string]int{"0.2.0": 1, "0.3.1": 2, "1.1.0": 2} {
		result, err := d.runner.inProcess(context.Background(), plugin, &Request{
			Verb: Add, ContainerID: "c1", IfName: "eth0", Netns: d.vars["CNI_NETNS"],
			Stdin: []byte(`{"cniVersion":"` + version + `","name":"` + "n" + version + `","type":"talker"}`),
		}, nil)
		if err != nil || len(result.IPs) != 1 || len(result.Routes) != routes {
			t.Errorf("%s: %v, %v; want %d routes", version, result, err, routes)
		}
	}
}
