//go:build vmtest

package vpc

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"testing"

	"github.com/containernetworking/cni/libcni"
	current "github.com/containernetworking/cni/pkg/types/100"

	"github.com/fairlead-net/fairlead/test/host"
)

// examples are the lists of plugins in a document.
func examples(t *testing.T, path string) (lists []*libcni.NetworkConfigList) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile("(?ms)^```json\n(.*?)^```$").FindAllSubmatch(text, -1) {
		list, err := libcni.NetworkConfFromBytes(m[1])
		if err != nil {
			t.Fatal(err)
		}
		lists = append(lists, list)
	}
	return lists
}

// documented gives the nodes the locators of the documents.
func documented(t *testing.T) [2]*node {
	t.Helper()
	nodes := twoNodes(t)
	for _, n := range nodes {
		n.MustRun("ip", "route", "add", fmt.Sprintf("fd00:0:%d::/48", n.other.n), "via", n.other.address())
	}
	return nodes
}

// pod makes one by the list, and has it removed when the test ends.
func (n *node) pod(t *testing.T, list *libcni.NetworkConfigList, name string) (netns string, r *current.Result) {
	t.Helper()
	c, ctx := n.Libcni(host.Build(t)), context.Background()
	rt := &libcni.RuntimeConf{ContainerID: name, NetNS: n.Netns(name), IfName: "eth0"}
	result, err := c.AddNetworkList(ctx, list, rt)
	if err != nil {
		t.Fatalf("ADD: %v", err)
	}
	t.Cleanup(func() {
		if err := c.DelNetworkList(ctx, list, rt); err != nil {
			t.Errorf("DEL: %v", err)
		}
	})
	if err := c.CheckNetworkList(ctx, list, rt); err != nil {
		t.Errorf("CHECK: %v", err)
	}
	if r, err = current.NewResultFromResult(result); err != nil {
		t.Fatal(err)
	}
	return rt.NetNS, r
}

// TestExamplesOfTheReadme work as they are.
func TestExamplesOfTheReadme(t *testing.T) {
	t.Parallel()
	nodes := documented(t)
	all := examples(t, "../../plugin/vpc/README.md")
	for i, list := range all {
		if _, r := nodes[0].pod(t, list, fmt.Sprintf("example%d", i)); len(r.IPs) == 0 {
			t.Errorf("%s gives no address", list.Name)
		}
	}
	if len(all) == 0 {
		t.Error("there are none")
	}
}

// TestTwoNodesOfTheDocument: they reach each other, by the two configurations
// in docs/vpc.md.
func TestTwoNodesOfTheDocument(t *testing.T) {
	t.Parallel()
	nodes := documented(t)
	wire := capture(t, nodes[1].Host, "ens5")
	lists := examples(t, "../../docs/vpc.md")
	if len(lists) != 2 {
		t.Fatalf("%d configurations", len(lists))
	}
	var pods [2]string
	var ips [2]string
	for i, n := range nodes {
		netns, r := n.pod(t, lists[i], "pod")
		pods[i], ips[i] = netns, r.IPs[0].Address.IP.String()
	}
	source, err := nodes[0].ReachOn(pods[0], nodes[1].Host, pods[1], ips[1])
	if err != nil || source.String() != ips[0] {
		t.Errorf("%s, %v", source, err)
	}
	wire.saw(t, nodes[0].address(), "fd00:0:2:1647:7688::", ips[0], ips[1])
	wire.saw(t, nodes[1].address(), "fd00:0:1:1647:7688::", ips[1], ips[0])
	wire.bare(t)
}
