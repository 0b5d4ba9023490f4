package input

import (
	"strings"
	"testing"

	"github.com/fairlead-net/fairlead/test/host"
)

// attaching are the plugins that go into the container's namespace.
var attaching = []string{"loopback", "bridge", "ptp", "macvlan"}

// TestRule21BadNamespace: code 8.
func TestRule21BadNamespace(t *testing.T) {
	each(t, attaching, func(s *scene, plugin string) {
		s.h.WriteFile("/run/plain", "a file")
		s.h.WriteFile("/run/directory/x", "")
		s.before = s.h.Snapshot()
		for what, path := range map[string]string{
			"a plain file":         "/run/plain",
			"a directory":          "/run/directory",
			"nowhere":              "/run/none",
			"below a file":         "/run/plain/net",
			"another kind of ns":   "/proc/self/ns/uts",
			"a device":             "/dev/null",
			"a name that is long":  "/run/" + strings.Repeat("n", 300),
			"a path that is long":  "/run/" + strings.Repeat("p/", 3000),
			"relative and nowhere": "none",
		} {
			a := s.a.WithEnv("CNI_NETNS", path)
			s.refused("ADD to "+what, a.Call("ADD"), []uint{8})
			s.refused("CHECK of "+what, a.Check(host.Result{"cniVersion": "1.1.0"}), []uint{8, 3})
		}
	})
}

// TestRule22HostsOwnNamespace is refused before anything is touched, by every
// verb that has one.
func TestRule22HostsOwnNamespace(t *testing.T) {
	each(t, all, func(s *scene, plugin string) {
		ifName := s.a.IfName
		if ifName != "lo" {
			s.h.MustRun("ip", "link", "add", ifName, "type", "veth", "peer", "name", "far")
			s.h.MustRun("ip", "link", "set", ifName, "up")
		}
		s.before = s.h.Snapshot()
		for _, path := range []string{"/proc/self/ns/net", "/proc/thread-self/ns/net", s.h.NetnsPath()} {
			a := s.a.WithEnv("CNI_NETNS", path)
			s.refused("ADD to "+path, a.Call("ADD"), []uint{8})
			s.refused("ADD to "+path+" by another name", a.WithEnv("CNI_IFNAME", "other0").Call("ADD"), []uint{8})
			s.refused("DEL from "+path, a.Call("DEL"), []uint{8})
			s.refused("CHECK in "+path, a.Check(host.Result{"cniVersion": "1.1.0"}), []uint{8})
		}
	})
}

// TestRule21Environment: code 4, and the names of the variables.
func TestRule21Environment(t *testing.T) {
	each(t, all, func(s *scene, plugin string) {
		for what, env := range map[string][]string{
			"no container":              {"CNI_CONTAINERID", host.Unset},
			"no interface":              {"CNI_IFNAME", host.Unset},
			"no namespace":              {"CNI_NETNS", host.Unset},
			"an empty namespace":        {"CNI_NETNS", ""},
			"a verb that is none":       {"CNI_COMMAND", "MEND"},
			"a verb in small letters":   {"CNI_COMMAND", "add"},
			"an interface's long name":  {"CNI_IFNAME", "sixteen-letters0"},
			"an interface's bad name":   {"CNI_IFNAME", "a/b"},
			"a container's bad name":    {"CNI_CONTAINERID", "../../etc"},
			"a container's empty name":  {"CNI_CONTAINERID", ""},
			"a container's name in two": {"CNI_CONTAINERID", "a\nb"},
		} {
			s.refused("ADD with "+what, s.a.WithEnv(env...).Call("ADD"), []uint{4}, env[0])
		}
	})
}

// TestRule21Args: CNI_ARGS that can't be read. Keys that we don't know are
// ignored (rule 22).
func TestRule21Args(t *testing.T) {
	of := map[string][]string{
		"bridge":     {"MAC=letters", "MAC=02:00", "MAC=01:00:5e:00:00:01"},
		"macvlan":    {"MAC=letters", "MAC=02:00", "MAC=01:00:5e:00:00:01"},
		"host-local": {"IP=letters", "IP=192.0.2.1", "IP=fd00::1"},
		"static":     {"IP=letters", "IP=10.44.0.7/99", "IP=10.44.0.7/24;GATEWAY=x"},
	}
	each(t, all, func(s *scene, plugin string) {
		for _, args := range of[plugin] {
			s.refused("ADD with CNI_ARGS="+args, s.a.WithEnv("CNI_ARGS", args).Call("ADD"), []uint{4, 7})
		}
		for _, args := range []string{"", "UNKNOWN=1", "IgnoreUnknown=false;UNKNOWN=1", "IgnoreUnknown=1;K8S_POD_NAME=a;K8S_POD_UID=b"} {
			a := s.a.WithEnv("CNI_ARGS", args)
			a.MustAdd(s)
			a.MustDel(s)
		}
	})
}

// TestLongNames are longer than a file's name may be: refused, or all is well.
func TestLongNames(t *testing.T) {
	each(t, all, func(s *scene, plugin string) {
		long := strings.Repeat("n", 300)
		for what, a := range map[string]host.Attachment{
			"container": s.a.WithEnv("CNI_CONTAINERID", long),
			"network":   s.a.WithConfig("name", long),
		} {
			o := a.Call("ADD")
			if o.OK() {
				a.MustDel(s)
			} else if e := o.Error(s); e.Code == 0 || e.Code >= 100 {
				s.Errorf("ADD of a long %s name: code %d: %s", what, e.Code, e.Error())
			}
			if d := s.h.Left(s.before, host.Standing, host.Bridge("cni0")); len(d) > 0 {
				s.Errorf("ADD of a long %s name: left:\n\t%s", what, strings.Join(d, "\n\t"))
			}
		}
	})
}
