package kernel

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/fairlead-net/fairlead/program"
)

// iptables, for those who ask for it by name, and to take away what others made
// with it. Rules are changed by iptables-restore: one process, and one
// transaction, where single commands would be several of each.

// lockWait is how long iptables may wait for another to let go of its lock.
const lockWait = "10" // seconds

// iptablesWord is the family's name for the tools.
func iptablesWord(f NftFamily) (string, error) {
	switch f {
	case NftIPv4:
		return "iptables", nil
	case NftIPv6:
		return "ip6tables", nil
	}
	return "", fmt.Errorf("no iptables for family %s", f)
}

// IPTablesRestore carries out lines of one table, as iptables-save has them
// ("-A CHAIN ..."), all or none. With legacy they are for the legacy variant,
// else for the one that the node uses. A lock that is not to be had in time is
// Busy.
func (n *Namespace) IPTablesRestore(ctx context.Context, f NftFamily, legacy bool, table string, lines []string) error {
	return n.call("iptables.restore", f.String()+" "+table, func() error {
		for _, line := range lines {
			if strings.ContainsAny(line, "\n\x00") {
				return fmt.Errorf("a line of %q has a line break in it", line)
			}
		}
		stdin := "*" + table + "\n" + strings.Join(lines, "\n") + "\nCOMMIT\n"
		_, err := n.iptables(ctx, f, legacy, stdin, "restore", "--noflush", "-w", lockWait)
		return err
	})
}

// IPTablesLegacyRules lists the rules of a legacy table by chain, a chain
// without rules included.
func (n *Namespace) IPTablesLegacyRules(ctx context.Context, f NftFamily, table string) (map[string][]NftRule, error) {
	var rules map[string][]NftRule
	err := n.call("iptables.rules", f.String()+" "+table, func() error {
		out, err := n.iptables(ctx, f, true, "", "save", "-t", table)
		if err == nil {
			rules, err = parseSaved(out)
		}
		return err
	})
	return rules, err
}

// iptables forks a tool inside the namespace.
func (n *Namespace) iptables(ctx context.Context, f NftFamily, legacy bool, stdin, tool string, args ...string) (string, error) {
	path, err := iptablesTool(f, legacy, tool)
	if err != nil {
		return "", err
	}
	var stdout, stderr bytes.Buffer
	err = n.do(func() error {
		cmd := program.Command(ctx, path, args...)
		cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &stdout, &stderr
		return cmd.Run()
	})
	if err == nil {
		return stdout.String(), nil
	}
	if ctx.Err() != nil {
		return "", &Error{err: fmt.Errorf("%s: %w", path, ctx.Err()), Unanswered: true}
	}
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		return "", err
	}
	words := strings.TrimSpace(stderr.String())
	if strings.Contains(words, "xtables lock") {
		return "", &Error{Errno: unix.EAGAIN, Message: words}
	}
	return "", fmt.Errorf("%s: %w: %s", path, err, words)
}

// iptablesTool finds a tool, in the places of system tools too: runtimes may
// hand on a PATH without them.
func iptablesTool(f NftFamily, legacy bool, tool string) (string, error) {
	word, err := iptablesWord(f)
	if err != nil {
		return "", err
	}
	names := []string{word + "-" + tool}
	if legacy {
		// Where there was never another variant, it has no name of its own.
		names = []string{word + "-legacy-" + tool, names[0]}
	}
	for _, name := range names {
		for _, dir := range []string{"", "/usr/sbin/", "/sbin/", "/usr/local/sbin/"} {
			if path, err := exec.LookPath(dir + name); err == nil {
				return path, nil
			}
		}
	}
	return "", fmt.Errorf("%s: %w", strings.Join(names, ", "), exec.ErrNotFound)
}

// IPTablesInstalled tells, by an error, if the node has no iptables.
func IPTablesInstalled() error {
	_, err := iptablesTool(NftIPv4, false, "restore")
	return err
}

// IPTablesQuote puts a word of a rule into quotes for IPTablesRestore.
func IPTablesQuote(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}
