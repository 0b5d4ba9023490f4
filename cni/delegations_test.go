package cni

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fairlead-net/fairlead/attachment"
	"github.com/fairlead-net/fairlead/resource"
)

// twofold is a plugin with two delegates, each with a configuration of its own,
// and a fact whose choice is guarded.
type twofold struct{ toy }

// chosen is the fact.
type chosen struct{}

func (chosen) Name() string                                    { return "chosen" }
func (chosen) Lock() string                                    { return "chosen" }
func (chosen) Find(context.Context, resource.Env) (any, error) { return 1, nil }

func (twofold) Facts() []Fact { return []Fact{chosen{}} }

func (twofold) Delegations() []Delegation {
	conf := func(typ string) []byte { return []byte(`{"cniVersion":"1.1.0","name":"net","type":"` + typ + `"}`) }
	return []Delegation{{Type: "one", Config: conf("one"), IPAM: true}, {Type: "two", Config: conf("two")}}
}

// newTwofold is a desk for it. Its delegates write down each call, and at ADD
// whether the fact's lock is free.
func newTwofold(t *testing.T) (d *desk, heard func() []string) {
	t.Helper()
	d = newDesk(t)
	plugins := d.runner.Plugins
	d.runner.Plugins = func(name string) (Plugin, bool) {
		_, ok := plugins(name)
		return Plugin{Name: name, Prepare: func(req *Request) (Statement, error) {
			return &twofold{toy{Base: Base{Req: req}, dir: d.dir}}, nil
		}}, ok
	}
	lock := filepath.Join(d.dir, "state", "locks", attachment.Digest("chosen"))
	script := `#!/bin/sh
echo "$CNI_COMMAND $(basename $0) $(cat)" >> ` + d.dir + `/heard
[ "$CNI_COMMAND" = ADD ] || exit 0
if [ -e ` + lock + ` ]; then flock -n ` + lock + ` true || echo "ADD finds the lock held" >> ` + d.dir + `/heard; fi
echo '{"cniVersion":"1.1.0","ips":[{"address":"10.0.0.2/24"}]}'
`
	for _, name := range []string{"one", "two"} {
		if err := os.WriteFile(filepath.Join(d.dir, name), []byte(script), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	d.vars["CNI_PATH"] = d.dir
	return d, func() []string {
		t.Helper()
		text, err := os.ReadFile(filepath.Join(d.dir, "heard"))
		if err != nil {
			t.Fatal(err)
		}
		return strings.Split(strings.TrimSpace(string(text)), "\n")
	}
}

// TestRule24EachDelegateGetsItsOwn configuration at every verb, and what undoes
// an ADD comes in reverse order.
func TestRule24EachDelegateGetsItsOwn(t *testing.T) {
	t.Parallel()
	d, heard := newTwofold(t)
	conf := `{"cniVersion":"1.1.0","name":"net","type":"toy","ipam":{"type":"one"},"cni.dev/valid-attachments":[{"containerID":"c1","ifname":"eth0"}]}`
	for _, verb := range []Verb{Status, Add, Check, GC, Del} {
		if code, out := d.call(verb, conf); code != 0 {
			t.Fatalf("%s: %s", verb, out)
		}
	}
	lines := heard()
	for i, want := range []string{
		"STATUS one", "STATUS two", "ADD one", "ADD two", "CHECK one", "CHECK two", "GC two", "GC one", "DEL two", "DEL one",
	} {
		name := want[len(want)-3:]
		if i >= len(lines) || !strings.HasPrefix(lines[i], want+" ") || !strings.Contains(lines[i], `"type":"`+name+`"`) || strings.Contains(lines[i], "ipam") {
			t.Fatalf("line %d: want %s, heard\n%s", i, want, strings.Join(lines, "\n"))
		}
		if valid := strings.Contains(lines[i], `"containerID":"c1"`); valid != strings.HasPrefix(want, "GC") {
			t.Errorf("%s", lines[i])
		}
	}
}

// TestRule18DelegatesDoNotHoldUpOthersChoice: a delegate may take long. What was
// chosen is taken by then.
func TestRule18DelegatesDoNotHoldUpOthersChoice(t *testing.T) {
	t.Parallel()
	d, heard := newTwofold(t)
	if code, out := d.call(Add, `{"cniVersion":"1.1.0","name":"net","type":"toy"}`); code != 0 {
		t.Fatal(out)
	}
	for _, line := range heard() {
		if strings.Contains(line, "held") {
			t.Error(line)
		}
	}
}
