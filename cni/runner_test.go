package cni

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	current "github.com/containernetworking/cni/pkg/types/100"

	"github.com/fairlead-net/fairlead/engine"
	"github.com/fairlead-net/fairlead/kernel"
	"github.com/fairlead-net/fairlead/resource"
)

// toy is a plugin whose one resource is a file: what it made is there or not.
type toy struct {
	Base
	dir string
}

type toyFile struct {
	Path string `json:"path"`
	Fail string `json:"fail,omitempty"`
}

func (f *toyFile) Kind() string       { return "toy.1" }
func (f *toyFile) Key() string        { return f.Path }
func (f *toyFile) Within() engine.Ref { return "" }
func (f *toyFile) Observe(context.Context, resource.Env) (engine.State, error) {
	_, err := os.Stat(f.Path)
	if errors.Is(err, os.ErrNotExist) {
		return engine.Absent(), nil
	}
	return engine.Present(), err
}
func (f *toyFile) Create(context.Context, resource.Env) error {
	switch f.Fail {
	case "error":
		return errors.New("the toy breaks")
	case "panic":
		panic("the toy explodes")
	}
	return os.WriteFile(f.Path, nil, 0o600)
}
func (f *toyFile) Remove(context.Context, resource.Env) error {
	if err := os.Remove(f.Path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

func (s *toy) file() *toyFile {
	var conf struct {
		Fail string `json:"fail"`
		As   string `json:"as"`
	}
	_ = s.Req.Decode(&conf)
	return &toyFile{Path: filepath.Join(s.dir, "made-"+s.Req.ContainerID+conf.As), Fail: conf.Fail}
}
func (s *toy) Link(Facts) ([]resource.Resource, error) { return nil, nil }
func (s *toy) Network(Facts, Known[*current.Result]) ([]resource.Resource, error) {
	return []resource.Resource{s.file()}, nil
}
func (s *toy) Result(made Made) (*current.Result, error) {
	if made.IPAM != nil {
		return made.IPAM, nil
	}
	return &current.Result{}, nil
}

// desk is a state directory, a container's namespace and a runner.
type desk struct {
	dir    string
	vars   map[string]string
	runner *Runner
	out    *bytes.Buffer
	stderr *bytes.Buffer
}

func newDesk(t *testing.T) *desk {
	t.Helper()
	d := &desk{dir: t.TempDir(), out: &bytes.Buffer{}, stderr: &bytes.Buffer{}}
	ns, err := kernel.Create("")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ns.Close() })
	d.vars = fullEnv(Add)
	d.vars["FAIRLEAD_STATE_DIR"] = filepath.Join(d.dir, "state")
	d.vars["CNI_NETNS"] = ns.Path()
	d.runner = &Runner{
		Plugins: func(name string) (Plugin, bool) {
			return Plugin{Name: name, Prepare: func(req *Request) (Statement, error) {
				if strings.Contains(string(req.Stdin), `"refused"`) {
					return nil, Errorf(CodeConfig, "the toy refuses")
				}
				return &toy{Base: Base{Req: req}, dir: d.dir}, nil
			}}, name == "toy"
		},
		Kinds: func() map[string]func() resource.Resource {
			return map[string]func() resource.Resource{"toy.1": func() resource.Resource { return &toyFile{} }}
		},
		Getenv:  func(k string) string { return d.vars[k] },
		Environ: []string{"TRACEPARENT=00-abc", "CNI_COMMAND=STALE", "PATH=" + os.Getenv("PATH")},
		Stdout:  d.out, Stderr: d.stderr,
	}
	return d
}

func (d *desk) call(verb Verb, conf string) (int, string) {
	d.vars["CNI_COMMAND"] = string(verb)
	d.out.Reset()
	d.runner.Stdin = strings.NewReader(conf)
	code := d.runner.Main("toy")
	return code, d.out.String()
}

func (d *desk) made() bool {
	_, err := os.Stat(filepath.Join(d.dir, "made-c1"))
	return err == nil
}

func (d *desk) entries(t *testing.T) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(d.dir, "state/attachments/*/*"))
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func errorObject(t *testing.T, out string) (e struct {
	CNIVersion string
	Code       uint
	Msg        string
}) {
	t.Helper()
	if err := json.Unmarshal([]byte(out), &e); err != nil {
		t.Fatalf("%q is no error object: %v", out, err)
	}
	return e
}

func TestSpec37VersionEchoesTheInput(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	for in, want := range map[string]string{
		`{"cniVersion":"0.4.0"}`: "0.4.0", `{}`: "1.1.0", ``: "1.1.0", `junk`: "1.1.0",
	} {
		code, out := d.call(Version, in)
		var v struct {
			CNIVersion        string
			SupportedVersions []string
		}
		if err := json.Unmarshal([]byte(out), &v); err != nil || code != 0 {
			t.Fatalf("%d, %q: %v", code, out, err)
		}
		if v.CNIVersion != want || !slices.Equal(v.SupportedVersions, versions()) {
			t.Errorf("%q: %+v", in, v)
		}
	}
}

func TestSpec38ErrorsAreObjectsWithTheVersion(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	code, out := d.call(Add, `{"cniVersion":"0.4.0","name":"n","type":"toy","fail":"error"}`)
	e := errorObject(t, out)
	if code == 0 || e.CNIVersion != "0.4.0" || e.Code != CodeFailed || !strings.Contains(e.Msg, "the toy breaks") {
		t.Errorf("%d: %+v", code, e)
	}
	if left := d.entries(t); len(left) != 0 {
		t.Errorf("a failed ADD leaves %v in the journal", left)
	}
}

func TestRule22PanicsBecomeErrors(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	code, out := d.call(Add, `{"cniVersion":"1.0.0","name":"n","type":"toy","fail":"panic"}`)
	if e := errorObject(t, out); code == 0 || e.Code != CodeInternal || !strings.Contains(e.Msg, "explodes") {
		t.Errorf("%d: %+v", code, e)
	}
	if code, out := d.call(Del, `{"cniVersion":"1.0.0","name":"n","type":"toy","fail":"panic"}`); code != 0 {
		t.Errorf("DEL after a panic: %s", out)
	}
	if left := d.entries(t); len(left) != 0 {
		t.Errorf("DEL leaves %v", left)
	}
}

func TestRule22HostsOwnNamespaceIsRefused(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	host, err := kernel.Host()
	if err != nil {
		t.Fatal(err)
	}
	defer host.Close()
	d.vars["CNI_NETNS"] = host.Path()
	for _, verb := range []Verb{Add, Check, Del} {
		code, out := d.call(verb, goodConf)
		if e := errorObject(t, out); code == 0 || e.Code != CodeNetns {
			t.Errorf("%s: %+v", verb, e)
		}
	}
	if d.made() || len(d.entries(t)) != 0 {
		t.Error("something was touched")
	}
}

func TestRule02ADDTwice(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	if code, out := d.call(Add, goodConf); code != 0 {
		t.Fatal(out)
	}
	code, out := d.call(Add, goodConf)
	if e := errorObject(t, out); code == 0 || e.Code != CodeAlreadyAdded {
		t.Errorf("%+v", e)
	}
	if !d.made() {
		t.Error("the second ADD took away what the first made")
	}
	for range 2 {
		if code, out := d.call(Del, goodConf); code != 0 || out != "" {
			t.Errorf("DEL: %d, %q", code, out)
		}
	}
	if d.made() || len(d.entries(t)) != 0 {
		t.Error("DEL leaves something")
	}
}

// TestRule19 goes through what a state directory may be.
func TestRule19StateDirectory(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	if err := os.Symlink(t.TempDir(), filepath.Join(d.dir, "state")); err != nil {
		t.Fatal(err)
	}
	for _, verb := range []Verb{Add, Status} {
		code, out := d.call(verb, goodConf)
		if e := errorObject(t, out); code == 0 || e.Code != CodeNotAvailable {
			t.Errorf("%s: %+v", verb, e)
		}
	}
	if d.made() {
		t.Error("ADD made something without a journal")
	}
	if err := os.WriteFile(filepath.Join(d.dir, "made-c1"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if code, out := d.call(Del, goodConf); code != 0 || d.made() {
		t.Errorf("DEL without a journal must go by the plan: %d, %s", code, out)
	}
}

func TestRule19UnreadableEntryIsKept(t *testing.T) {
	t.Parallel()
	for _, spoil := range []string{"{\"entry\":{\"format\":99}}\n", "garbage\n"} {
		d := newDesk(t)
		if code, out := d.call(Add, goodConf); code != 0 {
			t.Fatal(out)
		}
		entry := d.entries(t)[0]
		if err := os.WriteFile(entry, []byte(spoil), 0o600); err != nil {
			t.Fatal(err)
		}
		code, out := d.call(Del, goodConf)
		if code != 0 || d.made() {
			t.Errorf("DEL must do the plan's work: %d, %s", code, out)
		}
		if data, err := os.ReadFile(entry); err != nil || string(data) != spoil {
			t.Errorf("the entry was not left alone: %q, %v", data, err)
		}
		if !strings.Contains(d.stderr.String(), "forget") {
			t.Errorf("nothing was said: %q", d.stderr.String())
		}
	}
}

func TestRule07NamespaceGoneAtDEL(t *testing.T) {
	t.Parallel()
	plain := filepath.Join(t.TempDir(), "plain")
	if err := os.WriteFile(plain, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, path := range map[string]string{"none": "", "no such path": "/nowhere/at/all", "a plain file": plain} {
		d := newDesk(t)
		if code, out := d.call(Add, goodConf); code != 0 {
			t.Fatal(out)
		}
		d.vars["CNI_NETNS"] = path
		if code, out := d.call(Del, goodConf); code != 0 || d.made() || len(d.entries(t)) != 0 {
			t.Errorf("%s: %d, %s", name, code, out)
		}
	}
}

func TestADDNeedsANamespace(t *testing.T) {
	t.Parallel()
	plain := filepath.Join(t.TempDir(), "plain")
	if err := os.WriteFile(plain, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/nowhere/at/all", plain, t.TempDir()} {
		d := newDesk(t)
		d.vars["CNI_NETNS"] = path
		code, out := d.call(Add, goodConf)
		if e := errorObject(t, out); code == 0 || e.Code != CodeNetns || d.made() || len(d.entries(t)) != 0 {
			t.Errorf("%s: %+v", path, e)
		}
	}
}

func TestRule15GCKeepsLivingNamespaces(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	if code, out := d.call(Add, goodConf); code != 0 {
		t.Fatal(out)
	}
	for _, list := range []string{``, `,"cni.dev/valid-attachments":null`, `,"cni.dev/valid-attachments":[]`} {
		conf := strings.TrimSuffix(goodConf, "}") + list + "}"
		if code, out := d.call(GC, conf); code != 0 || out != "" || !d.made() {
			t.Errorf("GC with a living namespace: %d, %q", code, out)
		}
	}
	if !strings.Contains(d.stderr.String(), "GC keeps c1/eth0") {
		t.Errorf("what is kept is not reported: %q", d.stderr.String())
	}
	d.vars[forceGC] = "1"
	if code, out := d.call(GC, goodConf); code != 0 || d.made() {
		t.Errorf("--force: %d, %q", code, out)
	}
}

// TestRule24DelegateHearsEveryVerb: a delegate of another's gets the whole
// configuration and environment, at every verb, and in-process nothing differs.
func TestRule24DelegateHearsEveryVerb(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	bin := filepath.Join(d.dir, "bin")
	if err := os.Mkdir(bin, 0o700); err != nil {
		t.Fatal(err)
	}
	script := "#!/bin/sh\necho \"$CNI_COMMAND $CNI_CONTAINERID $CNI_IFNAME $CNI_ARGS $TRACEPARENT $(cat)\" >> " + d.dir + "/heard\n" +
		`[ "$CNI_COMMAND" = ADD ] && echo '{"cniVersion":"1.1.0","ips":[{"address":"10.0.0.2/24"}]}'; exit 0` + "\n"
	if err := os.WriteFile(filepath.Join(bin, "recorder"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	d.vars["CNI_PATH"], d.vars["CNI_ARGS"] = bin, "A=B"
	conf := `{"cniVersion":"1.1.0","name":"net","type":"toy","ipam":{"type":"recorder"}}`
	for _, verb := range []Verb{Status, Add, Check, GC, Del} {
		if verb == Del {
			delete(d.vars, "CNI_PATH") // the journal knows where it was
		}
		if code, out := d.call(verb, conf); code != 0 {
			t.Fatalf("%s: %s", verb, out)
		}
	}
	heard, err := os.ReadFile(filepath.Join(d.dir, "heard"))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(heard)), "\n")
	for i, verb := range []string{"STATUS", "ADD", "CHECK", "GC", "DEL"} {
		if i >= len(lines) || !strings.HasPrefix(lines[i], verb+" ") || !strings.Contains(lines[i], `"ipam":{"type":"recorder"}`) || !strings.Contains(lines[i], "00-abc") {
			t.Errorf("line %d: want %s, heard %q", i, verb, lines)
		}
	}
	if !strings.HasPrefix(lines[1], "ADD c1 eth0 A=B") {
		t.Errorf("ADD's environment: %q", lines[1])
	}
}

func TestSpec34FailedDelegateHearsDEL(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	bin := t.TempDir()
	script := "#!/bin/sh\necho $CNI_COMMAND >> " + d.dir + "/heard\n" +
		`[ "$CNI_COMMAND" = ADD ] && { echo '{"code":42,"msg":"no addresses"}'; exit 1; }; exit 0` + "\n"
	if err := os.WriteFile(filepath.Join(bin, "broken"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	d.vars["CNI_PATH"] = bin
	code, out := d.call(Add, `{"cniVersion":"1.1.0","name":"net","type":"toy","ipam":{"type":"broken"}}`)
	if e := errorObject(t, out); code == 0 || e.Code != 42 || !strings.Contains(e.Msg, "no addresses") {
		t.Errorf("the delegate's answer is not passed on: %+v", e)
	}
	heard, _ := os.ReadFile(filepath.Join(d.dir, "heard"))
	if string(heard) != "ADD\nDEL\n" {
		t.Errorf("heard %q", heard)
	}
	if len(d.entries(t)) != 0 {
		t.Error("the journal keeps a failed ADD that was undone")
	}
}

func TestSpec30MissingDelegateIsAnError(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	code, out := d.call(Add, `{"cniVersion":"1.1.0","name":"net","type":"toy","ipam":{"type":"nosuch"}}`)
	if e := errorObject(t, out); code == 0 || !strings.Contains(e.Msg, "nosuch") || d.made() {
		t.Errorf("%+v", e)
	}
}

// TestResultThatCannotBePrinted: nobody heard of the ADD, so it is undone.
func TestResultThatCannotBePrinted(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.runner.Stdout = brokenWriter{}
	if code, _ := d.call(Add, goodConf); code == 0 || d.made() || len(d.entries(t)) != 0 {
		t.Errorf("status %d, made %t, journal %v", code, d.made(), d.entries(t))
	}
}

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, errors.New("broken pipe") }

func TestRule23OperationLog(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.call(Add, goodConf)
	d.call(Add, goodConf)
	d.call(Del, goodConf)
	records, err := engine.OpenJournal(d.vars["FAIRLEAD_STATE_DIR"], "").History(10)
	if err != nil || len(records) != 3 {
		t.Fatalf("%v, %v", records, err)
	}
	outcomes := map[string]int{}
	for _, r := range records {
		outcomes[r.Verb+" "+r.Outcome]++
	}
	if want := map[string]int{"ADD ok": 1, "ADD failed": 1, "DEL ok": 1}; !maps.Equal(outcomes, want) {
		t.Errorf("%v", outcomes)
	}
}
