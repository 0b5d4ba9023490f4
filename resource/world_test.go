package resource

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/fairlead-net/fairlead/engine"
	"github.com/fairlead-net/fairlead/kernel"
)

// newEnv gives two fresh namespaces.
func newEnv(t *testing.T) Env {
	t.Helper()
	create := func() *kernel.Namespace {
		ns, err := kernel.Create("")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = ns.Close() })
		return ns
	}
	return Env{Host: create(), Container: create()}
}

// faultMode is a way in which a call can fail.
type faultMode struct {
	name  string
	after bool
	err   error
}

// failing gives env with its n-th call failing in this way.
func (m faultMode) failing(env Env, n int) (faulty Env, fired func() bool) {
	return failing(env, n, m.after, m.err)
}

// faultModes are the ways in which the n-th call fails: refused, or not found
// out, in each of the ways that have been read as "absent" (case 17); and done
// without an answer.
var faultModes = []faultMode{
	{"refused", false, inTurn{unix.EBUSY, unix.EPERM, unix.ENOBUFS, unix.EINTR}},
	{"unanswered", true, &kernel.Error{Errno: unix.ENOBUFS, Unanswered: true}},
}

// inTurn stands for several errors, of which the n-th call takes one.
type inTurn []error

func (inTurn) Error() string { return "one of several" }

// failing gives env with one call that fails, in either namespace: the n-th,
// with err. fired tells whether it came to that.
func failing(env Env, n int, after bool, err error) (faulty Env, fired func() bool) {
	var several inTurn
	if errors.As(err, &several) {
		err = several[n%len(several)]
	}
	var seen atomic.Int64
	faults := func(op kernel.Op) error {
		if op.After == after && seen.Add(1) == int64(n) {
			return err
		}
		return nil
	}
	return Env{Host: env.Host.WithFaults(faults), Container: env.Container.WithFaults(faults)},
		func() bool { return seen.Load() >= int64(n) }
}

// picture is what there is in both namespaces, save what the kernel does in its
// own time (link-local addresses) or never takes back (those of lo).
func picture(t *testing.T, env Env) []string {
	t.Helper()
	var lines []string
	for side, ns := range map[Side]*kernel.Namespace{Host: env.Host, Container: env.Container} {
		names := map[int]string{}
		links, err := ns.Links()
		noError(t, err)
		for _, l := range links {
			names[l.Index] = l.Name
		}
		for _, l := range links {
			lines = append(lines, fmt.Sprint(side, " link ", l.Name, l.Kind, l.MAC, l.MTU, l.Up, l.Promisc, names[l.Master], l.Alias, slices.Sorted(slices.Values(l.AltNames)),
				is(l.Port.Hairpin), is(l.Port.Isolated)))
		}
		addrs, err := ns.Addresses(0)
		noError(t, err)
		for _, a := range addrs {
			if ip := a.Prefix.Addr(); !ip.IsLinkLocalUnicast() && !ip.IsLoopback() {
				lines = append(lines, fmt.Sprint(side, " address ", names[a.Link], a.Prefix, a.Broadcast))
			}
		}
		routes, err := ns.Routes(kernel.RouteFilter{AllTables: true})
		noError(t, err)
		for _, r := range routes {
			// What is local, or for many, follows from addresses.
			stated := r.Type == kernel.RouteUnicast || r.Type == kernel.RouteUnreachable || r.Type == kernel.RouteThrow
			if stated && !r.Dst.Addr().IsLinkLocalUnicast() {
				lines = append(lines, fmt.Sprint(side, " route ", r.Type, names[r.Link], r.Dst, r.Gateway, r.Table, r.Metric, r.Encap))
			}
		}
	}
	slices.Sort(lines)
	return lines
}

func noError(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// observe gives what Observe finds.
func observe(t *testing.T, env Env, r Resource) engine.State {
	t.Helper()
	state, err := r.Observe(context.Background(), env)
	noError(t, err)
	return state
}

func wantState(t *testing.T, env Env, r Resource, want engine.Presence) {
	t.Helper()
	if state := observe(t, env, r); state.Is != want {
		t.Fatalf("Observe: %v (%s), want %v", state.Is, state.Detail, want)
	}
}

func wantPicture(t *testing.T, env Env, want []string) {
	t.Helper()
	if diff := cmp.Diff(want, picture(t, env)); diff != "" {
		t.Fatalf("not as before (-want +got):\n%s", diff)
	}
}

// made creates what a test needs to be there.
func made(t *testing.T, env Env, all ...Resource) {
	t.Helper()
	for _, r := range all {
		if err := r.Create(context.Background(), env); err != nil {
			t.Fatalf("create %s: %v", engine.RefOf(r), err)
		}
	}
}

// journaled is what a later process reads of r.
func journaled(t *testing.T, r Resource) Resource {
	t.Helper()
	body, err := json.Marshal(r)
	noError(t, err)
	blank, ok := Kinds()[r.Kind()]
	if !ok {
		t.Fatalf("kind %s is not in Kinds", r.Kind())
	}
	again := blank()
	noError(t, json.Unmarshal(body, again))
	if engine.RefOf(again) != engine.RefOf(r) || again.Within() != r.Within() {
		t.Fatalf("%s in %q came back from the journal as %s in %q",
			engine.RefOf(r), r.Within(), engine.RefOf(again), again.Within())
	}
	return again
}
