package cni

import (
	"os"
	"strings"
	"testing"

	"github.com/fairlead-net/fairlead/attachment"
)

// TestCase15ClaimedByAnUnreadEntry: what can't be read may be the record of the
// attachment that has the interface, unless it is this attachment's own.
func TestCase15ClaimedByAnUnreadEntry(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.vars["CNI_CONTAINERID"] = "c2"
	if code, out := d.call(Add, goodConf); code != 0 {
		t.Fatal(out)
	}
	ask := func(container, ifName string) (bool, error) {
		req := &Request{Verb: Del, ContainerID: container, Netns: d.vars["CNI_NETNS"], IfName: ifName, Stdin: []byte(goodConf)}
		if err := req.validate(); err != nil {
			t.Fatal(err)
		}
		c := &call{runner: d.runner, req: req}
		c.open()
		env, _, _, leave, err := c.here()
		if err != nil {
			t.Fatal(err)
		}
		defer leave()
		return env.Claimed(ifName)
	}
	want := func(container, ifName string, claimed bool, says string) {
		t.Helper()
		got, err := ask(container, ifName)
		if got != claimed || (err == nil) != (says == "") || err != nil && !strings.Contains(err.Error(), says) {
			t.Errorf("%s of %s: %t, %v", ifName, container, got, err)
		}
	}
	has := d.vars["CNI_IFNAME"]
	want("c1", has, true, "")
	want("c1", "eth7", false, "")
	want("c2", has, false, "")

	if err := os.WriteFile(d.entries(t)[0], []byte("nonsense\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	want("c1", has, false, string(attachment.ID{Network: "net", Container: "c2", IfName: has}.Owner()))
	want("c2", has, false, "")

	// One that claims it is enough.
	d.vars["CNI_CONTAINERID"] = "c3"
	if code, out := d.call(Add, goodConf); code != 0 {
		t.Fatal(out)
	}
	want("c1", has, true, "")
}
