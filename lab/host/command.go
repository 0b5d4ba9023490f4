package host

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"syscall"
)

// Environment is what a runtime gives its plugins besides CNI's own variables:
// PATH and HOME, and nothing else of the caller's.
func Environment() []string {
	return []string{
		"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
		"HOME=" + os.Getenv("HOME"),
	}
}

// Command prepares a command with that environment, which dies with the host.
// It must be started by Start, Run or Output of the host, or within Do.
func (h *Host) Command(name string, args ...string) *exec.Cmd {
	c := exec.Command(name, args...)
	c.Env = Environment()
	c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	return c
}

// Start starts a command in the host. Who waits for it needs no thread of the
// host's: commands run beside each other.
func (h *Host) Start(c *exec.Cmd) error { return h.StartIn("", c) }

// StartIn is Start within a container's namespace.
func (h *Host) StartIn(netns string, c *exec.Cmd) error {
	var err error
	if e := h.Inside(netns, func() { err = c.Start() }); e != nil {
		return e
	}
	return err
}

// Run starts a command in the host and waits for it.
func (h *Host) Run(c *exec.Cmd) error {
	if err := h.Start(c); err != nil {
		return err
	}
	return c.Wait()
}

// Output runs a command in the host and returns what it printed, as Output of
// os/exec does.
func (h *Host) Output(c *exec.Cmd) ([]byte, error) { return h.OutputIn("", c) }

// OutputIn is Output within a container's namespace.
func (h *Host) OutputIn(netns string, c *exec.Cmd) ([]byte, error) {
	var out, errs bytes.Buffer
	c.Stdout = &out
	if c.Stderr == nil {
		c.Stderr = &errs
	}
	err := h.StartIn(netns, c)
	if err == nil {
		err = c.Wait()
	}
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		exit.Stderr = errs.Bytes()
	}
	return out.Bytes(), err
}
