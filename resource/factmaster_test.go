package resource

import (
	"context"
	"net/netip"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/fairlead-net/fairlead/kernel"
)

func TestFindMaster(t *testing.T) {
	t.Parallel()
	env := newEnv(t)
	withMasters(t, env)
	want := func(f FindMaster, want Master) {
		t.Helper()
		got, err := f.Find(context.Background(), env)
		noError(t, err)
		if got != want {
			t.Errorf("%s: %+v, want %+v", f, got, want)
		}
	}
	route := func(dst, link string, metric int) {
		t.Helper()
		noError(t, env.Host.AddRoute(kernel.Route{Dst: netip.MustParsePrefix(dst), Link: linkIndex(t, env, link), Metric: metric}))
	}
	want(FindMaster{Link: "host0", Side: Host}, Master{"host0", 9000})
	want(FindMaster{Link: "ctr0", Side: Container}, Master{"ctr0", 9000})
	want(FindMaster{Link: "ctr0", Side: Host}, Master{})
	want(FindMaster{Side: Host}, Master{})
	route("::/0", "host0", 5)
	want(FindMaster{Side: Host}, Master{"host0", 9000})
	route("0.0.0.0/0", "host0", 200)
	set(t, env.Host, "host1", kernel.LinkChange{MTU: ptr(1400)})
	route("0.0.0.0/0", "host1", 100)
	want(FindMaster{Side: Host}, Master{"host1", 1400})
	want(FindMaster{Side: Container}, Master{})
	noError(t, env.Host.AddRoute(kernel.Route{Dst: netip.MustParsePrefix("0.0.0.0/0"), NextHops: []kernel.NextHop{
		{Link: linkIndex(t, env, "host0")}, {Link: linkIndex(t, env, "host1")},
	}}))
	want(FindMaster{Side: Host}, Master{"host0", 9000})
}

func linkIndex(t *testing.T, env Env, name string) int {
	t.Helper()
	return link(t, env.Host, name).Index
}

// TestCase17MasterNotFoundOut: what was not found out is not missing.
func TestCase17MasterNotFoundOut(t *testing.T) {
	t.Parallel()
	env := newEnv(t)
	for _, f := range []FindMaster{{Side: Host}, {Link: "lo", Side: Host}} {
		faulty := Env{Host: env.Host.WithFaults(kernel.FailNth("", 1, false, unix.ENOBUFS))}
		if found, err := f.Find(context.Background(), faulty); err == nil {
			t.Errorf("%s: %v", f, found)
		}
		if found, err := f.Find(context.Background(), Env{}); err == nil {
			t.Errorf("%s without a host: %v", f, found)
		}
	}
}
