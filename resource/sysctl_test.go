package resource

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fairlead-net/fairlead/engine"
	"github.com/fairlead-net/fairlead/kernel"
)

func TestEnsuredSysctl(t *testing.T) {
	t.Parallel()
	for name, fresh := range map[string]func() Resource{
		"IPv4":       func() Resource { return Forwarding(false)[0] },
		"IPv6":       func() Resource { return Forwarding(true)[0] },
		"IPv4 of lo": func() Resource { return Forwarding(false, "lo")[1] },
		"IPv6 of lo": func() Resource { return Forwarding(true, "lo")[1] },
		"lo": func() Resource {
			return &EnsuredSysctl{Side: Container, Name: "net/ipv6/conf/lo/disable_ipv6", Value: "0", IfPresent: true}
		},
		"not there": func() Resource {
			return &EnsuredSysctl{Side: Host, Name: "net/ipv9/forwarding", Value: "1", IfPresent: true}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			testEnsured(t, kindTest{fresh: fresh})
		})
	}
}

func TestEnsuredSysctlSets(t *testing.T) {
	t.Parallel()
	env := newEnv(t)
	noError(t, env.Container.SetSysctl("net/ipv6/conf/lo/disable_ipv6", "1"))
	s := &EnsuredSysctl{Side: Container, Name: "net/ipv6/conf/lo/disable_ipv6", Value: "0"}
	if state := observe(t, env, s); state.Is != engine.IsDrifted || state.Detail != "net/ipv6/conf/lo/disable_ipv6 is 1, want 0" {
		t.Errorf("%+v", state)
	}
	made(t, env, s)
	wantState(t, env, s, engine.IsPresent)
	noError(t, s.Remove(context.Background(), env))
	wantState(t, env, s, engine.IsPresent)
	if s.Within() != Sandbox || Forwarding(false)[0].Within() != "" {
		t.Error("within")
	}
	absent := &EnsuredSysctl{Side: Host, Name: "net/ipv9/forwarding", Value: "1"}
	if err := absent.Create(context.Background(), env); err == nil {
		t.Error("set what is not there")
	}
	wantState(t, env, absent, engine.IsDrifted)
}

// TestForwardingIsNotWrittenTwice: it may be read-only by then.
func TestForwardingIsNotWrittenTwice(t *testing.T) {
	t.Parallel()
	for _, ipv6 := range []bool{false, true} {
		env := newEnv(t)
		var written []string
		seen := Env{Host: env.Host.WithFaults(func(op kernel.Op) error {
			if op.Name == "sysctl.set" && !op.After {
				written = append(written, op.Object)
			}
			return nil
		})}
		made(t, seen, Forwarding(ipv6, "lo")...)
		if len(written) != 1 {
			t.Errorf("wrote %q: one sets all links", written)
		}
		written = nil
		made(t, seen, Forwarding(ipv6, "lo")...)
		if len(written) > 0 {
			t.Errorf("wrote %q anew", written)
		}
	}
}

func testLinkSysctls() *LinkSysctls {
	return &LinkSysctls{On: testVeth().Guest(), Values: []LinkSysctl{
		{Family: "ipv4", Name: "arp_notify", Value: "1"},
		{Family: "ipv6", Name: "accept_dad", Value: "0", IfPresent: true},
		{Family: "ipv9", Name: "accept_dad", Value: "0", IfPresent: true},
	}}
}

func TestLinkSysctls(t *testing.T) {
	t.Parallel()
	env := newEnv(t)
	s := testLinkSysctls()
	wantState(t, env, s, engine.IsAbsent)
	if err := s.Create(context.Background(), env); err == nil {
		t.Error("set without a link")
	}
	withVeth(t, env)
	if state := observe(t, env, s); state.Is != engine.IsDrifted || !strings.Contains(state.Detail, "arp_notify is 0, want 1") {
		t.Errorf("%+v", state)
	}
	made(t, env, s)
	wantState(t, env, journaled(t, s), engine.IsPresent)
	noError(t, s.Remove(context.Background(), env))
}

func TestLinkSysctlsEveryCallFails(t *testing.T) {
	t.Parallel()
	for _, mode := range faultModes {
		for n, fired := 1, true; fired; n++ {
			env := newEnv(t)
			withVeth(t, env)
			faulty, has := failing(env, n, mode.after, mode.err)
			err := testLinkSysctls().Create(context.Background(), faulty)
			if fired = has(); fired && err == nil {
				t.Errorf("%s: call %d failed, and Create says success", mode.name, n)
			}
		}
	}
}

func TestMachineID(t *testing.T) {
	t.Parallel()
	id, err := MachineID{}.Find(context.Background(), Env{})
	if s, ok := id.(string); err != nil || !ok || s == "" {
		t.Errorf("%v, %v", id, err)
	}
	file := func(text string) string {
		path := filepath.Join(t.TempDir(), "id")
		noError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	for want, files := range map[string][]string{
		"abc": {file("abc\n")},
		"def": {"/none", file("def")},
		"ghi": {file("uninitialized\n"), file(" ghi \nmore")},
		"":    {"/none", file("\n")},
	} {
		got, err := firstLine(files...)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%q, %v; want %q", got, err, want)
		}
	}
}
