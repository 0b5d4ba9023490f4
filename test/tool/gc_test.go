package tool

import (
	"errors"
	"os/exec"
	"strings"
	"testing"

	"github.com/fairlead-net/fairlead/test/host"
)

// fails runs a command that must exit with status 1, and gives what it said.
func fails(t *testing.T, c *host.Cmd) string {
	t.Helper()
	out, err := c.Output()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 1 {
		t.Fatalf("%v: %v, want status 1: %s", c.Args, err, out)
	}
	return string(out) + string(exit.Stderr)
}

const (
	oursAlone = `{"type":"bridge","bridge":"br0","ipMasq":true,"ipam":{"type":"host-local","ranges":[[{"subnet":"10.5.0.0/24"}]]}}`
	// recorder is another suite's plugin, which writes down how it is called.
	recorder = `{"type":"recorder","capabilities":{"portMappings":true},"recorder":{"dir":"RECORDS"}}`
	mapping  = `portMappings=[{"hostPort":8080,"containerPort":80}]`
)

func listOf(version, more string, plugins ...string) string {
	return `{"cniVersion":"` + version + `","name":"net",` + more + `"plugins":[` + strings.Join(plugins, ",") + `]}`
}

// twoScene has two containers on one network; the namespace of one is gone.
type twoScene struct {
	*host.Host
	path, records string
	living, dead  string
}

// newTwoScene adds both; RECORDS in the list stands for the recorder's directory.
func newTwoScene(t *testing.T, list string) twoScene {
	t.Helper()
	s := twoScene{Host: host.New(t), path: host.Build(t) + ":" + host.Recorder(t), records: t.TempDir()}
	s.WriteFile("/run/net.conflist", strings.ReplaceAll(list, "RECORDS", s.records))
	s.living, s.dead = s.Netns("living"), s.Netns("dead")
	for _, netns := range []string{s.living, s.dead} {
		s.MustRun(binary(t), "add", "/run/net.conflist", netns, "--path", s.path, "--capability", mapping, "--args", "IgnoreUnknown=1;K8S_POD_NAME=p")
	}
	s.DeleteNetns(s.dead)
	return s
}

// swept tells that only what is dead is gone: records, lease and rule.
func (s twoScene) swept(t *testing.T) {
	t.Helper()
	list := s.MustRun(binary(t), "list")
	if strings.Contains(list, "dead") || strings.Count(list, "/run/netns/living") != 2 {
		t.Errorf("the journal after:\n%s", list)
	}
	leases := s.MustRun("sh", "-c", "cat /var/lib/cni/networks/net/10.*")
	if strings.Contains(leases, "dead") || !strings.Contains(leases, "living") {
		t.Errorf("the leases after:\n%s", leases)
	}
	if rules := s.MustRun("nft", "list", "ruleset"); strings.Count(rules, "masquerade comment") != 1 {
		t.Errorf("the rules after:\n%s", rules)
	}
}

// TestCase33GCIsCarriedOut: libcni asks nobody where the protocol's version has
// no GC, and where the list forbids it.
func TestCase33GCIsCarriedOut(t *testing.T) {
	t.Parallel()
	for name, list := range map[string]string{
		"1.1.0": listOf("1.1.0", "", oursAlone), "1.0.0": listOf("1.0.0", "", oursAlone), "0.3.1": listOf("0.3.1", "", oursAlone),
		"disableGC": listOf("1.1.0", `"disableGC":true,`, oursAlone),
	} {
		for _, cache := range []bool{true, false} {
			for _, args := range [][]string{{"gc"}, {"gc", "/run/net.conflist"}} {
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					s := newTwoScene(t, list)
					if !cache { // as where the runtime keeps it elsewhere
						s.MustRun("rm", "-r", "/var/lib/cni/results")
					}
					out := s.MustRun(binary(t), append(args, "--path", s.path)...)
					if !strings.Contains(out, "dead/eth0 on net") && !strings.Contains(out, "GC by bridge: done") {
						t.Errorf("it does not say what it did: %s", out)
					}
					s.swept(t)
					s.MustRun(binary(t), append(args, "--path", s.path)...)
					s.swept(t)
				})
			}
		}
	}
}

// TestCase33ForcedGCOfASharedNetwork: disableGC says that others share it.
func TestCase33ForcedGCOfASharedNetwork(t *testing.T) {
	t.Parallel()
	s := newTwoScene(t, listOf("1.1.0", `"disableGC":true,`, oursAlone))
	if said := fails(t, s.Command(binary(t), "gc", "/run/net.conflist", "--force", "--path", s.path)); !strings.Contains(said, "disableGC") {
		t.Error(said)
	}
	if list := s.MustRun(binary(t), "list"); strings.Count(list, "/run/netns/") != 4 {
		t.Errorf("what was refused touched something:\n%s", list)
	}
}

// TestCase33ForcedGCByTheJournal: what is valid stays, what is not goes.
func TestCase33ForcedGCByTheJournal(t *testing.T) {
	t.Parallel()
	s := newTwoScene(t, listOf("1.0.0", "", oursAlone))
	s.MustRun("rm", "-r", "/var/lib/cni/results")
	s.MustRun(binary(t), "gc", "/run/net.conflist", "--force", "--valid", "living/eth0", "--path", s.path)
	s.swept(t)
	s.MustRun(binary(t), "gc", "/run/net.conflist", "--force", "--path", s.path)
	if list := s.MustRun(binary(t), "list"); strings.Contains(list, "living") {
		t.Errorf("what is not valid stays:\n%s", list)
	}
}

// TestCase33GCWithoutAListAsksTheWholeChain: another suite's plugin hears DEL
// with what it heard at ADD, or what it mapped would lead to a freed address.
func TestCase33GCWithoutAListAsksTheWholeChain(t *testing.T) {
	t.Parallel()
	s := newTwoScene(t, listOf("1.0.0", "", oursAlone, recorder))
	// Not with that plugin gone: then the address stays taken, and is told of.
	said := fails(t, s.Command(binary(t), "gc", "--path", host.Build(t)))
	if !strings.Contains(said, "dead/eth0 on net is kept") || !strings.Contains(said, "recorder") {
		t.Errorf("without the plugin: %s", said)
	}
	if list := s.MustRun(binary(t), "list"); strings.Count(list, "/run/netns/dead") != 2 {
		t.Errorf("the records are gone all the same:\n%s", list)
	}
	s.MustRun(binary(t), "gc", "--path", s.path)
	s.swept(t)
	dels := host.Records(t, s.records, "DEL")
	if len(dels) != 1 {
		t.Fatalf("%d DELs", len(dels))
	}
	heardAsAtADD(t, dels[0], "dead")
}

// TestCase33GCTellsOfEachPlugin: the error of one does not hide the others.
func TestCase33GCTellsOfEachPlugin(t *testing.T) {
	t.Parallel()
	refuses := strings.Replace(recorder, `"recorder":{`, `"recorder":{"errors":{"GC":{"code":100,"msg":"refuses"}},`, 1)
	s := newTwoScene(t, listOf("1.1.0", "", oursAlone, refuses))
	s.MustRun("rm", "-r", "/var/lib/cni/results")
	said := fails(t, s.Command(binary(t), "gc", "/run/net.conflist", "--path", s.path))
	for _, want := range []string{"GC by bridge: done", "GC by recorder: ", "refuses (CNI code 100)"} {
		if !strings.Contains(said, want) {
			t.Errorf("%q is missing in %s", want, said)
		}
	}
	s.swept(t)
}

// TestCase33StatusThatAsksNobody is no success.
func TestCase33StatusThatAsksNobody(t *testing.T) {
	t.Parallel()
	h := host.New(t)
	for _, version := range []string{"1.0.0", "0.4.0", ""} {
		h.WriteFile("/run/net.conflist", listOf(version, "", oursAlone))
		if said := fails(t, h.Command(binary(t), "status", "/run/net.conflist", "--path", host.Build(t))); !strings.Contains(said, "no plugin was asked") {
			t.Errorf("cniVersion %q: %s", version, said)
		}
	}
}

// TestCase33CheckThatChecksNothing is no success.
func TestCase33CheckThatChecksNothing(t *testing.T) {
	t.Parallel()
	s := newTwoScene(t, listOf("1.1.0", `"disableCheck":true,`, oursAlone))
	if said := fails(t, s.Command(binary(t), "check", "/run/net.conflist", s.living, "--path", s.path)); !strings.Contains(said, "disableCheck") {
		t.Error(said)
	}
}

// TestCase33GCSparesTheSuccessor: the container's ID was used again, and what an
// earlier one of that ID left is recorded still.
func TestCase33GCSparesTheSuccessor(t *testing.T) {
	t.Parallel()
	h := host.New(t)
	path := host.Build(t)
	h.WriteFile("/run/first.conflist", listOf("1.0.0", "", strings.Replace(oursAlone, `"bridge":"br0"`, `"bridge":"br0","mtu":1400`, 1)))
	h.WriteFile("/run/second.conflist", listOf("1.0.0", "", `{"type":"macvlan","master":"up0"}`))
	h.MustRun("ip", "link", "add", "up0", "type", "veth", "peer", "up1")
	first, second := h.Netns("first"), h.Netns("second")
	h.MustRun(binary(t), "add", "/run/first.conflist", first, "--id", "c1", "--path", path)
	h.DeleteNetns(first)
	h.MustRun(binary(t), "add", "/run/second.conflist", second, "--id", "c1", "--path", path)
	h.MustRun(binary(t), "gc", "--path", path)
	if list := h.MustRun(binary(t), "list"); strings.Contains(list, "/run/netns/first") || !strings.Contains(list, "/run/netns/second") {
		t.Errorf("the journal after:\n%s", list)
	}
	h.MustRunIn(second, "ip", "link", "show", "eth0")
}
