package oracle

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/fairlead-net/fairlead/lab/host"
)

func newHost(t testing.TB) *host.Host {
	t.Helper()
	h, err := host.New()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	})
	return h
}

func look(t testing.TB, h *host.Host, o Options) Picture {
	t.Helper()
	p, err := Take(h, o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// A step changes a host.
type step func(*host.Host) error

// run runs commands, given as words between blanks; a word with a blank in it
// has a _ there, and one with a _ a ^;
// ” is the empty word.
func run(lines ...string) step {
	return func(h *host.Host) error {
		for _, line := range lines {
			words := strings.Fields(line)
			for i := range words[1:] {
				words[i+1] = strings.NewReplacer("_", " ", "^", "_", "''", "").Replace(words[i+1])
			}
			if out, err := h.Output(h.Command(words[0], words[1:]...)); err != nil {
				return fmt.Errorf("%s: %w: %s%s", line, err, out, stderrOf(err))
			}
		}
		return nil
	}
}

func stderrOf(err error) string {
	if exit, ok := err.(*exec.ExitError); ok { //nolint:errorlint // it is not wrapped
		return string(exit.Stderr)
	}
	return ""
}

// on runs a function on the host.
func on(f func() error) step {
	return func(h *host.Host) (err error) {
		h.Do(func() { err = f() })
		return err
	}
}

func write(path, content string) step {
	return on(func() error { return os.WriteFile(path, []byte(content), 0o600) })
}

func remove(path string) step { return on(func() error { return os.Remove(path) }) }

func do(t testing.TB, h *host.Host, steps ...step) {
	t.Helper()
	for _, s := range steps {
		if err := s(h); err != nil {
			t.Fatal(err)
		}
	}
}
