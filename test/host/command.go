package host

import (
	"bytes"
	"errors"
	"os/exec"
	"path/filepath"
	"slices"
	"sort"
	"strings"
)

// A Cmd is a command that runs in a host: Start, Run and Output start it on
// the host's thread and wait for it elsewhere, so that commands run beside
// each other. It dies with the host.
type Cmd struct {
	*exec.Cmd
	h     *Host
	netns string // "" is the host's own
}

// Command prepares a command. It gets the environment of a runtime, PATH and
// HOME, and nothing of the tester's own.
func (h *Host) Command(name string, args ...string) *Cmd {
	return &Cmd{Cmd: h.host.Command(name, args...), h: h}
}

// CommandIn prepares a command that runs within a container's namespace.
func (h *Host) CommandIn(netns, name string, args ...string) *Cmd {
	c := h.Command(name, args...)
	c.netns = netns
	return c
}

// Start starts the command on the host's thread.
func (c *Cmd) Start() error { return c.h.host.StartIn(c.netns, c.Cmd) }

// Run starts the command and waits for it.
func (c *Cmd) Run() error {
	if err := c.Start(); err != nil {
		return err
	}
	return c.Wait()
}

// Output runs the command and returns what it printed.
func (c *Cmd) Output() ([]byte, error) { return c.h.host.OutputIn(c.netns, c.Cmd) }

// MustRun runs a command that must succeed and returns what it printed.
func (h *Host) MustRun(name string, args ...string) string {
	h.t.Helper()
	return h.must(h.Command(name, args...))
}

// MustRunIn is MustRun within a container's namespace.
func (h *Host) MustRunIn(netns, name string, args ...string) string {
	h.t.Helper()
	return h.must(h.CommandIn(netns, name, args...))
}

func (h *Host) must(c *Cmd) string {
	h.t.Helper()
	out, err := c.Output()
	if err != nil {
		h.t.Fatalf("host: %s: %v\n%s%s", strings.Join(c.Args, " "), err, out, stderrOf(err))
	}
	return string(out)
}

func stderrOf(err error) string {
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		return string(exit.Stderr)
	}
	return ""
}

// Env is a plugin's environment, by name.
type Env map[string]string

// An Outcome is what a plugin call came to.
type Outcome struct {
	Stdout, Stderr string
	Exit           int // -1 when killed by a signal
}

// OK tells whether the call succeeded.
func (o Outcome) OK() bool { return o.Exit == 0 }

// RunPlugin calls a plugin of dir by execution, with the given verb and
// standard input. CNI_COMMAND, and CNI_PATH (dir) where env says nothing of
// it, are added; a variable whose value is Unset is left out.
func (h *Host) RunPlugin(dir, plugin, verb string, env Env, stdin string) Outcome {
	h.t.Helper()
	c := h.Plugin(dir, plugin, verb, env, stdin)
	var out, errs bytes.Buffer
	c.Stdout, c.Stderr = &out, &errs
	err := c.Run()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		h.t.Fatalf("host: starting %s: %v", plugin, err)
	}
	return Outcome{Stdout: out.String(), Stderr: errs.String(), Exit: c.ProcessState.ExitCode()}
}

// Unset as a value in Env leaves the variable out.
const Unset = "\x00unset"

// Plugin prepares a plugin call as RunPlugin makes it, for callers who start
// it and kill it themselves.
func (h *Host) Plugin(dir, plugin, verb string, env Env, stdin string) *Cmd {
	c := h.Command(filepath.Join(dir, plugin))
	all := Env{"CNI_COMMAND": verb, "CNI_PATH": dir}
	for k, v := range env {
		all[k] = v
	}
	c.Env = slices.DeleteFunc(c.Env, func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		_, again := all[name]
		return again
	})
	for k, v := range all {
		if v != Unset {
			c.Env = append(c.Env, k+"="+v)
		}
	}
	sort.Strings(c.Env)
	c.Stdin = strings.NewReader(stdin)
	return c
}
