package host

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestStartApart: what is mounted for one command is there for it, and neither
// for the host nor for the next one.
func TestStartApart(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	var err error
	h.Do(func() { err = os.WriteFile("/run/x", nil, 0o600) })
	if err != nil {
		t.Fatal(err)
	}
	list := func(start func(*exec.Cmd) error) string {
		t.Helper()
		var out strings.Builder
		c := h.Command("ls", "/run")
		c.Stdout = &out
		if err := start(c); err != nil {
			t.Fatal(err)
		}
		if err := c.Wait(); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	apart := list(func(c *exec.Cmd) error {
		return h.StartApart(c, func() error { return unix.Mount("tmpfs", "/run", "tmpfs", 0, "") })
	})
	if apart != "" {
		t.Errorf("apart, /run has %q", apart)
	}
	if got := list(h.Start); !strings.Contains(got, "x\n") {
		t.Errorf("in the host, /run has %q", got)
	}
	no := errors.New("no")
	if err := h.StartApart(h.Command("true"), func() error { return no }); !errors.Is(err, no) {
		t.Errorf("without a mount: %v", err)
	}
	if got := list(h.Start); !strings.Contains(got, "x\n") {
		t.Errorf("afterwards, /run has %q", got)
	}
}
