package cni

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/fairlead-net/fairlead/attachment"
	"github.com/fairlead-net/fairlead/kernel"
	"github.com/fairlead-net/fairlead/resource"
)

func testChild(master *resource.FindMaster) *Child {
	return &Child{
		Base:  Base{Req: &Request{IfName: "eth0", Netns: "/run/netns/c1"}},
		Child: resource.NewMacvlan(attachment.ID{Network: "n", Container: "c1", IfName: "eth0"}, "bridge"), Master: master,
	}
}

func TestChildMasterFact(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		master *resource.FindMaster
		fact   string
		want   string // the link's master, or the error's text after "!"
	}{
		{MasterOf("ens5", false), `{"name": "ens5", "mtu": 1500}`, "host ens5"},
		{MasterOf("alternative-name", false), `{"name": "ens5", "mtu": 1500}`, "host ens5"},
		{MasterOf("", true), `{"name": "net1", "mtu": 1500}`, "container net1"},
		{MasterOf("ens5", false), ``, "host ens5"},
		{MasterOf("", false), ``, "host "},
		{nil, ``, "host "},
		{MasterOf("ens5", false), `{}`, "!there is no interface ens5 on the host"},
		{MasterOf("net1", true), `{}`, "!there is no interface net1 in the container"},
		{MasterOf("", false), `{}`, "!there is no interface of a default route on the host"},
		{MasterOf("", false), `{"name": "ens5", "mtu": 1399}`, "!mtu 1400 is over that of the master ens5"},
		{MasterOf("", false), `[]`, "!fact master"},
	} {
		child := testChild(c.master)
		child.Child.MTU, child.MTUWithinMaster = 1400, true
		facts := map[string]json.RawMessage{}
		if c.fact != "" {
			facts["master"] = json.RawMessage(c.fact)
		}
		list, err := child.Link(NewFacts(facts))
		if want, fails := strings.CutPrefix(c.want, "!"); fails {
			if err == nil || !strings.Contains(err.Error(), want) || c.fact != "[]" && Code(err) != CodeConfig {
				t.Errorf("%v, want %q", err, want)
			}
			continue
		}
		if err != nil {
			t.Error(err)
			continue
		}
		if l := list[0].(*resource.ChildLink); string(l.MasterSide)+" "+l.Master != c.want {
			t.Errorf("%s of %s, want %s", l.Master, l.MasterSide, c.want)
		}
	}
}

// TestChildStatus: without its master no interface can be made (case 22).
func TestChildStatus(t *testing.T) {
	t.Parallel()
	host, err := kernel.Create("")
	if err != nil {
		t.Fatal(err)
	}
	defer host.Close()
	env, ctx := resource.Env{Host: host}, context.Background()
	for _, master := range []*resource.FindMaster{nil, MasterOf("lo", false), MasterOf("", true), MasterOf("ens5", true)} {
		if err := testChild(master).Status(ctx, env); err != nil {
			t.Errorf("%v: %v", master, err)
		}
	}
	for _, master := range []*resource.FindMaster{MasterOf("ens5", false), MasterOf("", false)} {
		if err := testChild(master).Status(ctx, env); Code(err) != CodeNotAvailable || !strings.Contains(err.Error(), "there is no") {
			t.Errorf("%v: %v", master, err)
		}
	}
	env.Host = host.WithFaults(kernel.FailNth("", 1, false, unix.EPERM))
	if err := testChild(MasterOf("lo", false)).Status(ctx, env); err == nil {
		t.Error("ready, though nothing was found out")
	}
}

func TestValidateMaster(t *testing.T) {
	t.Parallel()
	for name, ok := range map[string]bool{
		"": true, "ens5": true, "eth0.100": true, "enp0s31f6-alternative-name": true,
		".": false, "..": false, "a/b": false, "a b": false, "a:b": false, strings.Repeat("n", 128): false,
	} {
		if err := ValidateMaster(name); (err == nil) != ok || err != nil && Code(err) != CodeConfig {
			t.Errorf("%q: %v", name, err)
		}
	}
}
