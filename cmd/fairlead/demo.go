package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/containernetworking/cni/libcni"
	current "github.com/containernetworking/cni/pkg/types/100"
	"github.com/spf13/cobra"

	"github.com/fairlead-net/fairlead/cmd/usage"
	"github.com/fairlead-net/fairlead/kernel"
	"github.com/fairlead-net/fairlead/resource"
)

func demoCommand() *cobra.Command {
	return &cobra.Command{
		Use: "demo", Short: "Two containers on a bridge, made, checked, removed, and proof that nothing stays", Args: usage.Exactly(0),
		Long: `Demo makes two network namespaces, gives each a network by a bridge
configuration with masquerading, shows the plan, pings from one to the other and
back, checks both, removes both twice, collects the unused bridge, and compares
the host's links, nftables and leases with what they were before. It needs root.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if os.Geteuid() != 0 {
				return errors.New("demo makes network namespaces and links on this host: it needs root (try sudo fairlead demo)")
			}
			ctx, cancel := context.WithTimeout(cmd.Context(), 2*time.Minute)
			defer cancel()
			return runDemo(ctx, cmd.OutOrStdout())
		},
	}
}

const demoBridge = "fl-demo0"

const demoConflist = `{
  "cniVersion": "1.1.0",
  "name": "fairlead-demo",
  "plugins": [{
    "type": "bridge",
    "bridge": "` + demoBridge + `",
    "isDefaultGateway": true,
    "ipMasq": true,
    "ipam": {
      "type": "host-local",
      "dataDir": "%s",
      "ranges": [[{"subnet": "198.18.77.0/24"}], [{"subnet": "fd77:f1::/64"}]]
    }
  }]
}
`

// demo is one run: a directory of its own for plugins, state, leases and
// namespaces, and the two containers.
type demo struct {
	out        io.Writer
	dir        string
	list       *libcni.NetworkConfigList
	cni        *libcni.CNIConfig
	containers []*container
	before     demoPicture
}

type container struct {
	conf *libcni.RuntimeConf
	ips  []*current.IPConfig
}

func runDemo(ctx context.Context, out io.Writer) (err error) {
	d := &demo{out: out}
	restore, err := keepForwarding()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, restore()) }()
	if err := d.setUp(); err != nil {
		return errors.Join(err, d.tearDown(ctx))
	}
	for _, step := range []struct {
		say string
		do  func(context.Context) error
	}{
		{"The plan: what one container will own, in order", d.showPlan},
		{"ADD: two containers", d.add},
		{"Ping, both ways", d.ping},
		{"CHECK", d.check},
		{"DEL, and DEL again, as runtimes do", d.del},
		{"gc --unused: the bridge that teardown leaves for the next container", d.collect},
		{"Proof: the host as before", d.prove},
	} {
		fmt.Fprintf(out, "\n== %s\n", step.say)
		if err := step.do(ctx); err != nil {
			return errors.Join(fmt.Errorf("%s: %w", step.say, err), d.tearDown(ctx))
		}
	}
	return d.tearDown(ctx)
}

// keepForwarding puts back what the demo's gateway turns on: elsewhere it is
// left on, since others come to rely on it. So is that links heed routers though
// the host forwards.
func keepForwarding() (restore func() error, err error) {
	files := []string{"/proc/sys/net/ipv4/ip_forward", "/proc/sys/net/ipv6/conf/all/forwarding"}
	heed, err := filepath.Glob("/proc/sys/net/ipv6/conf/*/accept_ra")
	if err != nil {
		return nil, err
	}
	files = append(files, heed...)
	old := map[string][]byte{}
	for _, f := range files {
		value, err := os.ReadFile(f)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, fmt.Errorf("read %s: %w", f, err)
		}
		if err == nil {
			old[f] = value
		}
	}
	return func() error {
		var errs []error
		for f, value := range old {
			now, err := os.ReadFile(f)
			if err == nil && bytes.Equal(now, value) || errors.Is(err, os.ErrNotExist) { // of a link that is gone
				continue
			}
			errs = append(errs, os.WriteFile(f, value, 0o644))
		}
		return errors.Join(errs...)
	}, nil
}

func (d *demo) setUp() error {
	var err error
	if d.dir, err = os.MkdirTemp("/run", "fairlead-demo-"); err != nil {
		return fmt.Errorf("make a directory for the demo: %w", err)
	}
	for name, value := range map[string]string{"FAIRLEAD_STATE_DIR": d.path("state")} {
		if err := os.Setenv(name, value); err != nil {
			return err
		}
	}
	if err := install(io.Discard, d.path("bin"), false, true); err != nil {
		return err
	}
	conflist := fmt.Sprintf(demoConflist, d.path("leases"))
	if err := os.WriteFile(d.path("demo.conflist"), []byte(conflist), 0o600); err != nil {
		return err
	}
	if d.list, err = loadList(d.path("demo.conflist")); err != nil {
		return err
	}
	d.cni = libcni.NewCNIConfigWithCacheDir([]string{d.path("bin")}, d.path("cache"), nil)
	if d.before, err = d.picture(); err != nil {
		return err
	}
	fmt.Fprintf(d.out, "The configuration list:\n\n%s", conflist)
	return nil
}

func (d *demo) path(name string) string { return filepath.Join(d.dir, name) }

func (d *demo) showPlan(ctx context.Context) error {
	f := runtimeFlags{id: "demo-1", ifname: "eth0", path: d.path("bin")}
	runs, err := plan(ctx, &f, d.path("demo.conflist"), d.path("demo-1"))
	if err != nil {
		return err
	}
	return printPlan(d.out, runs)
}

func (d *demo) add(ctx context.Context) error {
	for _, id := range []string{"demo-1", "demo-2"} {
		ns, err := kernel.Create(d.path(id))
		if err != nil {
			return err
		}
		if err := ns.Close(); err != nil {
			return err
		}
		c := &container{conf: &libcni.RuntimeConf{ContainerID: id, NetNS: d.path(id), IfName: "eth0"}}
		d.containers = append(d.containers, c)
		start := time.Now()
		raw, err := d.cni.AddNetworkList(ctx, d.list, c.conf)
		if err != nil {
			return explain(err)
		}
		took := time.Since(start)
		result, err := current.NewResultFromResult(raw)
		if err != nil {
			return err
		}
		c.ips = result.IPs
		fmt.Fprintf(d.out, "%s in %v:", id, took.Round(100*time.Microsecond))
		for _, ip := range c.ips {
			fmt.Fprintf(d.out, " %s", ip.Address.String())
		}
		fmt.Fprintln(d.out)
	}
	return nil
}

func (d *demo) ping(ctx context.Context) error {
	for n, from := range d.containers {
		to := d.containers[1-n]
		for _, ip := range to.ips {
			rtt, err := ping(ctx, from.conf.NetNS, ip.Address.IP)
			if err != nil {
				return fmt.Errorf("from %s to %s: %w", from.conf.ContainerID, ip.Address.IP, err)
			}
			fmt.Fprintf(d.out, "%s -> %s (%s): answered in %v\n", from.conf.ContainerID, to.conf.ContainerID, ip.Address.IP, rtt.Round(time.Microsecond))
		}
	}
	return nil
}

func (d *demo) check(ctx context.Context) error {
	for _, c := range d.containers {
		if err := d.cni.CheckNetworkList(ctx, d.list, c.conf); err != nil {
			return explain(err)
		}
		fmt.Fprintf(d.out, "%s: as it was made\n", c.conf.ContainerID)
	}
	return nil
}

func (d *demo) del(ctx context.Context) error {
	for _, again := range []string{"", " again"} {
		for _, c := range d.containers {
			start := time.Now()
			if err := d.cni.DelNetworkList(ctx, d.list, c.conf); err != nil {
				return explain(err)
			}
			fmt.Fprintf(d.out, "%s removed%s in %v\n", c.conf.ContainerID, again, time.Since(start).Round(100*time.Microsecond))
		}
	}
	return nil
}

// collect is gc --unused, for the demo's own bridge.
func (d *demo) collect(ctx context.Context) error {
	return reportUnused(d.out, func(env resource.Env) (resource.Unused, error) {
		return resource.RemoveUnusedBridges(ctx, env, nil, func(name string) bool { return name == demoBridge })
	})
}

func (d *demo) prove(context.Context) error {
	after, err := d.picture()
	if err != nil {
		return err
	}
	same := true
	for _, part := range []struct {
		name        string
		then, after []string
	}{
		{"links", d.before.links, after.links},
		{"nftables", d.before.nft, after.nft},
		{"leases", d.before.leases, after.leases},
		{"journal", d.before.journal, after.journal},
	} {
		if slices.Equal(part.then, part.after) {
			fmt.Fprintf(d.out, "%-9s the same: %d before, %d after\n", part.name, len(part.then), len(part.after))
			continue
		}
		same = false
		fmt.Fprintf(d.out, "%-9s DIFFERENT\n  before: %v\n  after:  %v\n", part.name, part.then, part.after)
	}
	if !same {
		return errors.New("the host is not as before")
	}
	return nil
}

// tearDown lets go of everything, also after a step failed half way.
func (d *demo) tearDown(ctx context.Context) error {
	var errs []error
	for _, c := range d.containers {
		errs = append(errs, explain(d.cni.DelNetworkList(ctx, d.list, c.conf)), kernel.Unmount(c.conf.NetNS))
	}
	if len(d.containers) > 0 {
		d.out = io.Discard
		errs = append(errs, d.collect(ctx))
	}
	if d.dir != "" {
		errs = append(errs, os.RemoveAll(d.dir))
	}
	return errors.Join(errs...)
}
