//go:build vmtest

package vpc

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fairlead-net/fairlead/test/host"
)

// number of each VPC in its segments.
func number(vpc string) int { return map[string]int{"blue": 1, "red": 2}[vpc] }

func (n *node) segment(vpc string) string { return fmt.Sprintf("fc00:0:%d:0:%d::", n.n, number(vpc)) }

// config is an attachment that reaches the other node.
func (n *node) config(vpc, mode string, last int) host.Config {
	return conf(vpc, fmt.Sprintf("%s-%d", mode, last), "mode", mode,
		"ipam", addresses(n.v4(last)+"/24", n.v6(last)+"/64"),
		"srv6", map[string]any{
			"locator": n.locator(), "function": number(vpc),
			"remotes": []any{
				map[string]any{"prefix": fmt.Sprintf("10.1.%d.0/24", n.other.n), "sid": n.other.segment(vpc)},
				map[string]any{"prefix": fmt.Sprintf("fd00:1:%d::/64", n.other.n), "sid": n.other.segment(vpc)},
			},
		})
}

// A guest is a pod, or a machine behind a tap device, where its addresses are.
type guest struct {
	node  *node
	vpc   string
	last  int
	where string // its namespace
}

func (g guest) String() string { return fmt.Sprintf("%s %d on node %d", g.vpc, g.last, g.node.n) }

func (n *node) guest(t *testing.T, vpc, mode string, last int) guest {
	t.Helper()
	a := attach(t, n.Host, n.config(vpc, mode, last))
	r := a.MustAdd(t)
	t.Cleanup(func() { a.MustDel(t) })
	healthy(t, a, r)
	n.MustRunIn(a.Netns, "ip", "link", "set", "lo", "up")
	if mode == "veth" {
		return guest{n, vpc, last, a.Netns}
	}
	return guest{n, vpc, last, machine(t, n.Host, r, n.v4(last), n.v6(last))}
}

// reaches tells whether g reaches the address where to is.
func (g guest) reaches(to guest, address string) error {
	source, err := g.node.ReachOn(g.where, to.node.Host, to.where, address)
	want := g.node.v4(g.last)
	if strings.Contains(address, ":") {
		want = g.node.v6(g.last)
	}
	if err == nil && source.String() != want {
		return fmt.Errorf("%s seems to be %s", g, source)
	}
	return err
}

// TestTwoNodesTwoVPCs: the VPCs have the same addresses on both nodes, in pods
// and in machines. Who is in one reaches the others in it, wherever they are,
// and nobody else.
func TestTwoNodesTwoVPCs(t *testing.T) {
	t.Parallel()
	nodes := twoNodes(t)
	wire := capture(t, nodes[1].Host, "ens5")
	var all []guest
	for _, n := range nodes {
		for _, vpc := range []string{"blue", "red"} {
			all = append(all, n.guest(t, vpc, "veth", 5), n.guest(t, vpc, "tap", 6))
		}
		// One that the other VPC has no address for.
		all = append(all, n.guest(t, "red", "veth", 7))
	}
	for _, from := range all {
		for _, to := range all {
			if from.node == to.node && from.last == to.last {
				continue // that is its own address, too
			}
			for _, address := range []string{to.node.v4(to.last), to.node.v6(to.last)} {
				// A listener at that address in to's namespace: who is in the other
				// VPC meets another one, or none.
				err := from.reaches(to, address)
				if same := from.vpc == to.vpc; same != (err == nil) {
					t.Errorf("%s to %s at %s: %v", from, to, address, err)
				}
			}
		}
	}
	for _, from := range all {
		for _, n := range nodes {
			for _, address := range []string{n.address(), fmt.Sprintf("192.0.2.%d", n.n)} {
				if err := from.reaches(guest{node: n}, address); err == nil {
					t.Errorf("%s reaches %s, which is in no VPC", from, address)
				}
			}
		}
	}
	// Nor is there a way to the other VPC's segments.
	if out, err := nodes[0].Command("ip", "-6", "route", "get", nodes[1].segment("red"), "vrf", "vpc-blue").Output(); err == nil {
		t.Errorf("blue has a way to a segment of red: %s", out)
	}
	if out, err := nodes[0].Command("ip", "-6", "route", "get", nodes[1].segment("blue"), "vrf", "vpc-blue").Output(); err != nil {
		t.Errorf("blue has no way to its own segment: %v: %s", err, out)
	}
	wire.saw(t, nodes[0].address(), nodes[1].segment("blue"), nodes[0].v4(5), nodes[1].v4(5))
	wire.saw(t, nodes[0].address(), nodes[1].segment("blue"), nodes[0].v6(5), nodes[1].v6(5))
	wire.saw(t, nodes[1].address(), nodes[0].segment("red"), nodes[1].v4(6), nodes[0].v4(6))
	wire.bare(t)
}

// TestWithdrawn: when the last attachment of a VPC has gone, nothing of it is
// left, and the other VPC goes on.
func TestWithdrawn(t *testing.T) {
	t.Parallel()
	nodes := twoNodes(t)
	here, there := nodes[0].guest(t, "blue", "veth", 5), nodes[1].guest(t, "blue", "veth", 5)
	red := attach(t, nodes[0].Host, nodes[0].config("red", "veth", 5))
	red.MustAdd(t)
	tap := attach(t, nodes[0].Host, nodes[0].config("red", "tap", 6))
	tap.MustAdd(t)
	red.MustDel(t)
	if links := nodes[0].MustRun("ip", "-br", "link", "show", "type", "vrf"); !strings.Contains(links, "vpc-red") {
		t.Errorf("the VRF went with the first of two:\n%s", links)
	}
	tap.MustDel(t)
	if err := here.reaches(there, nodes[1].v4(5)); err != nil {
		t.Error(err)
	}
	for _, f := range nodes[0].Snapshot() {
		if s := f.String(); strings.Contains(s, "vpc-red") || strings.Contains(s, nodes[1].segment("red")) || strings.Contains(s, "100001") {
			t.Errorf("left of red: %s", s)
		}
	}
}
