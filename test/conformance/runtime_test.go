package conformance

import (
	"path/filepath"
	"testing"

	"github.com/fairlead-net/fairlead/test/host"
)

// runtimeName is the table's column for the operator's tool, which is a
// runtime: it keeps the numbers that are a runtime's duty.
const runtimeName = "fairlead"

// A tool is the operator's tool on a host, with a list whose IPAM plugin is
// the recorder.
type tool struct {
	*testing.T
	h        *host.Host
	conflist string
	path     string
	records  string
}

func newTool(t *testing.T, pairs ...any) *tool {
	t.Helper()
	h, dir := host.New(t), host.Build(t)
	records := t.TempDir()
	plugin := bridge().config.With("cniVersion", nil, "name", nil, "ipam", map[string]any{"type": "recorder"},
		"recorder", map[string]any{"dir": records, "result": map[string]any{
			"ips": []any{map[string]any{"address": "10.99.0.5/24", "gateway": "10.99.0.1"}}}})
	list := host.Config{"cniVersion": "1.1.0", "name": network, "plugins": []any{plugin}}.With(pairs...)
	h.WriteFile("/run/net.conflist", list.String())
	return &tool{t, h, "/run/net.conflist", dir + string(filepath.ListSeparator) + host.Recorder(t), records}
}

// run runs a command of the tool, and tells whether it succeeded.
func (o *tool) run(command string, args ...string) bool {
	o.Helper()
	all := append([]string{command, o.conflist}, args...)
	c := o.h.Command(filepath.Join(host.Build(o), "fairlead"), append(all, "--path", o.path, "--cache-dir", "/var/lib/cache")...)
	out, err := c.Output()
	if err != nil {
		o.Logf("fairlead %v: %v: %s", all, err, out)
	}
	return err == nil
}

func (o *tool) calls(verb string) int { o.Helper(); return len(host.Records(o, o.records, verb)) }

func score(t *testing.T, number int) {
	scores.set(runtimeName, number, "FAIL")
	t.Cleanup(func() {
		if !t.Failed() {
			scores.set(runtimeName, number, "ok")
		}
	})
}

func TestRuntimeSpec13GC(t *testing.T) {
	t.Parallel()
	score(t, 13)
	o := newTool(t)
	netns := o.h.Netns("c1")
	if !o.run("add", netns) || !o.run("gc", "--valid", "c1/eth0") || !o.run("check", netns) {
		t.Error("an attachment that is valid did not outlive gc")
	}
	if o.calls("GC") != 1 || o.calls("DEL") != 0 {
		t.Errorf("%d GCs and %d DELs reached the delegate, want 1 and 0", o.calls("GC"), o.calls("DEL"))
	}
	if !o.run("del", netns) || o.calls("DEL") != 1 {
		t.Error("gc came instead of DEL")
	}

	off := newTool(t, "disableGC", true)
	netns = off.h.Netns("c1")
	if !off.run("add", netns) || !off.run("gc") || !off.run("check", netns) {
		t.Error("gc with disableGC failed, or did something")
	}
	if off.calls("GC") != 0 {
		t.Error("gc in spite of disableGC")
	}
}

func TestRuntimeSpec21CHECK(t *testing.T) {
	t.Parallel()
	score(t, 21)
	o := newTool(t)
	netns := o.h.Netns("c1")
	if o.run("check", netns) {
		t.Error("check before add succeeded")
	}
	if !o.run("add", netns) || !o.run("check", netns) || !o.run("del", netns) {
		t.Error("add, check or del failed")
	}
	if o.run("check", netns) {
		t.Error("check after del succeeded")
	}
	if n := o.calls("CHECK"); n != 1 {
		t.Errorf("%d CHECKs reached the delegate, want 1", n)
	}

	off := newTool(t, "disableCheck", true)
	netns = off.h.Netns("c1")
	if !off.run("add", netns) || off.run("check", netns) || off.calls("CHECK") != 0 {
		t.Error("check in spite of disableCheck, or it says that all is well")
	}
}
