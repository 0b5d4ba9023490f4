package docs

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/containernetworking/cni/libcni"
	current "github.com/containernetworking/cni/pkg/types/100"

	"github.com/fairlead-net/fairlead/cni"
	"github.com/fairlead-net/fairlead/plugin/bridge"
	"github.com/fairlead-net/fairlead/plugin/dummy"
	hostdevice "github.com/fairlead-net/fairlead/plugin/host-device"
	hostlocal "github.com/fairlead-net/fairlead/plugin/host-local"
	"github.com/fairlead-net/fairlead/plugin/ipvlan"
	"github.com/fairlead-net/fairlead/plugin/loopback"
	"github.com/fairlead-net/fairlead/plugin/macvlan"
	"github.com/fairlead-net/fairlead/plugin/ptp"
	"github.com/fairlead-net/fairlead/plugin/sbr"
	"github.com/fairlead-net/fairlead/plugin/static"
	"github.com/fairlead-net/fairlead/plugin/tap"
	"github.com/fairlead-net/fairlead/plugin/tuning"
	"github.com/fairlead-net/fairlead/plugin/vlan"
	"github.com/fairlead-net/fairlead/plugin/vpc"
	"github.com/fairlead-net/fairlead/plugin/vrf"
)

// plugins are all that have a folder, by name.
func plugins(t *testing.T) map[string]cni.Plugin {
	t.Helper()
	all := map[string]cni.Plugin{}
	for _, p := range []cni.Plugin{
		bridge.Plugin(), dummy.Plugin(), hostdevice.Plugin(), hostlocal.Plugin(), ipvlan.Plugin(), loopback.Plugin(), macvlan.Plugin(),
		ptp.Plugin(), sbr.Plugin(), static.Plugin(), tap.Plugin(), tuning.Plugin(), vlan.Plugin(), vpc.Plugin(), vrf.Plugin(),
	} {
		all[p.Name] = p
	}
	folders, err := os.ReadDir(filepath.Join(root, "plugin"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range folders {
		if _, ok := all[f.Name()]; f.IsDir() && !ok {
			t.Errorf("plugin/%s is not among the plugins of this test", f.Name())
		}
	}
	return all
}

func readme(name string) string { return "plugin/" + name + "/README.md" }

func TestPluginReadmeForm(t *testing.T) {
	t.Parallel()
	heading := regexp.MustCompile(`(?m)^##? (.+)$`)
	for name := range plugins(t) {
		want := []string{name, "Name", "Description", "Syntax", "Examples", "Teardown"}
		var got []string
		for _, m := range heading.FindAllStringSubmatch(read(t, readme(name)), -1) {
			got = append(got, m[1])
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s has the headings %q, want %q", readme(name), got, want)
		}
	}
}

// TestPluginReadmeKeys: every key that a plugin reads is in its README.
func TestPluginReadmeKeys(t *testing.T) {
	t.Parallel()
	tag := regexp.MustCompile("json:\"(\\w+)")
	for name := range plugins(t) {
		path := "plugin/" + name + "/config.go"
		if _, err := os.Stat(filepath.Join(root, path)); err != nil {
			continue // it has no keys of its own, or ipam reads them
		}
		text := read(t, readme(name))
		for _, m := range tag.FindAllStringSubmatch(read(t, path), -1) {
			if !regexp.MustCompile("`[^`\n]*\\b" + m[1] + "\\b[^`\n]*`").MatchString(text) {
				t.Errorf("%s does not tell of %s, which %s reads", readme(name), m[1], path)
			}
		}
	}
}

func TestPluginReadmeExamples(t *testing.T) {
	t.Parallel()
	all := plugins(t)
	fence := regexp.MustCompile("(?ms)^```json\n(.*?)^```$")
	for name := range all {
		examples := fence.FindAllStringSubmatch(read(t, readme(name)), -1)
		if len(examples) == 0 {
			t.Errorf("%s has no example", readme(name))
		}
		used := false
		for _, m := range examples {
			list, err := libcni.NetworkConfFromBytes([]byte(m[1]))
			if err != nil {
				t.Errorf("%s: %v:\n%s", readme(name), err, m[1])
				continue
			}
			for _, p := range list.Plugins {
				used = used || p.Network.Type == name || p.Network.IPAM.Type == name
				accept(t, all, readme(name), list, p)
			}
		}
		if !used {
			t.Errorf("%s has no example with %s in it", readme(name), name)
		}
	}
}

// accept gives one plugin of a list to those who have to read it.
func accept(t *testing.T, all map[string]cni.Plugin, where string, list *libcni.NetworkConfigList, p *libcni.PluginConfig) {
	t.Helper()
	var conf map[string]any
	if err := json.Unmarshal(p.Bytes, &conf); err != nil {
		t.Fatal(err)
	}
	conf["name"], conf["cniVersion"] = list.Name, list.CNIVersion
	stdin, err := json.Marshal(conf)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{p.Network.Type, p.Network.IPAM.Type} {
		if name == "" {
			continue
		}
		plugin, ok := all[name]
		if !ok {
			t.Errorf("%s: an example has the plugin %q, which is none of ours", where, name)
			continue
		}
		req := &cni.Request{
			Verb: cni.Add, ContainerID: "example", Netns: "/run/netns/example", IfName: "eth0", Stdin: stdin,
		}
		if _, err := cni.Plan(plugin, req, cni.Facts{}, cni.Known[*current.Result]{}); err != nil {
			t.Errorf("%s: %s does not accept an example: %v:\n%s", where, name, err, strings.TrimSpace(string(stdin)))
		}
	}
}
