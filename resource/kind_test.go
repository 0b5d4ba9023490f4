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
			lines = append(lines, fmt.Sprint(side, " link ", l.Name, l.Kind, l.MAC, l.MTU, l.Up, l.Promisc, names[l.Master], l.Alias,
				is(l.Port.Hairpin), is(l.Port.Isolated)))
		}
		addrs, err := ns.Addresses(0)
		noError(t, err)
		for _, a := range addrs {
			if ip := a.Prefix.Addr(); !ip.IsLinkLocalUnicast() && !ip.IsLoopback() {
				lines = append(lines, fmt.Sprint(side, " address ", names[a.Link], a.Prefix, a.Broadcast))
			}
		}
		routes, err := ns.Routes(kernel.RouteFilter{AllTables: true, Type: kernel.RouteUnicast})
		noError(t, err)
		for _, r := range routes {
			if !r.Dst.Addr().IsLinkLocalUnicast() {
				lines = append(lines, fmt.Sprint(side, " route ", names[r.Link], r.Dst, r.Gateway, r.Table, r.Metric))
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

// kindTest is a kind under test.
type kindTest struct {
	// setup makes what must be there before.
	setup func(t *testing.T, env Env)
	fresh func() Resource
	// gone is what Observe finds after Remove, if not that it is absent.
	gone engine.Presence
	// calm leaves out the failures: another test makes the same calls.
	calm bool
}

func (k kindTest) env(t *testing.T) Env {
	t.Helper()
	env := newEnv(t)
	if k.setup != nil {
		k.setup(t, env)
	}
	return env
}

func (k kindTest) wantGone(t *testing.T, env Env, r Resource) {
	t.Helper()
	want := k.gone
	if want == 0 {
		want = engine.IsAbsent
	}
	wantState(t, env, r, want)
}

// testKind puts an exclusive kind through its life, then lets each call to the
// kernel fail in turn.
func testKind(t *testing.T, k kindTest) {
	t.Helper()
	t.Run("life", func(t *testing.T) { t.Parallel(); k.life(t) })
	if k.calm {
		return
	}
	for _, mode := range faultModes {
		t.Run(mode.name, func(t *testing.T) {
			t.Parallel()
			env := k.env(t)
			n := 1
			for k.createFails(t, env, n, mode) {
				n++
			}
			n = 1
			for k.removeFails(t, env, n, mode) {
				n++
			}
		})
	}
}

func (k kindTest) life(t *testing.T) {
	ctx := context.Background()
	env := k.env(t)
	before := picture(t, env)
	r := k.fresh()
	k.wantGone(t, env, r)
	noError(t, r.Create(ctx, env))
	wantState(t, env, r, engine.IsPresent)
	wantState(t, env, journaled(t, r), engine.IsPresent)
	after := picture(t, env)
	if err := k.fresh().Create(ctx, env); err != nil && (!engine.IsConflict(err) || engine.IsPartial(err)) {
		t.Fatalf("Create again: %v, want nil or a conflict that left nothing", err)
	}
	wantPicture(t, env, after)
	r = journaled(t, r)
	for range 2 {
		noError(t, r.Remove(ctx, env))
		k.wantGone(t, env, r)
		wantPicture(t, env, before)
	}
}

// createFails leaves env as it was. It is false when there was no n-th call.
func (k kindTest) createFails(t *testing.T, env Env, n int, mode faultMode) bool {
	t.Helper()
	ctx := context.Background()
	before := picture(t, env)
	r := k.fresh()
	faulty, fired := mode.failing(env, n)
	err := r.Create(ctx, faulty)
	switch {
	case !fired():
		noError(t, err)
		noError(t, r.Remove(ctx, env))
		wantPicture(t, env, before)
		return false
	case err == nil:
		t.Fatalf("call %d failed, and Create says success", n)
	case engine.IsPartial(err):
		noError(t, journaled(t, r).Remove(ctx, env))
	}
	wantPicture(t, env, before)
	return true
}

// removeFails leaves env as it was. It is false when there was no n-th call.
func (k kindTest) removeFails(t *testing.T, env Env, n int, mode faultMode) bool {
	t.Helper()
	ctx := context.Background()
	before := picture(t, env)
	r := k.fresh()
	noError(t, r.Create(ctx, env))
	r = journaled(t, r)
	faulty, fired := mode.failing(env, n)
	err := r.Remove(ctx, faulty)
	if !fired() {
		noError(t, err)
		return false
	}
	if err == nil {
		k.wantGone(t, env, r)
		wantPicture(t, env, before)
	}
	k.observeFails(t, env, r, mode)
	noError(t, r.Remove(ctx, env))
	k.wantGone(t, env, r)
	wantPicture(t, env, before)
	return true
}

// observeFails asks that what was not found out is not told as found (case 17).
func (k kindTest) observeFails(t *testing.T, env Env, r Resource, mode faultMode) {
	t.Helper()
	for n := 1; ; n++ {
		faulty, fired := mode.failing(env, n)
		state, err := r.Observe(context.Background(), faulty)
		if !fired() {
			noError(t, err)
			return
		}
		if err == nil {
			t.Fatalf("call %d failed, and Observe says %v", n, state)
		}
	}
}

// testEnsured does the same for a kind that stays: whatever fails, the next
// call completes it, and it is the same in the end.
func testEnsured(t *testing.T, k kindTest) {
	t.Helper()
	ctx := context.Background()
	whole := func(t *testing.T, env Env) []string {
		t.Helper()
		for range 2 {
			r := k.fresh()
			if _, ok := r.(engine.Ensured); !ok {
				t.Fatalf("%s is not ensured", r.Kind())
			}
			noError(t, r.Create(ctx, env))
			wantState(t, env, r, engine.IsPresent)
			wantState(t, env, journaled(t, r), engine.IsPresent)
		}
		return picture(t, env)
	}
	t.Run("life", func(t *testing.T) { t.Parallel(); whole(t, k.env(t)) })
	for _, mode := range faultModes {
		t.Run("create/"+mode.name, func(t *testing.T) {
			t.Parallel()
			want := whole(t, k.env(t))
			for n := 1; ; n++ {
				env := k.env(t)
				faulty, fired := failing(env, n, mode.after, mode.err)
				err := k.fresh().Create(ctx, faulty)
				if !fired() {
					noError(t, err)
					return
				}
				k.observeFails(t, env, k.fresh(), mode)
				if diff := cmp.Diff(want, whole(t, env)); diff != "" {
					t.Fatalf("after call %d had failed (-want +got):\n%s", n, diff)
				}
			}
		})
	}
}
