package resource

import (
	"context"
	"strings"
	"testing"

	"github.com/fairlead-net/fairlead/engine"
	"github.com/fairlead-net/fairlead/kernel"
)

func TestLinkUp(t *testing.T) {
	t.Parallel()
	for name, on := range map[string]On{"guest": testVeth().Guest(), "host": testVeth().HostEnd()} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			testKind(t, kindTest{
				setup: func(t *testing.T, env Env) {
					v := testVeth()
					v.HostDown = true
					made(t, env, v)
				},
				fresh: func() Resource { return &LinkUp{On: on} },
				gone:  engine.IsDrifted,
			})
		})
	}
}

func TestLinkUpWithoutLink(t *testing.T) {
	t.Parallel()
	env := newEnv(t)
	up := &LinkUp{On: testVeth().Guest()}
	wantState(t, env, up, engine.IsAbsent)
	noError(t, up.Remove(context.Background(), env))
	if err := up.Create(context.Background(), env); err == nil || !strings.Contains(err.Error(), "eth0 in the container namespace") {
		t.Errorf("Create: %v", err)
	}
}

func TestBridgePort(t *testing.T) {
	t.Parallel()
	for name, p := range map[string]BridgePort{
		"plain":    {},
		"hairpin":  {Hairpin: true},
		"isolated": {Isolated: true},
		"both":     {Hairpin: true, Isolated: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			port := func() Resource { q := p; q.On = testVeth().HostEnd(); return &q }
			gone := engine.IsDrifted
			if name == "plain" {
				gone = engine.IsPresent
			}
			testKind(t, kindTest{setup: withPort, fresh: port, gone: gone, calm: name != "both"})
		})
	}
}

func withPort(t *testing.T, env Env) {
	t.Helper()
	v := testVeth()
	v.Master, v.HostDown = "cni0", true
	made(t, env, newBridge(), v)
}

func TestBridgePortIsAsAsked(t *testing.T) {
	t.Parallel()
	env := newEnv(t)
	withPort(t, env)
	made(t, env, &BridgePort{On: testVeth().HostEnd(), Hairpin: true})
	port := link(t, env.Host, testVeth().Host).Port
	if !is(port.Hairpin) || is(port.Isolated) {
		t.Errorf("%+v", port)
	}
	other := &BridgePort{On: testVeth().HostEnd(), Isolated: true}
	if s := observe(t, env, other); s.Is != engine.IsDrifted ||
		!strings.Contains(s.Detail, "hairpin mode") || !strings.Contains(s.Detail, "isolation") {
		t.Errorf("%+v", s)
	}
	// No port any more: nothing to take back.
	set(t, env.Host, testVeth().Host, kernel.LinkChange{Master: ptr(0)})
	noError(t, other.Remove(context.Background(), env))
}

func TestVLANRanges(t *testing.T) {
	t.Parallel()
	got := VLANRanges([]uint16{7, 3, 1, 2, 3, 4094, 6})
	want := []VLANRange{{1, 3}, {6, 7}, {4094, 4094}}
	if len(got) != len(want) || got[0] != want[0] || got[1] != want[1] || got[2] != want[2] {
		t.Errorf("%v, want %v", got, want)
	}
	if got := VLANRanges(nil); got != nil {
		t.Errorf("%v", got)
	}
}
