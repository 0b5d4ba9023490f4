package cases

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fairlead-net/fairlead/test/host"
)

// TestCase33UnknownNameIsAnError: a link whose name a version does not know, and
// the tool's own name, called as a runtime calls: an error object for every
// verb. A DEL that was not carried out must not pass for one that was.
func TestCase33UnknownNameIsAnError(t *testing.T) {
	t.Parallel()
	h := host.New(t)
	dir := t.TempDir()
	for _, name := range []string{"portmap", "fairlead-2"} {
		if err := os.Symlink(filepath.Join(host.Build(t), "fairlead"), filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	netns := h.Netns("c1")
	env := host.Env{"CNI_CONTAINERID": "c1", "CNI_NETNS": netns, "CNI_IFNAME": "eth0"}
	for _, program := range []string{filepath.Join(dir, "portmap"), filepath.Join(dir, "fairlead-2"), filepath.Join(host.Build(t), "fairlead")} {
		for verb, code := range map[string]int{"ADD": 105, "DEL": 105, "CHECK": 105, "GC": 105, "VERSION": 105, "STATUS": 50, "FROB": 105, host.Unset: 105, "": 105} {
			for stdin, version := range map[string]string{
				`{"cniVersion":"0.4.0","name":"n","type":"portmap"}`: "0.4.0", `{"cniVersion":"9.9.9"}`: "9.9.9", "nonsense": "1.1.0", "": "1.1.0",
			} {
				o := h.RunPlugin(filepath.Dir(program), filepath.Base(program), verb, env, stdin)
				var e struct {
					CNIVersion string
					Code       int
					Msg        string
				}
				if err := json.Unmarshal([]byte(o.Stdout), &e); err != nil || o.Exit != 1 || e.CNIVersion != version || e.Code != code || !strings.Contains(e.Msg, filepath.Base(program)) {
					t.Errorf("%s, %s, %q: exit %d, %s%s", program, verb, stdin, o.Exit, o.Stdout, o.Stderr)
				}
			}
		}
	}
}

// TestCase33HelpOnlyWithoutACall: what is half a call is no request for help.
func TestCase33HelpOnlyWithoutACall(t *testing.T) {
	t.Parallel()
	h := host.New(t)
	for _, c := range []struct {
		program string
		env     host.Env
		exit    int
		says    string
	}{
		{"bridge", host.Env{"CNI_COMMAND": host.Unset}, 0, "container runtime"},
		{"fairlead", host.Env{"CNI_COMMAND": host.Unset}, 0, "Available Commands"},
		{"bridge", host.Env{"CNI_COMMAND": "", "CNI_CONTAINERID": "c1"}, 1, `"code": 4`},
		{"bridge", host.Env{"CNI_COMMAND": host.Unset, "CNI_NETNS": "/run/netns/c1"}, 1, `"code": 4`},
		{"fairlead", host.Env{"CNI_COMMAND": host.Unset, "CNI_IFNAME": "eth0"}, 1, `"code": 105`},
	} {
		o := h.RunPlugin(host.Build(t), c.program, "", c.env, `{"cniVersion":"1.1.0","name":"n","type":"bridge"}`)
		if out := o.Stdout + o.Stderr; o.Exit != c.exit || !strings.Contains(out, c.says) {
			t.Errorf("%s with %v: exit %d, %s", c.program, c.env, o.Exit, out)
		}
	}
	// An operator's command is one though a call's environment is around it.
	list := h.Command(filepath.Join(host.Build(t), "fairlead"), "version")
	list.Env = append(list.Env, "CNI_COMMAND=DEL", "CNI_CONTAINERID=c1")
	if out, err := list.Output(); err != nil || !strings.Contains(string(out), "host-local") {
		t.Errorf("fairlead version within a call: %v, %s", err, out)
	}
}

// TestRule23RefusedRequestsAreLogged, with what is known of them, and bounded.
// What a runtime asks for again and again is there once.
func TestRule23RefusedRequestsAreLogged(t *testing.T) {
	t.Parallel()
	h := host.New(t)
	dir := host.Build(t)
	long := strings.Repeat("x", 1<<16)
	for _, c := range []struct{ plugin, verb, id, stdin string }{
		{"bridge", "ADD", "c1", `{"cniVersion":"1.1.0","name":"n","type":"bridge"`},
		{"bridge", "DEL", "c2", `{"cniVersion":"1.1.0","name":"` + long + `"}`},
		{"bridge", "DEL", "c2", `{"cniVersion":"1.1.0","name":"` + long + `"}`},
		{"bridge", "CHECK", long, `{"cniVersion":"1.1.0","name":"net"}`},
		{"fairlead", "DEL", "c4", `{"cniVersion":"1.1.0","name":"net"}`},
	} {
		o := h.RunPlugin(dir, c.plugin, c.verb, host.Env{"CNI_CONTAINERID": c.id, "CNI_NETNS": "/run/netns/x", "CNI_IFNAME": "eth0"}, c.stdin)
		if o.Exit != 1 {
			t.Errorf("%s %s: exit %d", c.plugin, c.verb, o.Exit)
		}
	}
	var log []struct {
		Verb, Plugin, Outcome, Error string
		Attachment                   struct{ Container, Network string }
	}
	out := h.MustRun(filepath.Join(dir, "fairlead"), "list", "--history", "-o", "json")
	if err := json.Unmarshal([]byte(out), &log); err != nil || len(log) != 4 {
		t.Fatalf("%d records, %v: %.2000s", len(log), err, out)
	}
	for i, want := range []struct{ verb, plugin, id, network string }{
		{"ADD", "bridge", "c1", ""}, {"DEL", "bridge", "c2", long[:255]}, {"CHECK", "bridge", long[:255], "net"}, {"DEL", "fairlead", "c4", "net"},
	} {
		r := log[i]
		if r.Verb != want.verb || r.Plugin != want.plugin || r.Attachment.Container != want.id || r.Attachment.Network != want.network || r.Outcome != "failed" || r.Error == "" || len(r.Error) > 1<<10 {
			t.Errorf("record %d: %+v", i, r)
		}
	}
}

// TestRule23StatusIsLoggedWhenItTellsNews: a runtime asks every few seconds.
func TestRule23StatusIsLoggedWhenItTellsNews(t *testing.T) {
	t.Parallel()
	h := host.New(t)
	ready := h.Attach(host.Build(t), host.Config{"cniVersion": "1.1.0", "name": "n", "type": "macvlan", "master": "up0"}, "eth0")
	h.MustRun("ip", "link", "add", "up0", "type", "veth", "peer", "up1")
	if o := ready.Status(); !o.OK() {
		t.Fatalf("STATUS: %s", o.Stdout)
	}
	h.MustRun("ip", "link", "del", "up0")
	for range 3 {
		if o := ready.Status(); o.OK() {
			t.Fatal("STATUS without the master is 0")
		}
	}
	out := h.MustRun(filepath.Join(host.Build(t), "fairlead"), "list", "--history")
	if n := strings.Count(out, "STATUS"); n != 1 {
		t.Errorf("%d STATUSes in the log, want the first that failed:\n%s", n, out)
	}
}
