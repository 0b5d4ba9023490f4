package cases

import (
	"bytes"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fairlead-net/fairlead/test/host"
)

// inShell runs a command on the host behind a few lines of shell, which may
// enter another mount namespace first.
func (s *scene) inShell(env map[string]string, stdin, prelude string, command ...string) host.Outcome {
	s.Helper()
	script := prelude + ` exec "$@"`
	c := s.h.Command("sh", append([]string{"-c", script, "sh"}, command...)...)
	for k, v := range env {
		c.Env = append(c.Env, k+"="+v)
	}
	var out, errs bytes.Buffer
	c.Stdin, c.Stdout, c.Stderr = strings.NewReader(stdin), &out, &errs
	err := c.Run()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		s.Fatal(err)
	}
	return host.Outcome{Stdout: out.String(), Stderr: errs.String(), Exit: c.ProcessState.ExitCode()}
}

// elsewhere is a mount namespace that has another /run/netns, or sees the files
// there without what is mounted on them, or has other namespaces there.
func elsewhere(netns string) map[string]string {
	const apart = `exec unshare -m --propagation private sh -c '`
	return map[string]string{
		"its own directory": apart + `mount -t tmpfs tmpfs /run/netns; exec "$@"' sh "$@";`,
		"a plain file":      apart + `umount -l ` + netns + `; exec "$@"' sh "$@";`,
		"another namespace": apart + `umount -l ` + netns + `; mount --bind /proc/self/ns/net ` + netns + `; exec "$@"' sh "$@";`,
	}
}

func (s *scene) list(a host.Attachment) string {
	s.Helper()
	path := filepath.Join(s.TempDir(), "net.conflist")
	plugin := a.Config.With("name", nil, "cniVersion", nil)
	s.h.WriteFile(path, fmt.Sprintf(`{"cniVersion":"1.1.0","name":%q,"plugins":[%s]}`, netName, plugin))
	return path
}

func (s *scene) fairlead(prelude string, args ...string) host.Outcome {
	s.Helper()
	args = append([]string{filepath.Join(s.dir, "fairlead")}, args...)
	return s.inShell(nil, "", prelude, append(args, "--path", s.dir)...)
}

// TestCase28AnotherMountNamespace: a debug shell does not see the namespaces of
// containers. GC from there, the plugin's and the operator's, keeps and names
// them; DEL by the runtime, whose word it is, works.
func TestCase28AnotherMountNamespace(t *testing.T) {
	each(t, plain(), func(s *scene) {
		before := s.h.Snapshot()
		a := s.attach()
		list := s.list(a)
		if o := s.fairlead("", "add", list, a.Netns, "--id", a.Container, "--ifname", a.IfName); !o.OK() {
			s.Fatal(o.Stdout, o.Stderr)
		}
		whole, within := s.h.Snapshot(), s.h.SnapshotIn(a.Netns)
		for name, prelude := range elsewhere(a.Netns) {
			gc := s.inShell(map[string]string{"CNI_COMMAND": "GC", "CNI_PATH": a.Path}, a.Config.String(), prelude, filepath.Join(s.dir, a.Config.Type()))
			operators := s.fairlead(prelude, "gc", list)
			for what, o := range map[string]host.Outcome{"plugin's GC": gc, "fairlead gc": operators} {
				if !o.OK() || s.name != "static" && !strings.Contains(o.Stderr, a.Container) {
					s.Errorf("%s, %s: exit %d, %s%s", name, what, o.Exit, o.Stdout, o.Stderr)
				}
			}
			s.clean(whole)
			s.untouched(a, within)
		}
		s.h.DeleteNetns(a.Netns)
		if o := s.fairlead("", "gc", list); !o.OK() {
			s.Errorf("GC where it was attached: %s%s", o.Stdout, o.Stderr)
		}
		s.cleanSoon(before)
	})
}
