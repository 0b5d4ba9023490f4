package tool

import (
	"slices"
	"strings"
	"testing"

	"github.com/fairlead-net/fairlead/test/host"
)

// heardAsAtADD tells whether a call had the arguments that ADD was given, and its
// result.
func heardAsAtADD(t *testing.T, r host.Record, container string) {
	t.Helper()
	if id, _ := r.Get("CNI_CONTAINERID"); id != container {
		t.Errorf("%s of %s, want %s", r.Verb, id, container)
	}
	if args, _ := r.Get("CNI_ARGS"); !strings.Contains(args, "K8S_POD_NAME=p") {
		t.Errorf("%s with CNI_ARGS %q", r.Verb, args)
	}
	config, _ := r.Stdin["runtimeConfig"].(map[string]any)
	if list, _ := config["portMappings"].([]any); len(list) != 1 {
		t.Errorf("%s with runtimeConfig %v", r.Verb, r.Stdin["runtimeConfig"])
	}
	if r.Stdin["prevResult"] == nil {
		t.Errorf("%s without prevResult", r.Verb)
	}
}

// TestCase33DelSaysWhatTheRuntimeSaid: result, capability arguments and CNI_ARGS
// of the ADD come from libcni's cache, wherever a runtime has it.
func TestCase33DelSaysWhatTheRuntimeSaid(t *testing.T) {
	t.Parallel()
	// The second hands on what the first container got.
	handsOn := strings.Replace(recorder, `"recorder":{`, `"recorder":{"result":{"interfaces":[{"name":"eth0","sandbox":"/run/netns/living"}],"ips":[{"address":"10.5.0.2/24","gateway":"10.5.0.1","interface":0}]},`, 1)
	for _, c := range []struct {
		name, moveTo string
		flags        []string
	}{
		{"default", "", nil},
		{"below", "/var/lib/cni/cache", nil},
		{"elsewhere", "/var/lib/cni/elsewhere", []string{"--cache-dir", "/var/lib/cni/elsewhere"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := newTwoScene(t, listOf("1.0.0", "", oursAlone, handsOn))
			if c.moveTo != "" {
				s.MustRun("mkdir", "-p", c.moveTo)
				s.MustRun("mv", "/var/lib/cni/results", c.moveTo+"/results")
			}
			run := func(args ...string) {
				t.Helper()
				s.MustRun(binary(t), slices.Concat(args, []string{"--path", s.path}, c.flags)...)
			}
			run("check", "/run/net.conflist", s.living)
			run("del", "/run/net.conflist", s.living)
			for _, verb := range []string{"CHECK", "DEL"} {
				calls := host.Records(t, s.records, verb)
				if len(calls) != 1 {
					t.Fatalf("%d %ss", len(calls), verb)
				}
				heardAsAtADD(t, calls[0], "living")
			}
			if left := s.MustRun("sh", "-c", "ls /var/lib/cni/results /var/lib/cni/*/results 2>/dev/null || true"); strings.Contains(left, "living") {
				t.Errorf("what libcni kept is still there: %s", left)
			}
		})
	}
}

// TestDelFlagsComeFirst: what is said by hand counts before what was cached.
func TestDelFlagsComeFirst(t *testing.T) {
	t.Parallel()
	s := newTwoScene(t, listOf("1.0.0", "", oursAlone, recorder))
	s.MustRun(binary(t), "del", "/run/net.conflist", s.living, "--path", s.path, "--capability", "portMappings=[]", "--args", "IgnoreUnknown=1;A=B")
	r := host.Records(t, s.records, "DEL")[0]
	args, _ := r.Get("CNI_ARGS")
	config, _ := r.Stdin["runtimeConfig"].(map[string]any)
	if list, ok := config["portMappings"].([]any); args != "IgnoreUnknown=1;A=B" || !ok || len(list) != 0 {
		t.Errorf("DEL with CNI_ARGS %q, runtimeConfig %v", args, config)
	}
}

// TestCase33DelFindsTheContainer by its namespace: a runtime's container has
// another name than its namespace, and a DEL of the wrong one does nothing.
func TestCase33DelFindsTheContainer(t *testing.T) {
	t.Parallel()
	h := host.New(t)
	h.WriteFile("/run/net.conflist", listOf("1.0.0", "", oursAlone))
	path := host.Build(t)
	netns := h.Netns("cni-1234")
	h.MustRun(binary(t), "add", "/run/net.conflist", netns, "--id", "sandbox", "--path", path)
	h.MustRun(binary(t), "del", "/run/net.conflist", "/var"+netns, "--path", path)
	if list := h.MustRun(binary(t), "list"); strings.Contains(list, "sandbox") {
		t.Errorf("it is still there:\n%s", list)
	}
	// Of two it must be told which.
	h.MustRun(binary(t), "add", "/run/net.conflist", netns, "--id", "one", "--path", path)
	h.MustRun("sh", "-c", `sed s/\"one\"/\"two\"/ /var/lib/cni/results/net-one-eth0 > /var/lib/cni/results/net-two-eth0`)
	if said := fails(t, h.Command(binary(t), "del", "/run/net.conflist", netns, "--path", path)); !strings.Contains(said, "--id") {
		t.Error(said)
	}
}

// TestCase33DelWithoutKnowingTheArguments: what libcni kept can't be read, so
// what a chained plugin must be told is not known; nothing is half removed.
func TestCase33DelWithoutKnowingTheArguments(t *testing.T) {
	t.Parallel()
	s := newTwoScene(t, listOf("1.0.0", "", oursAlone, recorder))
	s.WriteFile("/var/lib/cni/results/net-living-eth0", "nonsense")
	said := fails(t, s.Command(binary(t), "del", "/run/net.conflist", s.living, "--path", s.path))
	if !strings.Contains(said, "net-living-eth0") {
		t.Error(said)
	}
	if n := len(host.Records(t, s.records, "DEL")); n != 0 {
		t.Errorf("%d DELs all the same", n)
	}
}
