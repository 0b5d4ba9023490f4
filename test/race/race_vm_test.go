//go:build vmtest

package race

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"text/tabwriter"

	"github.com/containernetworking/cni/libcni"

	"github.com/fairlead-net/fairlead/kernel"
	"github.com/fairlead-net/fairlead/test/host"
)

// point is where in a teardown the trap springs.
type point int

const (
	release      point = iota + 1 // vrf takes the interface out of the VRF
	vrfDelete                     // vrf deletes the VRF
	memberDelete                  // macvlan deletes the interface
)

// race is what is taken away, and just before what.
type race struct {
	name        string
	vrf, member bool
	before      point
}

func races() []race {
	return []race{
		{"VRF, before its delete", true, false, vrfDelete},
		{"member, before its release", false, true, release},
		{"both, before the release", true, true, release},
		{"both, before the VRF's delete", true, true, vrfDelete},
		{"member, before its delete", false, true, memberDelete},
	}
}

// count is what a number of rounds came to.
type count struct {
	rounds     int
	failed     int // DELs
	twice      int // DELs that failed again
	namespaces int // left
	links      int // left, in namespaces or on the host
	says       map[string]bool
}

// network is a list of macvlan on the host's eth1, in a VRF.
const network = `{
  "cniVersion": "1.0.0",
  "name": "net-red",
  "plugins": [
    {
      "type": "macvlan", "master": "eth1", "mode": "bridge",
      "ipam": {"type": "static", "addresses": [{"address": "198.51.100.10/24", "gateway": "198.51.100.1"}]}
    },
    {"type": "vrf", "vrfname": "red", "table": 1001}
  ]
}`

// TestCase01ForcedRace: whatever is taken away, and whenever, nothing is left.
func TestCase01ForcedRace(t *testing.T) {
	rounds := 4
	if v := os.Getenv("FAIRLEAD_RACE_ROUNDS"); v != "" {
		var err error
		if rounds, err = strconv.Atoi(v); err != nil {
			t.Fatal(err)
		}
	}
	suites := []struct{ name, dir string }{{"fairlead", host.Build(t)}, {"reference", host.Reference(t)}}
	counts := make([][]count, len(suites))
	t.Run("of", func(t *testing.T) {
		for i, s := range suites {
			t.Run(s.name, func(t *testing.T) {
				t.Parallel()
				n := newNode(t, s.dir)
				for _, r := range races() {
					counts[i] = append(counts[i], n.run(r, rounds))
				}
			})
		}
	})
	if t.Failed() {
		return
	}
	var table strings.Builder
	w := tabwriter.NewWriter(&table, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "taken away\tsuite\trounds\tDEL failed\tand again\tnamespaces left\tlinks left")
	for k, r := range races() {
		for i, s := range suites {
			c := counts[i][k]
			fmt.Fprintf(w, "%s\t%s\t%d\t%d\t%d\t%d\t%d\n", r.name, s.name, c.rounds, c.failed, c.twice, c.namespaces, c.links)
			if s.name == "fairlead" && (c.twice > 0 || c.namespaces > 0 || c.links > 0) {
				t.Errorf("%s: %+v", r.name, c)
			}
			for _, m := range slices.Sorted(maps.Keys(c.says)) {
				t.Logf("%s, %s: %s", s.name, r.name, m)
			}
		}
	}
	for i, s := range suites {
		sum := count{}
		for _, c := range counts[i] {
			sum.rounds, sum.failed, sum.twice = sum.rounds+c.rounds, sum.failed+c.failed, sum.twice+c.twice
			sum.namespaces, sum.links = sum.namespaces+c.namespaces, sum.links+c.links
		}
		fmt.Fprintf(w, "all\t%s\t%d\t%d\t%d\t%d\t%d\n", s.name, sum.rounds, sum.failed, sum.twice, sum.namespaces, sum.links)
	}
	w.Flush()
	t.Log("\n" + table.String())
}

// node is a host with one suite's plugins on it.
type node struct {
	*testing.T
	h    *host.Host
	ns   *kernel.Namespace // the host's own
	exec *runner
	cni  *libcni.CNIConfig
	list *libcni.NetworkConfigList

	containers int
}

func newNode(t *testing.T, dir string) *node {
	t.Helper()
	n := &node{T: t, h: newHost(t)}
	n.ns = n.open(n.h.NetnsPath())
	t.Cleanup(func() { n.ns.Close() })
	n.exec = &runner{Exec: n.h.Exec(), h: n.h}
	n.cni = libcni.NewCNIConfigWithCacheDir([]string{dir}, t.TempDir(), n.exec)
	var err error
	if n.list, err = libcni.ConfListFromBytes([]byte(network)); err != nil {
		t.Fatal(err)
	}
	return n
}

// open opens a namespace whose path only the host has.
func (n *node) open(path string) *kernel.Namespace {
	n.Helper()
	var ns *kernel.Namespace
	var absence kernel.Absence
	var err error
	n.h.Do(func() { ns, absence, err = kernel.Open(path) })
	if err != nil || absence != "" {
		n.Fatalf("open %s: %s %v", path, absence, err)
	}
	return ns
}

// run runs one race, each round with a container of its own.
func (n *node) run(r race, rounds int) count {
	n.Helper()
	c := count{says: map[string]bool{}}
	before := n.links(n.ns)
	for range rounds {
		n.containers++
		id := fmt.Sprintf("c%d", n.containers)
		n.round(r, &libcni.RuntimeConf{ContainerID: id, NetNS: n.h.Netns(id), IfName: "net1"}, &c)
	}
	c.links += n.links(n.ns) - before
	return c
}

func (n *node) round(r race, rt *libcni.RuntimeConf, c *count) {
	n.Helper()
	ctx := context.Background()
	c.rounds++
	if _, err := n.cni.AddNetworkList(ctx, n.list, rt); err != nil {
		n.Fatalf("ADD: %v", err)
	}
	tr := n.set(r, rt)
	defer tr.ns.Close()
	n.exec.trap = tr
	err := n.cni.DelNetworkList(ctx, n.list, rt)
	n.exec.trap = nil
	if !tr.sprung || len(tr.errs) > 0 {
		n.Fatalf("%s: sprung: %t, %v; DEL: %v", r.name, tr.sprung, tr.errs, err)
	}
	if err != nil {
		c.failed++
		c.says[err.Error()] = true
		if err = n.cni.DelNetworkList(ctx, n.list, rt); err != nil {
			c.twice++
			c.says["again: "+err.Error()] = true
		}
	}
	c.links += n.links(tr.ns)
	if err != nil {
		c.namespaces++ // the runtime will try again, and never remove it
		return
	}
	n.h.DeleteNetns(rt.NetNS)
}

// links counts those that such a network has.
func (n *node) links(ns *kernel.Namespace) int {
	n.Helper()
	all, err := ns.Links()
	if err != nil {
		n.Fatal(err)
	}
	count := 0
	for _, l := range all {
		if l.Kind == "macvlan" || l.Kind == "vrf" {
			count++
		}
	}
	return count
}

// set sets the trap for a container.
func (n *node) set(r race, rt *libcni.RuntimeConf) *trap {
	n.Helper()
	tr := &trap{race: r, ns: n.open(rt.NetNS)}
	var err error
	if tr.cookie, err = tr.ns.Cookie(); err != nil {
		n.Fatal(err)
	}
	for name, index := range map[string]*int{"red": &tr.vrf, rt.IfName: &tr.member} {
		l, ok, err := tr.ns.Link(name)
		if err != nil || !ok {
			n.Fatalf("%s after ADD: %t, %v", name, ok, err)
		}
		*index = l.Index
	}
	return tr
}
