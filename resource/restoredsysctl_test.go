package resource

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/fairlead-net/fairlead/engine"
	"github.com/fairlead-net/fairlead/kernel"
)

const arpFilter = "net/ipv4/conf/eth0/arp_filter"

func TestRestoredSysctl(t *testing.T) {
	t.Parallel()
	for name, s := range map[string]RestoredSysctl{
		"of a link":         {Name: arpFilter, Value: "1"},
		"of all":            {Name: "net/ipv4/ip_local_port_range", Value: "10000 20000"},
		"was nothing":       {Name: "net/ipv4/ip_local_reserved_ports", Value: "8080,9148"},
		"written otherwise": {Name: "net/ipv4/conf/eth0/tag", Value: "0x10"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			testRestored(t, restoredTest{
				setup: withVeth,
				fresh: func() engine.Restored[Env] { fresh := s; return &fresh },
				value: func(t *testing.T, env Env) string { t.Helper(); return sysctl(t, env, s.Name) },
			})
		})
	}
}

// sysctl is the container's value.
func sysctl(t *testing.T, env Env, name string) string {
	t.Helper()
	v, ok, err := env.Container.Sysctl(name)
	noError(t, err)
	if !ok {
		t.Fatalf("there is no %s", name)
	}
	return v
}

func setSysctl(t *testing.T, env Env, s *RestoredSysctl) *RestoredSysctl {
	t.Helper()
	noError(t, s.Save(context.Background(), env))
	noError(t, s.Create(context.Background(), env))
	return journaled(t, s).(*RestoredSysctl)
}

func TestRestoredSysctlDrift(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	env := newEnv(t)
	withVeth(t, env)
	s := setSysctl(t, env, &RestoredSysctl{Name: "net/ipv4/conf/eth0/tag", Value: "7"})
	noError(t, env.Container.SetSysctl(s.Name, "3"))
	if state := observe(t, env, s); state.Is != engine.IsDrifted || state.Detail != s.Name+" is 3, want 7" {
		t.Errorf("%+v", state)
	}
	noError(t, s.Remove(ctx, env))
	if v := sysctl(t, env, s.Name); v != "3" {
		t.Errorf("another's value became %s", v)
	}
	// It goes with its link.
	noError(t, env.Container.SetSysctl(s.Name, "7"))
	raced := env
	raced.Container = env.Container.WithFaults(kernel.FailNth("sysctl.set", 1, false, unix.ENOENT))
	noError(t, s.Remove(ctx, raced))
	noError(t, testVeth().Remove(ctx, env))
	wantState(t, env, s, engine.IsAbsent)
	noError(t, s.Remove(ctx, env))
	if err := (&RestoredSysctl{Name: s.Name, Value: "1"}).Save(ctx, env); err == nil {
		t.Error("saved what is not there")
	}
}

func TestRestoredSysctlThatCanOnlyBeWritten(t *testing.T) {
	t.Parallel()
	env := newEnv(t)
	s := setSysctl(t, env, &RestoredSysctl{Name: "net/ipv4/route/flush", Value: "1"})
	wantState(t, env, s, engine.IsPresent)
	noError(t, s.Remove(context.Background(), env))
}

func TestRestoredSysctlRefused(t *testing.T) {
	t.Parallel()
	env := newEnv(t)
	s := &RestoredSysctl{Name: "net/ipv4/ip_forward", Value: "perhaps"}
	noError(t, s.Save(context.Background(), env))
	if err := s.Create(context.Background(), env); err == nil || engine.IsPartial(err) {
		t.Error(err)
	}
}

// Those that set the parameter before are held against the new value.
func TestRule14SysctlAmends(t *testing.T) {
	t.Parallel()
	env := newEnv(t)
	withVeth(t, env)
	earlier := []Resource{
		&LinkSysctls{On: testVeth().Guest(), Values: []LinkSysctl{
			{Family: "ipv4", Name: "arp_notify", Value: "1"}, {Family: "ipv4", Name: "arp_filter", Value: "0"},
		}},
		&EnsuredSysctl{Side: Container, Name: arpFilter, Value: "0"},
		&RestoredSysctl{Name: arpFilter, Value: "0"},
	}
	made(t, env, earlier[:2]...)
	setSysctl(t, env, earlier[2].(*RestoredSysctl))
	s := setSysctl(t, env, &RestoredSysctl{Name: arpFilter, Value: "0x1"})
	for _, r := range earlier {
		wantState(t, env, r, engine.IsDrifted)
		amended := s.Amend(r)
		wantState(t, env, amended, engine.IsPresent)
		if engine.RefOf(amended) != engine.RefOf(r) {
			t.Errorf("%s became %s", engine.RefOf(r), engine.RefOf(amended))
		}
		other := &RestoredSysctl{Name: "net/ipv4/conf/eth0/tag", Value: "1"}
		wantState(t, env, other.Amend(r), engine.IsDrifted)
	}
	for _, r := range []Resource{
		&EnsuredSysctl{Side: Host, Name: arpFilter, Value: "0"}, testVeth(),
		&LinkSysctls{On: On{Side: Host, Link: "eth0"}},
	} {
		if s.Amend(r) != r {
			t.Errorf("%s was amended", engine.RefOf(r))
		}
	}
}

func TestAllowList(t *testing.T) {
	t.Parallel()
	file := func(text string) string {
		path := filepath.Join(t.TempDir(), "allowlist.conf")
		noError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	for name, c := range map[string]struct {
		file          string
		allows, fails bool
	}{
		"no file":    {file: "/nowhere/allowlist.conf", allows: true},
		"empty file": {file: file("\n")},
		"whole name": {file: file("^net.ipv4.conf.IFNAME.arp_filter$\n"), allows: true},
		"other name": {file: file("^net.ipv4.conf.eth0.arp_filter$\n")},
		"part":       {file: file("^net.ipv6.*$\n  arp_[a-z]*  \n\n"), allows: true},
		"no sense":   {file: file("^net.ipv4.conf.(\n"), fails: true},
	} {
		f := FindAllowList{file: c.file}
		found, err := f.Find(context.Background(), Env{})
		noError(t, err)
		allows, err := found.(AllowList).Allows("net.ipv4.conf.IFNAME.arp_filter")
		if allows != c.allows || (err != nil) != c.fails {
			t.Errorf("%s: %v, %v", name, allows, err)
		}
	}
	if _, err := (FindAllowList{file: t.TempDir()}).Look(); err == nil {
		t.Error("a directory was read")
	}
}
