package resource

import (
	"bytes"
	"encoding/json"
	"net/netip"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/fairlead-net/fairlead/kernel"
)

// runIn runs a command in the namespace and gives what it printed.
func runIn(t testing.TB, ns *kernel.Namespace, stdin string, command ...string) string {
	t.Helper()
	var out, errs bytes.Buffer
	err := ns.Do(func() error {
		cmd := exec.Command(command[0], command[1:]...)
		cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &out, &errs
		return cmd.Run()
	})
	if err != nil {
		t.Fatalf("%s: %v: %s", strings.Join(command, " "), err, errs.String())
	}
	return out.String()
}

func nftScript(t testing.TB, ns *kernel.Namespace, script string) {
	t.Helper()
	runIn(t, ns, script, "nft", "-f", "-")
}

// rulesetOf is all that nft knows, as its JSON has it, less handles.
func rulesetOf(t testing.TB, ns *kernel.Namespace) string {
	t.Helper()
	var v struct {
		Nftables []map[string]map[string]any `json:"nftables"`
	}
	if err := json.Unmarshal([]byte(runIn(t, ns, "", "nft", "-j", "list", "ruleset")), &v); err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, object := range v.Nftables {
		for kind, body := range object {
			if kind == "metainfo" {
				continue
			}
			delete(body, "handle")
			b, err := json.Marshal(body)
			if err != nil {
				t.Fatal(err)
			}
			lines = append(lines, kind+" "+string(b))
		}
	}
	return strings.Join(lines, "\n")
}

// legacyOf is what the legacy variant of iptables has.
func legacyOf(t testing.TB, ns *kernel.Namespace) string {
	t.Helper()
	var all string
	for _, save := range []string{"iptables-legacy-save", "ip6tables-legacy-save"} {
		for line := range strings.Lines(runIn(t, ns, "", save)) {
			if strings.HasPrefix(line, "-A") || strings.HasPrefix(line, ":") && strings.Contains(line, " - ") {
				all += line
			}
		}
	}
	return all
}

// programsOf is what nft sees of rules: their steps, and the comments of all.
func programsOf(t testing.TB, ns *kernel.Namespace) string {
	t.Helper()
	var kept strings.Builder
	for line := range strings.Lines(runIn(t, ns, "", "nft", "--debug=netlink", "list", "ruleset")) {
		if words := strings.Fields(line); len(words) > 3 && !strings.HasPrefix(line, " ") && !strings.HasPrefix(line, "\t") && words[0] != "table" {
			line = strings.Join(words[:3], " ") + "\n" // handles follow
		}
		kept.WriteString(line)
	}
	return kept.String()
}

func prefixes(texts ...string) []netip.Prefix {
	var all []netip.Prefix
	for _, s := range texts {
		all = append(all, netip.MustParsePrefix(s))
	}
	return all
}

// remembered is what a process without a journal knows of m.
func remembered(m *Masquerade) *Masquerade {
	return &Masquerade{Network: m.Network, Container: m.Container, IfName: m.IfName, Backend: m.Backend}
}

// opsOf has f make its calls, and tells which they were.
func opsOf(env Env, f func(env Env)) []string {
	var mu sync.Mutex
	var ops []string
	host := env.Host.WithFaults(func(op kernel.Op) error {
		mu.Lock()
		defer mu.Unlock()
		if !op.After {
			ops = append(ops, op.Name)
		}
		return nil
	})
	f(Env{Host: host, Container: env.Container})
	return ops
}

// nftFault is a way in which the n-th call fails.
type nftFault struct {
	name  string
	after bool
	err   error
}

// nftFaults are: refused, or not found out, in each of the ways that have been
// read as "absent" (case 17); and done without an answer.
func nftFaults() []nftFault {
	return []nftFault{
		{"EBUSY", false, unix.EBUSY},
		{"EPERM", false, unix.EPERM},
		{"ENOBUFS", false, unix.ENOBUFS},
		{"interrupted", false, &kernel.Error{Errno: unix.EINTR}},
		{"unanswered", true, &kernel.Error{Errno: unix.ENOBUFS, Unanswered: true}},
	}
}

// failing gives env with one call that fails: the n-th. fired tells whether it
// came to that.
func (f nftFault) failing(env Env, n int) (faulty Env, fired func() bool) {
	var seen atomic.Int64
	host := env.Host.WithFaults(func(op kernel.Op) error {
		if op.After == f.after && seen.Add(1) == int64(n) {
			return f.err
		}
		return nil
	})
	return Env{Host: host, Container: env.Container}, func() bool { return seen.Load() >= int64(n) }
}
