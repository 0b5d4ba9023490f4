package tool

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fairlead-net/fairlead/test/host"
)

const conflist = `{"cniVersion":"1.1.0","name":"net","plugins":[
  {"type":"bridge","bridge":"br0","isGateway":true,"ipMasq":true,
   "ipam":{"type":"host-local","ranges":[[{"subnet":"10.5.0.0/24"}]],"routes":[{"dst":"0.0.0.0/0"}]}}]}`

func binary(t *testing.T) string {
	t.Helper()
	return filepath.Join(host.Build(t), "fairlead")
}

// status runs the command and gives its exit status and what it printed.
func status(t *testing.T, c *exec.Cmd) (int, string) {
	t.Helper()
	out, err := c.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return c.ProcessState.ExitCode(), string(out)
}

func must(t *testing.T, c *exec.Cmd) string {
	t.Helper()
	code, out := status(t, c)
	if code != 0 {
		t.Fatalf("%v: status %d: %s", c.Args, code, out)
	}
	return out
}

func content(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestExitStatuses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args []string
		want int
		says string
	}{
		{nil, 0, "Available Commands"},
		{[]string{"--help"}, 0, "Exit status: 0 success, 1 failure, 2 wrong usage"},
		{[]string{"version"}, 0, "host-local"},
		{[]string{"completion", "bash"}, 0, "__start_fairlead"},
		{[]string{"completion", "zsh"}, 0, "compdef"},
		{[]string{"frobnicate"}, 2, "frobnicate"},
		{[]string{"add", "one"}, 2, "takes 2 arguments"},
		{[]string{"plan", "--no-such-flag", "x"}, 2, "no-such-flag"},
		{[]string{"plan", "-o", "yaml", "x"}, 2, "yaml"},
		{[]string{"list", "-o", "xml"}, 2, "xml"},
		{[]string{"gc", "--force"}, 2, "--unused"},
		{[]string{"gc", "--unused", "x"}, 2, "--unused"},
		{[]string{"gc"}, 0, "0 records removed"},
		{[]string{"plan", "/no/such/file"}, 1, "/no/such/file"},
		{[]string{"forget", "net", "c", "eth0"}, 1, "no record"},
		{[]string{"forget", "abcdefghijklmnopqrstuvwxyz"}, 1, "no record"},
		{[]string{"forget", "../../../../../../etc/passwd"}, 2, "no owner"},
		{[]string{"forget", "net", "c"}, 2, "OWNER"},
	} {
		cmd := exec.Command(binary(t), c.args...)
		cmd.Env = append(os.Environ(), "FAIRLEAD_STATE_DIR="+filepath.Join(t.TempDir(), "state"))
		code, out := status(t, cmd)
		if code != c.want || !strings.Contains(out, c.says) {
			t.Errorf("fairlead %v: status %d, want %d; %q should say %q", c.args, code, c.want, out, c.says)
		}
	}
}

// TestInstallKeepsWhatItReplaces, and uninstall puts it back.
func TestInstallKeepsWhatItReplaces(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	former, stranger := filepath.Join(dir, "bridge"), filepath.Join(dir, "calico")
	for _, f := range []string{former, stranger} {
		if err := os.WriteFile(f, []byte("#!/bin/sh\n# another suite's\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	kept := filepath.Join(dir, ".fairlead-replaced/bridge")
	for range 2 { // also over itself
		must(t, exec.Command(binary(t), "install", "--to", dir))
		if !strings.Contains(content(t, kept), "another suite's") {
			t.Fatal("what was replaced is not kept")
		}
	}
	// The installed tool installs itself anew, too.
	must(t, exec.Command(filepath.Join(dir, "fairlead"), "install", "--to", dir))
	plugin := exec.Command(filepath.Join(dir, "bridge"))
	plugin.Env, plugin.Stdin = []string{"CNI_COMMAND=VERSION"}, strings.NewReader(`{"cniVersion":"0.4.0"}`)
	if out := must(t, plugin); !strings.Contains(out, `"cniVersion": "0.4.0"`) {
		t.Errorf("the installed bridge says %s", out)
	}
	must(t, exec.Command(binary(t), "uninstall", "--from", dir))
	if !strings.Contains(content(t, former), "another suite's") {
		t.Error("the former plugin is not back")
	}
	if files, err := filepath.Glob(filepath.Join(dir, "*")); err != nil || len(files) != 2 {
		t.Errorf("uninstall leaves %v, %v", files, err)
	}
}

func TestInstallNeverOverwritesWhatIsKept(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string) {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	write("bridge", "second")
	write(".fairlead-replaced/bridge", "first")
	if code, out := status(t, exec.Command(binary(t), "install", "--to", dir)); code != 1 || !strings.Contains(out, "--no-keep") {
		t.Errorf("status %d: %s", code, out)
	}
	if content(t, filepath.Join(dir, "bridge")) != "second" {
		t.Error("the plugin was replaced all the same")
	}
	// Nor is any other: one suite or the other, not half of each.
	if files, err := os.ReadDir(dir); err != nil || len(files) != 2 {
		t.Errorf("an install that was refused leaves %v, %v", files, err)
	}
	must(t, exec.Command(binary(t), "install", "--to", dir, "--no-keep"))
	if content(t, filepath.Join(dir, ".fairlead-replaced/bridge")) != "first" {
		t.Error("what was kept is lost")
	}
}

// TestInstallGoesOnWhereItDied: what is kept is the very file that is still in
// its place.
func TestInstallGoesOnWhereItDied(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	former, kept := filepath.Join(dir, "bridge"), filepath.Join(dir, ".fairlead-replaced/bridge")
	if err := errors.Join(os.Mkdir(filepath.Dir(kept), 0o755), os.WriteFile(former, []byte("former"), 0o755), os.Link(former, kept)); err != nil {
		t.Fatal(err)
	}
	must(t, exec.Command(binary(t), "install", "--to", dir))
	must(t, exec.Command(binary(t), "uninstall", "--from", dir))
	if content(t, former) != "former" {
		t.Error("the former plugin is not back")
	}
}

// TestErrorsTellTheirCode: libcni's text leaves it out.
func TestErrorsTellTheirCode(t *testing.T) {
	t.Parallel()
	h := host.New(t)
	h.WriteFile("/run/net.conflist", `{"cniVersion":"1.1.0","name":"net","plugins":[{"type":"bridge","mtu":-1}]}`)
	netns := h.Netns("c1")
	for _, args := range [][]string{{"add", "/run/net.conflist", netns}, {"status", "/run/net.conflist"}} {
		_, err := h.Command(binary(t), append(args, "--path", host.Build(t))...).Output()
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != 1 || !strings.Contains(string(exit.Stderr), "mtu -1 is not within 0 and 65535 (CNI code 7)") {
			t.Errorf("fairlead %s: %v: %s", args[0], err, exit.Stderr)
		}
	}
}

// TestPlanTouchesNothing, and says in order what an ADD then makes.
func TestPlanTouchesNothing(t *testing.T) {
	t.Parallel()
	h := host.New(t)
	h.WriteFile("/run/net.conflist", conflist)
	before := h.Snapshot()
	out := h.MustRun(binary(t), "plan", "/run/net.conflist", "--id", "c1", "-o", "json")
	h.Same(t, before)
	var runs []struct {
		Plugin  string
		Objects []struct{ Kind, Key string }
	}
	if err := json.Unmarshal([]byte(out), &runs); err != nil || len(runs) != 1 {
		t.Fatalf("%s: %v", out, err)
	}
	var kinds []string
	for _, o := range runs[0].Objects {
		kind, _, _ := strings.Cut(o.Kind, ".")
		kinds = append(kinds, kind)
	}
	want := "bridge veth delegate link-sysctls address up route announce bridge-address sysctl sysctl masquerade-table masquerade"
	if got := strings.Join(kinds, " "); got != want {
		t.Errorf("the plan is\n%s, want\n%s", got, want)
	}
	text := h.MustRun(binary(t), "plan", "/run/net.conflist", "--id", "c1")
	if !strings.Contains(text, "10.5.0.2/24") || !strings.Contains(text, "masquerade net/c1/eth0") {
		t.Errorf("the readable plan lacks something:\n%s", text)
	}
}

// TestPlanOfAnothersPlugins: what others decide is not known; and where they are
// not installed, no ADD could work.
func TestPlanOfAnothersPlugins(t *testing.T) {
	t.Parallel()
	h := host.New(t)
	h.WriteFile("/run/net.conflist", `{"cniVersion":"1.0.0","name":"n","plugins":[{"type":"bridge","ipam":{"type":"whereabouts"}},{"type":"cilium"},{"type":"tuning"},{"type":"cilium"}]}`)
	others := t.TempDir()
	for _, name := range []string{"whereabouts", "cilium"} {
		if err := os.WriteFile(filepath.Join(others, name), []byte("#!/bin/sh\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	all := h.MustRun(binary(t), "plan", "/run/net.conflist", "--path", host.Build(t)+":"+others)
	for path, missing := range map[string]string{host.Build(t): ": whereabouts, cilium\n", others: ": bridge, tuning\n", "/none": ": bridge, whereabouts, cilium, tuning\n"} {
		for _, out := range []string{all, fails(t, h.Command(binary(t), "plan", "/run/net.conflist", "--path", path))} {
			for _, want := range []string{"<from whereabouts>", "<from cilium>"} {
				if !strings.Contains(out, want) {
					t.Errorf("%s is missing in\n%s", want, out)
				}
			}
			if out != all && !strings.HasSuffix(out, missing) {
				t.Errorf("with the plugins of %s alone:\n%s", path, out)
			}
		}
	}
}

func TestListHistoryAndForget(t *testing.T) {
	t.Parallel()
	h := host.New(t)
	h.WriteFile("/run/net.conflist", conflist)
	netns := h.Netns("c1")
	path := host.Build(t)
	h.MustRun(binary(t), "add", "/run/net.conflist", netns, "--path", path)
	for _, want := range []string{"bridge", "host-local"} {
		if out := h.MustRun(binary(t), "list"); !strings.Contains(out, want) {
			t.Errorf("%s is not listed:\n%s", want, out)
		}
	}
	var rows []struct{ Container, Network, Plugin, State string }
	if err := json.Unmarshal([]byte(h.MustRun(binary(t), "list", "-o", "json")), &rows); err != nil || len(rows) != 2 || rows[0].State != "done" {
		t.Errorf("%+v, %v", rows, err)
	}
	if out := h.MustRun(binary(t), "list", "--history"); !strings.Contains(out, "ADD") || !strings.Contains(out, "ok") {
		t.Errorf("history:\n%s", out)
	}
	if out := h.MustRun(binary(t), "forget", "net", "c1", "eth0"); strings.Count(out, "forgot") != 2 {
		t.Errorf("forget:\n%s", out)
	}
	// Without its record a DEL goes by the configuration, to the same end.
	h.MustRun(binary(t), "del", "/run/net.conflist", netns, "--path", path)
	out := h.MustRun(binary(t), "gc", "--unused")
	if !strings.Contains(out, "removed bridge br0") {
		t.Errorf("gc --unused:\n%s", out)
	}
}

// TestUnusedSparesWhatOthersAreUpon: a macvlan that is down, in a container, can't
// be seen from the host; the journal knows of it.
func TestUnusedSparesWhatOthersAreUpon(t *testing.T) {
	t.Parallel()
	h := host.New(t)
	h.WriteFile("/run/net.conflist", conflist)
	h.WriteFile("/run/upper.conflist", `{"cniVersion":"1.0.0","name":"upper","plugins":[{"type":"macvlan","master":"br0"}]}`)
	netns, path := h.Netns("c1"), host.Build(t)
	h.MustRun(binary(t), "add", "/run/net.conflist", netns, "--path", path)
	h.MustRun(binary(t), "add", "/run/upper.conflist", netns, "--path", path, "--ifname", "mv0")
	h.MustRun("ip", "-n", "c1", "link", "set", "mv0", "down")
	h.MustRun(binary(t), "del", "/run/net.conflist", netns, "--path", path)
	if out := h.MustRun(binary(t), "gc", "--unused"); !strings.Contains(out, "kept bridge br0") || !strings.Contains(out, "c1/mv0") {
		t.Errorf("while it is there:\n%s", out)
	}
	h.MustRun(binary(t), "del", "/run/upper.conflist", netns, "--path", path, "--ifname", "mv0")
	if out := h.MustRun(binary(t), "gc", "--unused"); !strings.Contains(out, "removed bridge br0") {
		t.Errorf("when it is gone:\n%s", out)
	}
}

// TestListSaysWhoseState it tells of: a user's own is empty, and the node's can't
// be read.
func TestListSaysWhoseState(t *testing.T) {
	t.Parallel()
	h := host.New(t)
	h.MustRun("install", "-d", "-m", "700", "/run/fairlead")
	h.MustRun("install", "-d", "-o", "65534", "/run/user/65534")
	c := h.Command("setpriv", "--reuid", "65534", "--clear-groups", binary(t), "list")
	c.Env = append(c.Env, "XDG_RUNTIME_DIR=/run/user/65534")
	var stderr bytes.Buffer
	c.Stderr = &stderr
	if err := c.Run(); err != nil || !strings.Contains(stderr.String(), "/run/user/65534/fairlead; that in /run/fairlead") {
		t.Errorf("%v: %s", err, stderr.String())
	}
}

// TestListNeedsNoMoreThanToRead: a state directory on a read-only mount, as a
// debug container is given it; and one that can't be read is no empty one.
func TestListNeedsNoMoreThanToRead(t *testing.T) {
	t.Parallel()
	h := host.New(t)
	if out := h.MustRun(binary(t), "list", "-o", "json"); out != "[]\n" {
		t.Errorf("where nothing is recorded: %s", out)
	}
	if left := h.MustRun("sh", "-c", "ls -d /run/fairlead 2>/dev/null || true"); left != "" {
		t.Errorf("list made %s", left)
	}
	h.WriteFile("/run/net.conflist", conflist)
	h.MustRun(binary(t), "add", "/run/net.conflist", h.Netns("c1"), "--path", host.Build(t))
	h.MustRun("mount", "--bind", "/run/fairlead", "/run/fairlead")
	h.MustRun("mount", "-o", "remount,bind,ro", "/run/fairlead")
	for _, args := range [][]string{{"list"}, {"list", "--history"}} {
		if out := h.MustRun(binary(t), args...); !strings.Contains(out, "host-local") {
			t.Errorf("%v of a read-only directory: %s", args, out)
		}
	}
	if said := fails(t, h.Command("setpriv", "--reuid", "65534", "--clear-groups", binary(t), "list")); !strings.Contains(said, "/run/fairlead (user 65534): permission denied") {
		t.Error(said)
	}
	h.MustRun("umount", "/run/fairlead")
	h.MustRun("chown", "-R", "65534", "/run/fairlead")
	if out := h.MustRun("setpriv", "--reuid", "65534", "--clear-groups", binary(t), "list"); !strings.Contains(out, "host-local") {
		t.Errorf("of its own user: %s", out)
	}
}

// TestForgetWhatTellsNobody: the record is nonsense; its file's path is all that
// is known of it.
func TestForgetWhatTellsNobody(t *testing.T) {
	t.Parallel()
	h := host.New(t)
	h.WriteFile("/run/net.conflist", conflist)
	h.MustRun(binary(t), "add", "/run/net.conflist", h.Netns("c1"), "--path", host.Build(t))
	owner := h.ReadDir("/run/fairlead/attachments")[0]
	for _, entry := range h.ReadDir("/run/fairlead/attachments/" + owner) {
		h.WriteFile("/run/fairlead/attachments/"+owner+"/"+entry, "nonsense\n")
	}
	_, err := h.Command(binary(t), "list").Output()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || !strings.Contains(string(exit.Stderr), owner) {
		t.Fatalf("list does not tell of the record: %v", err)
	}
	if out := h.MustRun(binary(t), "forget", owner); strings.Count(out, "forgot") != 2 {
		t.Errorf("forget: %s", out)
	}
	h.MustRun(binary(t), "list")
}

// TestDemo is the first thing that a stranger runs.
func TestDemo(t *testing.T) {
	t.Parallel()
	h := host.New(t)
	before := h.Snapshot()
	out := h.MustRun(binary(t), "demo")
	for _, want := range []string{"The plan", "answered in", "as it was made", "removed bridge fl-demo0", "links     the same"} {
		if !strings.Contains(out, want) {
			t.Errorf("the demo does not say %q:\n%s", want, out)
		}
	}
	h.Same(t, before)
}

func TestDemoNeedsRoot(t *testing.T) {
	t.Parallel()
	cmd := exec.Command("setpriv", "--reuid", "65534", "--clear-groups", binary(t), "demo")
	if code, out := status(t, cmd); code != 1 || !strings.Contains(out, "needs root") {
		t.Errorf("status %d: %s", code, out)
	}
}
