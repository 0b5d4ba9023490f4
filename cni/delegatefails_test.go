package cni

import (
	"context"
	"errors"
	"os"
	"testing"

	current "github.com/containernetworking/cni/pkg/types/100"
	"golang.org/x/sys/unix"

	"github.com/fairlead-net/fairlead/engine"
	"github.com/fairlead-net/fairlead/resource"
)

// stuck can be made, and not removed again.
type stuck struct{ then string }

func (*stuck) Kind() string       { return "stuck.1" }
func (s *stuck) Key() string      { return "it" + s.then }
func (*stuck) Within() engine.Ref { return "" }

func (*stuck) Observe(context.Context, resource.Env) (engine.State, error) {
	return engine.Present(), nil
}

func (s *stuck) Create(context.Context, resource.Env) error {
	switch s.then {
	case "panics":
		panic("the toy panics")
	case "fails":
		return errors.New("the toy fails")
	}
	return nil
}

func (*stuck) Remove(context.Context, resource.Env) error { return errors.New("it is stuck") }

type stuckStatement struct {
	Base
	stuck
}

func (s *stuckStatement) Link(Facts) ([]resource.Resource, error) {
	return []resource.Resource{&stuck{}, &s.stuck}, nil
}

func (*stuckStatement) Result(Made) (*current.Result, error) { return &current.Result{}, nil }

// stuckDelegate is a delegate in this process that fails in such a way.
func stuckDelegate(d *desk, then string) *delegate {
	d.runner.Plugins = func(name string) (Plugin, bool) {
		return Plugin{Name: name, Prepare: func(req *Request) (Statement, error) {
			return &stuckStatement{Base{req}, stuck{then}}, nil
		}}, name == "stuck"
	}
	req := &Request{ContainerID: "c1", IfName: "eth0", Netns: d.vars["CNI_NETNS"]}
	req.Conf.Name = "net"
	return &delegate{
		Type: "stuck", ID: req.ID(), Netns: req.Netns, caller: &caller{runner: d.runner},
		Config: []byte(`{"cniVersion":"1.1.0","name":"net","type":"stuck"}`),
	}
}

// TestRule22PanicLetsGoOfTheEntry: the process goes on after a delegate's panic,
// and its DEL must get the entry.
func TestRule22PanicLetsGoOfTheEntry(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	err := stuckDelegate(d, "panics").Create(t.Context(), resource.Env{})
	if Code(err) != CodeInternal {
		t.Errorf("%v, want code %d", err, CodeInternal)
	}
	entries := d.entries(t)
	if len(entries) != 1 {
		t.Fatalf("entries: %q", entries)
	}
	f, err := os.Open(entries[0])
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		t.Errorf("the entry is held: %v", err)
	}
}

// TestRule02DelegateThatLeavesSomethingIsRemoved: one in this process that could
// not undo what it did has not failed cleanly.
func TestRule02DelegateThatLeavesSomethingIsRemoved(t *testing.T) {
	t.Parallel()
	err := stuckDelegate(newDesk(t), "fails").Create(t.Context(), resource.Env{})
	var left *engine.RemainingError
	if !engine.IsPartial(err) || !errors.As(err, &left) {
		t.Errorf("%v: partial %v; want what remains, and that the engine calls Remove", err, engine.IsPartial(err))
	}
}
