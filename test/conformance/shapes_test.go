package conformance

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/containernetworking/cni/libcni"
	"github.com/containernetworking/cni/pkg/types"
	current "github.com/containernetworking/cni/pkg/types/100"

	"github.com/fairlead-net/fairlead/test/host"
)

// shapes are configuration lists in common use. Plugins that Fairlead does not
// have are the reference suite's.
var shapes = []struct {
	file, bridge string
	capabilities map[string]any
	vm           bool
	apart        bool // the containers do not reach each other
}{
	{file: "cluster-bridge-shaped", bridge: "cbr0", capabilities: map[string]any{
		"portMappings": []any{map[string]any{"hostPort": 8080, "containerPort": 80, "protocol": "tcp"}},
		"bandwidth":    map[string]any{"ingressRate": 100000000, "ingressBurst": 10000000},
	}},
	{file: "cluster-ptp", capabilities: map[string]any{
		"portMappings": []any{map[string]any{"hostPort": 8080, "containerPort": 80, "protocol": "tcp"}},
	}},
	{file: "engine-desktop", bridge: "cni-desk0"},
	{file: "runtime-default-dual", bridge: "cni0"},
	{file: "isolated-bridge-vlans", bridge: "br-iso", vm: true, apart: true},
}

// TestShapes takes two containers through their life on each shape.
func TestShapes(t *testing.T) {
	t.Parallel()
	path := plugins(t) + string(filepath.ListSeparator) + host.Reference(t)
	for _, s := range shapes {
		if s.vm != host.InVM() {
			continue
		}
		t.Run(s.file, func(t *testing.T) {
			t.Parallel()
			b, err := os.ReadFile(filepath.Join("testdata", s.file+".conflist"))
			if err != nil {
				t.Fatal(err)
			}
			list, err := libcni.ConfListFromBytes(b)
			if err != nil {
				t.Fatal(err)
			}
			h := host.New(t)
			l := life{t: t, h: h, list: list, exec: h.Exec(), capabilities: s.capabilities}
			l.cni = h.LibcniWith(path, l.exec)
			may := []func(host.Fact) bool{host.Standing, host.Bridge(s.bridge), referenceChains}
			before := h.Snapshot()
			one, two := l.add("c1"), l.add("c2")
			for n := range one.IPs {
				from, to := "/run/netns/c1", two.IPs[n].Address.IP.String()
				if s.apart {
					if !h.Apart(from, "/run/netns/c2", to) {
						t.Errorf("c1 reaches c2 at %s", to)
					}
				} else if _, err := h.Reach(from, "/run/netns/c2", to); err != nil {
					t.Errorf("c1 to c2 at %s: %v", to, err)
				}
			}
			l.check("c1")
			l.check("c2")
			l.del("c1")
			l.del("c1")
			l.check("c2")
			l.gc("c2")
			l.check("c2")
			h.DeleteNetns("/run/netns/c2")
			l.del("c2")
			l.del("c2")
			l.gc()
			h.DeleteNetns("/run/netns/c1")
			h.SameSoon(t, before, may...)
		})
	}
}

// referenceChains is true for what the reference suite's portmap and firewall
// ensure and leave.
func referenceChains(f host.Fact) bool {
	for _, s := range []string{"CNI-HOSTPORT-", "CNI-FORWARD", "CNI-ADMIN", "CNI-ISOLATION-"} {
		if (f.Sort == "nft" || f.Sort == "chain") && strings.Contains(f.Name+f.Detail, s) {
			return true
		}
	}
	return f.Sort == "file" && strings.HasPrefix(f.Name, "/run/cni-ipam-state/") && strings.Contains(f.Name, "last_reserved_ip.") ||
		f.Sort == "file" && filepath.Base(f.Name) == "lock"
}

// A life is a container's way through libcni.
type life struct {
	t            *testing.T
	h            *host.Host
	cni          *libcni.CNIConfig
	exec         *host.Exec
	list         *libcni.NetworkConfigList
	capabilities map[string]any
}

func (l *life) runtime(container string) *libcni.RuntimeConf {
	return &libcni.RuntimeConf{
		ContainerID: container, NetNS: "/run/netns/" + container, IfName: "eth0",
		CapabilityArgs: l.portsOf(container),
	}
}

// portsOf gives the second container other host ports.
func (l *life) portsOf(container string) map[string]any {
	args := map[string]any{}
	for k, v := range l.capabilities {
		args[k] = v
	}
	if _, ok := args["portMappings"]; ok && container != "c1" {
		args["portMappings"] = []any{map[string]any{"hostPort": 8081, "containerPort": 80, "protocol": "tcp"}}
	}
	return args
}

func (l *life) add(container string) *current.Result {
	l.t.Helper()
	l.h.Netns(container)
	r, err := l.cni.AddNetworkList(context.Background(), l.list, l.runtime(container))
	if err != nil {
		l.t.Fatalf("ADD of %s: %v\n%s", container, err, l.exec.Stderr())
	}
	result, err := current.NewResultFromResult(r)
	if err != nil {
		l.t.Fatal(err)
	}
	return result
}

func (l *life) check(container string) {
	l.t.Helper()
	if v := l.list.CNIVersion; strings.HasPrefix(v, "0.") && v != "0.4.0" {
		return // such a list knows no CHECK
	}
	if err := l.cni.CheckNetworkList(context.Background(), l.list, l.runtime(container)); err != nil {
		l.t.Errorf("CHECK of %s: %v", container, err)
	}
}

func (l *life) del(container string) {
	l.t.Helper()
	if err := l.cni.DelNetworkList(context.Background(), l.list, l.runtime(container)); err != nil {
		l.t.Errorf("DEL of %s: %v", container, err)
	}
}

func (l *life) gc(valid ...string) {
	l.t.Helper()
	args := &libcni.GCArgs{ValidAttachments: []types.GCAttachment{}}
	for _, v := range valid {
		args.ValidAttachments = append(args.ValidAttachments, types.GCAttachment{ContainerID: v, IfName: "eth0"})
	}
	if err := l.cni.GCNetworkList(context.Background(), l.list, args); err != nil {
		l.t.Errorf("GC: %v", err)
	}
}
