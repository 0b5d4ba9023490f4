package chains

import (
	"context"
	"strings"
	"testing"

	"github.com/containernetworking/cni/libcni"

	"github.com/fairlead-net/fairlead/test/host"
)

// A network is a list of plugins, for one interface of a container.
type network struct {
	name    string
	ifName  string
	plugins []host.Config
}

// A scene is a host with one container, and libcni.
type scene struct {
	*testing.T
	h       *host.Host
	version string
	netns   string
	cni     *libcni.CNIConfig
	exec    *host.Exec
}

const container = "c1"

// newScene makes the host; the container's namespace is yet to be made.
func newScene(t *testing.T, version string, prepare func(*host.Host)) *scene {
	t.Helper()
	s := &scene{T: t, h: host.New(t), version: version, netns: "/run/netns/" + container}
	if prepare != nil {
		prepare(s.h)
	}
	s.exec = s.h.Exec()
	s.cni = s.h.LibcniWith(host.Build(t)+":"+host.Recorder(t), s.exec)
	return s
}

// checks tells whether the version has CHECK.
func (s *scene) checks() bool { return s.version != "0.3.1" }

func (s *scene) list(n network) *libcni.NetworkConfigList {
	s.Helper()
	plugins := []any{}
	for _, c := range n.plugins {
		plugins = append(plugins, c)
	}
	list, err := libcni.ConfListFromBytes([]byte(host.Config{"cniVersion": s.version, "name": n.name, "plugins": plugins}.String()))
	if err != nil {
		s.Fatalf("%s: %v", n.name, err)
	}
	return list
}

func (s *scene) runtime(n network) *libcni.RuntimeConf {
	return &libcni.RuntimeConf{ContainerID: container, NetNS: s.netns, IfName: n.ifName}
}

// add adds the network, or ends the test.
func (s *scene) add(n network) {
	s.Helper()
	if err := s.tryAdd(n); err != nil {
		s.Fatalf("ADD of %s: %v", n.name, err)
	}
}

func (s *scene) tryAdd(n network) error {
	s.Helper()
	_, err := s.cni.AddNetworkList(context.Background(), s.list(n), s.runtime(n))
	return err
}

// check is libcni's CHECK of the list; nil where the version has none.
func (s *scene) check(n network) error {
	s.Helper()
	if !s.checks() {
		return nil
	}
	return s.cni.CheckNetworkList(context.Background(), s.list(n), s.runtime(n))
}

// healthy fails the test when CHECK of one of the networks does.
func (s *scene) healthy(when string, all ...network) {
	s.Helper()
	for _, n := range all {
		if err := s.check(n); err != nil {
			s.Errorf("%s, CHECK of %s: %v", when, n.name, err)
		}
	}
}

// del removes the network, twice: a runtime may not have heard the answer.
func (s *scene) del(n network) {
	s.Helper()
	for _, which := range []string{"DEL", "repeated DEL"} {
		if err := s.cni.DelNetworkList(context.Background(), s.list(n), s.runtime(n)); err != nil {
			s.Errorf("%s of %s: %v", which, n.name, err)
		}
	}
}

// ip runs ip in the container, or on the host if the words begin with "host".
func (s *scene) ip(words string) string {
	s.Helper()
	args := strings.Fields(words)
	if args[0] == "host" {
		return s.h.MustRun("ip", args[1:]...)
	}
	return s.h.MustRunIn(s.netns, "ip", args...)
}

// parameter is the one of the whole container that tuning sets.
const parameter = "net.core.somaxconn"

// inside is a picture of the container.
func (s *scene) inside() host.Picture {
	s.Helper()
	p := s.h.SnapshotIn(s.netns)
	return append(p, host.Fact{Sort: "sysctl", Name: parameter, Detail: s.h.MustRunIn(s.netns, "sysctl", "-n", parameter)})
}

// sameInside fails the test when the container is not as it was, but for what
// may stay.
func (s *scene) sameInside(before host.Picture, mayStay ...func(host.Fact) bool) {
	s.Helper()
	after := s.inside()
	for _, may := range append(mayStay, vrfRule) {
		before, after = before.Without(may), after.Without(may)
	}
	for _, d := range host.Diff(before, after) {
		s.Errorf("the container is not as before: %s", d)
	}
}

// vrfRule is true for the rule that the kernel adds with a namespace's first
// VRF, and keeps.
func vrfRule(f host.Fact) bool {
	return f.Sort == "rule" && strings.Contains(f.Detail, "l3mdev")
}

// called is the last call that libcni made.
func (s *scene) called() host.Call {
	calls := s.exec.Calls()
	if len(calls) == 0 {
		return host.Call{}
	}
	return calls[len(calls)-1]
}
