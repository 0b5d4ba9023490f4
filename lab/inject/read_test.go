package inject

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestReads: what is only opened, read and looked at is heard if that is asked
// for, and only then.
func TestReads(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, []byte("something\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		argv  []string
		calls []int
		want  []string // of the events about dir, each begins with one of these
	}{
		{[]string{"cat", file}, All(), nil},
		{[]string{"cat", file}, append(All(), Reads()...), []string{"open", "read"}},
		{[]string{"ls", dir}, append(All(), Reads()...), []string{"open", "getdents64"}},
		{[]string{"stat", file}, append(All(), Looks()...), []string{"stat", "lstat", "newfstatat", "fstatat"}},
	} {
		var heard []string
		cmd := exec.Command(c.argv[0], c.argv[1:]...)
		err := Run(cmd, c.calls, func(call *Call) Verdict {
			if e, err := call.Event(); err == nil && e.Kind == KindFile && strings.HasPrefix(e.Path, dir) {
				heard = append(heard, e.Text)
			}
			return Verdict{}
		})
		if err != nil {
			t.Fatal(err)
		}

		if (len(heard) > 0) != (c.want != nil) {
			t.Errorf("%q: heard %q", c.argv, heard)
		}
		for _, event := range heard {
			if !slices.ContainsFunc(c.want, func(w string) bool { return strings.HasPrefix(event, w) }) {
				t.Errorf("%q: heard %q", c.argv, event)
			}
		}
	}
}
