package cni

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fairlead-net/fairlead/kernel"
)

// An address plugin owns nothing in the container, so it works with any path.
// What it gave is in force until DEL: by such a path nobody can tell that the
// container is gone.
func TestRule07AddressPluginWithoutANamespace(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	loop := filepath.Join(t.TempDir(), "loop")
	if err := os.Symlink(loop, loop); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/dev/null", "/some/where", "dummy", file, file + "/below", "/proc/self/ns/mnt", loop} {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			d := newDesk(t)
			plugins := d.runner.Plugins
			d.runner.Plugins = func(name string) (Plugin, bool) {
				p, ok := plugins(name)
				p.IPAM = true
				return p, ok
			}
			d.vars["CNI_NETNS"] = path
			must := func(verb Verb) {
				t.Helper()
				if code, out := d.call(verb, goodConf); code != 0 {
					t.Fatalf("%s: %s", verb, out)
				}
			}
			must(Add)
			must(Check)
			code, out := d.call(Add, goodConf)
			if e := errorObject(t, out); code == 0 || e.Code != CodeAlreadyAdded {
				t.Errorf("a second ADD: %d, %+v", code, e)
			}
			must(GC)
			if !d.made() || len(d.entries(t)) != 1 || !strings.Contains(d.stderr.String(), "GC keeps") {
				t.Errorf("collected: %v, %v, %q", d.made(), d.entries(t), d.stderr)
			}
			must(Check)
			must(Del)
			must(Del)
			if d.made() || len(d.entries(t)) != 0 {
				t.Errorf("left: %v, %v", d.made(), d.entries(t))
			}
		})
	}
}

// The host's own namespace is no container's for them either.
func TestRule22HostsOwnNamespaceIsRefusedByAddressPlugins(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	plugins := d.runner.Plugins
	d.runner.Plugins = func(name string) (Plugin, bool) {
		p, ok := plugins(name)
		p.IPAM = true
		return p, ok
	}
	host, err := kernel.Host()
	if err != nil {
		t.Fatal(err)
	}
	defer host.Close()
	d.vars["CNI_NETNS"] = host.Path()
	code, out := d.call(Add, goodConf)
	if e := errorObject(t, out); code == 0 || e.Code != CodeNetns || d.made() {
		t.Errorf("%d, %+v", code, e)
	}
}
