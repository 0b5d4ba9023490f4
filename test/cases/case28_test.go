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

// TestRule22PathLeadsToTheHost: the container's namespace is gone, and the host's
// own is at its path by now.
func TestRule22PathLeadsToTheHost(t *testing.T) {
	verbs := map[string]func(s *scene, a host.Attachment, list string){
		"DEL": func(s *scene, a host.Attachment, _ string) { a.MustDel(s) },
		"GC": func(s *scene, a host.Attachment, _ string) {
			if o := a.GC(); !o.OK() {
				s.Errorf("GC: %s%s", o.Stdout, o.Stderr)
			}
		},
		"gc": func(s *scene, _ host.Attachment, list string) {
			if o := s.fairlead("", "gc", list); !o.OK() {
				s.Errorf("gc: %s%s", o.Stdout, o.Stderr)
			}
		},
		"gc --force": func(s *scene, _ host.Attachment, list string) {
			if o := s.fairlead("", "gc", list, "--force"); !o.OK() {
				s.Errorf("gc --force: %s%s", o.Stdout, o.Stderr)
			}
		},
	}
	each(t, oneContainer(), func(s *scene) {
		for name, remove := range verbs {
			before := s.h.Snapshot()
			a := s.attach()
			list := s.list(a)
			if o := s.fairlead("", "add", list, a.Netns, "--id", a.Container, "--ifname", a.IfName); !o.OK() {
				s.Fatal(o.Stdout, o.Stderr)
			}
			s.leadToTheHost(a)
			// What has the interface's name on the host is none of ours.
			s.h.MustRun("ip", "link", "add", a.IfName, "type", "veth", "peer", "name", "far")
			remove(s, a, list)
			s.h.MustRun("ip", "link", "show", a.IfName)
			s.fails(name+", then DEL without a record", a.Call("DEL"), 8)
			s.h.MustRun("ip", "link", "del", a.IfName)
			if s.h.MustRun("stat", "-L", "-c", "%i", a.Netns) != s.h.MustRun("stat", "-L", "-c", "%i", s.h.NetnsPath()) {
				s.Errorf("%s: the path does not lead to the host any more", name)
			}
			s.h.MustRun("umount", a.Netns)
			s.h.RemoveNetns(a.Netns)
			s.h.SameSoon(s, before, host.Standing, host.Bridge("cni0"), func(f host.Fact) bool {
				// libcni's cache is its own; a virtual device goes with the namespace.
				return strings.HasPrefix(f.Name, "/var/lib/cni/results") || strings.HasPrefix(f.Name, "ens5")
			})
			if d, ok := s.config["device"].(string); ok {
				nic(s.h, d)
			}
			if s.Failed() {
				return
			}
		}
	})
}

// leadToTheHost ends the container's namespace, and has its path lead to the
// host's own.
func (s *scene) leadToTheHost(a host.Attachment) {
	s.Helper()
	s.h.DeleteNetns(a.Netns)
	s.h.WriteFile(a.Netns, "")
	s.h.MustRun("mount", "--bind", s.h.NetnsPath(), a.Netns)
}

// TestRule22HalfAddedListAtTheHost: the plugin that failed has no record, but
// that of an earlier one tells that the host's namespace is not the container's.
func TestRule22HalfAddedListAtTheHost(t *testing.T) {
	t.Parallel()
	s := newScene(t, network{})
	before := s.h.Snapshot()
	a := s.inList("tuning", "mtu", 70000)
	if o := a.Call("ADD"); o.OK() {
		t.Fatal("an MTU of 70000")
	}
	s.leadToTheHost(a)
	a.MustDel(t)
	s.h.MustRun("umount", a.Netns)
	s.h.RemoveNetns(a.Netns)
	s.cleanSoon(before)
}

// TestRule22DelegateIsNotLedToTheHost: nor to whatever else is at the path of a
// namespace that is gone.
func TestRule22DelegateIsNotLedToTheHost(t *testing.T) {
	each(t, interfaces()[:1], func(s *scene) {
		for name, lead := range map[string]func(host.Attachment){
			"the host": s.leadToTheHost,
			"another container": func(a host.Attachment) {
				s.h.DeleteNetns(a.Netns)
				s.h.Netns(filepath.Base(a.Netns))
			},
		} {
			a, records := s.recorded()
			a.MustAdd(s)
			lead(a)
			a.MustDel(s)
			calls := host.Records(s, records, "DEL")
			if len(calls) == 0 {
				s.Errorf("%s: the delegate heard no DEL", name)
			}
			for _, r := range calls {
				if netns, _ := r.Get("CNI_NETNS"); netns != "" {
					s.Errorf("%s: the delegate is sent to %s", name, netns)
				}
			}
			s.h.RemoveNetns(a.Netns)
		}
	})
}
