//go:build vmtest

package vpc

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/fairlead-net/fairlead/cni"
	"github.com/fairlead-net/fairlead/ipam"
	"github.com/fairlead-net/fairlead/kernel"
	hostdevice "github.com/fairlead-net/fairlead/plugin/host-device"
	"github.com/fairlead-net/fairlead/plugin/static"
	"github.com/fairlead-net/fairlead/plugin/vpc"
	"github.com/fairlead-net/fairlead/resource"
	"github.com/fairlead-net/fairlead/test/host"
)

// A desk is where calls are made within this process, each on a thread of its
// own on the host: in the virtual machine a process takes as long to start as a
// hundred of these.
type desk struct {
	t     *testing.T
	node  *kernel.Namespace
	state string
}

func newDesk(t *testing.T) *desk {
	t.Helper()
	return &desk{t, namespace(t), filepath.Join(t.TempDir(), "state")}
}

func namespace(t *testing.T) *kernel.Namespace {
	t.Helper()
	ns, err := kernel.Create("")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ns.Close() })
	return ns
}

// call makes one, and gives what it printed where it failed.
func (d *desk) call(verb, container string, netns *kernel.Namespace, c host.Config) error {
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends with the goroutine
		done <- d.onThread(verb, container, netns, c)
	}()
	return <-done
}

func (d *desk) onThread(verb, container string, netns *kernel.Namespace, c host.Config) error {
	fd, err := unix.Open(d.node.Path(), unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if err := unix.Setns(fd, unix.CLONE_NEWNET); err != nil {
		return err
	}
	plugins := map[string]cni.Plugin{"vpc": vpc.Plugin(), "host-device": hostdevice.Plugin(), "static": static.Plugin()}
	env := map[string]string{
		"CNI_COMMAND": verb, "CNI_CONTAINERID": container, "CNI_NETNS": netns.Path(), "CNI_IFNAME": "eth0",
		"FAIRLEAD_STATE_DIR": d.state,
	}
	var out, errs bytes.Buffer
	runner := &cni.Runner{
		Plugins: func(name string) (cni.Plugin, bool) { p, ok := plugins[name]; return p, ok },
		Kinds: func() map[string]func() resource.Resource {
			all := resource.Kinds()
			maps.Copy(all, ipam.Kinds())
			return all
		},
		Getenv: func(name string) string { return env[name] },
		Stdin:  strings.NewReader(c.String()), Stdout: &out, Stderr: &errs,
	}
	if runner.Main("vpc") != 0 {
		return fmt.Errorf("%s of %s: %s%s", verb, container, out.String(), errs.String())
	}
	return nil
}

// closed fails the test unless the VPC's VRF is there, and closed.
func (d *desk) closed(what string) {
	d.t.Helper()
	v := &resource.VRF{Name: "vpc-blue", VPC: "blue"}
	state, err := v.Observe(d.t.Context(), resource.Env{Host: d.node})
	if err != nil || state.Detail != "" {
		d.t.Fatalf("%s: %+v, %v", what, state, err)
	}
}

// empty fails the test unless nothing of any VPC is there.
func (d *desk) empty(what string) {
	d.t.Helper()
	links, err := d.node.Links()
	if err != nil || len(links) != 1 {
		d.t.Fatalf("%s: %d links, %v", what, len(links), err)
	}
	routes, err := d.node.Routes(kernel.RouteFilter{AllTables: true, Protocol: resource.RouteProtocol})
	if err != nil || len(routes) > 0 {
		d.t.Fatalf("%s: %v, %v", what, routes, err)
	}
}

// TestLastDELRacesADD: the last attachment of a VPC goes while another comes;
// either may be a little earlier. Both succeed, the VPC is whole afterwards, and
// gone with the other one.
func TestLastDELRacesADD(t *testing.T) {
	t.Parallel()
	rounds := 10
	if v := os.Getenv("FAIRLEAD_RACE_ROUNDS"); v != "" {
		var err error
		if rounds, err = strconv.Atoi(v); err != nil {
			t.Fatal(err)
		}
	}
	for _, mode := range []string{"veth", "tap"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			d := newDesk(t)
			one, two := namespace(t), namespace(t)
			segments := map[string]any{"locator": "fc00:0:1::/48", "source": "2001:db8::1", "remotes": []any{
				map[string]any{"prefix": "10.1.1.0/24", "sid": "fc00:0:2::1"}}}
			first := conf("blue", "a", "mode", mode, "ipam", addresses("10.1.0.5/24"), "srv6", segments)
			second := conf("blue", "b", "mode", mode, "ipam", addresses("10.1.0.6/24"), "srv6", segments)
			for round := range rounds {
				if err := d.call("ADD", "one", one, first); err != nil {
					t.Fatalf("round %d: %v", round, err)
				}
				// Which of the two is ahead, and by how much, changes.
				ahead := time.Duration(round%20-10) * 500 * time.Microsecond
				gone := make(chan error, 1)
				start := make(chan struct{})
				go func() {
					<-start
					time.Sleep(max(0, ahead))
					gone <- d.call("DEL", "one", one, first)
				}()
				close(start)
				time.Sleep(max(0, -ahead))
				if err := d.call("ADD", "two", two, second); err != nil {
					t.Fatalf("round %d: %v", round, err)
				}
				if err := <-gone; err != nil {
					t.Fatalf("round %d: %v", round, err)
				}
				d.closed(fmt.Sprintf("round %d", round))
				if err := d.call("CHECK", "two", two, second); err != nil {
					t.Fatalf("round %d: %v", round, err)
				}
				if err := d.call("DEL", "two", two, second); err != nil {
					t.Fatalf("round %d: %v", round, err)
				}
				d.empty(fmt.Sprintf("round %d", round))
			}
		})
	}
}
