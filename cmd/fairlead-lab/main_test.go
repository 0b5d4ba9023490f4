package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fairlead-net/fairlead/cmd/usage"
	"github.com/fairlead-net/fairlead/lab/campaign"
	"github.com/fairlead-net/fairlead/lab/inject"
)

func TestMain(m *testing.M) {
	inject.Launch()
	// It is the default of --plugins, and the tester's own says nothing here.
	if err := os.Unsetenv("CNI_PATH"); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// execute runs the command line.
func execute(args ...string) (out string, err error) {
	var b bytes.Buffer
	root := rootCommand()
	root.SetArgs(args)
	root.SetOut(&b)
	err = root.Execute()
	return b.String(), err
}

func TestUsage(t *testing.T) {
	t.Parallel()
	network := filepath.Join(t.TempDir(), "lo.conf")
	if err := os.WriteFile(network, []byte(`{"cniVersion": "1.1.0", "name": "lo", "type": "loopback"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args  []string
		says  string
		usage bool
	}{
		{[]string{"walk"}, `unknown command "walk"`, true},
		{[]string{"run"}, "takes the file of a network", true},
		{[]string{"run", network}, "--plugins says where", true},
		{[]string{"run", network, "--plugins", ".", "--verbs", "EAT"}, `"EAT" is none of`, true},
		{[]string{"run", network, "--plugins", ".", "--resume"}, "in --out", true},
		{[]string{"run", network, "--plugins", "/nowhere"}, "/nowhere", false},
		{[]string{"trace", network, "--plugins", ".", "--verb", "EAT"}, `"EAT" is none of`, true},
		{[]string{"trace", "--what"}, "unknown flag", true},
		{[]string{"race", network, "--plugins", "."}, "--delete and --before", true},
		{[]string{"bench", "--only", "("}, "--only: ", true},
		{[]string{"bench", "--n", "0"}, "at least 1", true},
		{[]string{"bench", "--list", "--only", "^no such$"}, "no scenario matches", false},
		{[]string{"compare", t.TempDir(), t.TempDir()}, "no result", false},
		{[]string{"compare", "one"}, "2 arguments, not 1", true},
	} {
		_, err := execute(c.args...)
		var mistake usage.Error
		if err == nil || !strings.Contains(err.Error(), c.says) || errors.As(err, &mistake) != c.usage {
			t.Errorf("%q: %v", c.args, err)
		}
	}
}

func TestHelpNamesWhatThereIs(t *testing.T) {
	t.Parallel()
	out, err := execute("run", "--help")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range campaign.FaultNames() {
		if !strings.Contains(out, name) {
			t.Errorf("--help of run knows nothing of the fault %q", name)
		}
	}
	for _, v := range campaign.Verdicts() {
		if !strings.Contains(out, "\n  "+string(v)) {
			t.Errorf("--help of run knows nothing of the verdict %q", v)
		}
	}
}

func TestCompareReadsWhatRunKeeps(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := (campaign.Result{Suite: "here", Conflist: "net"}).Write(dir); err != nil {
		t.Fatal(err)
	}
	page := filepath.Join(t.TempDir(), "page.html")
	out, err := execute("compare", dir, dir, "--page", page)
	if err != nil || !strings.Contains(out, "here (second)") {
		t.Errorf("%q, %v", out, err)
	}
	if b, err := os.ReadFile(page); err != nil || !bytes.Contains(b, []byte("<html")) {
		t.Errorf("the page: %d bytes, %v", len(b), err)
	}
}
