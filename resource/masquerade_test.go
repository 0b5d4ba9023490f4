package resource

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-net/fairlead/engine"
	"github.com/fairlead-net/fairlead/kernel"
)

// backends are the ways in which an attachment's masquerading can be made.
var backends = []string{BackendNftables, BackendIPTables}

func TestMasqueradeLife(t *testing.T) {
	t.Parallel()
	for _, backend := range backends {
		t.Run(backend, func(t *testing.T) {
			t.Parallel()
			ctx := context.Background()
			env := newEnv(t)
			m := iptablesTwin()
			m.Backend = backend
			made(t, env, &MasqueradeTable{})
			before := rulesetOf(t, env.Host)
			for _, again := range []func(m *Masquerade) Resource{
				func(m *Masquerade) Resource { return journaled(t, m) },
				func(m *Masquerade) Resource { return remembered(m) },
			} {
				m := *m
				wantState(t, env, &m, engine.IsAbsent)
				made(t, env, &m)
				wantState(t, env, &m, engine.IsPresent)
				r := again(&m)
				wantState(t, env, r, engine.IsPresent)
				for range 2 {
					noError(t, r.Remove(ctx, env))
					wantState(t, env, r, engine.IsAbsent)
				}
				wantNoChain(t, env)
			}
			if backend == BackendNftables && rulesetOf(t, env.Host) != before {
				t.Errorf("not as before: %s", rulesetOf(t, env.Host))
			}
		})
	}
	m := iptablesTwin()
	m.Backend = "ipfw"
	if err := m.Create(context.Background(), newEnv(t)); err == nil {
		t.Error("a backend that is none was accepted")
	}
}

func TestMasqueradeFaults(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for _, backend := range backends {
		fresh := func() *Masquerade { m := iptablesTwin(); m.Backend = backend; return m }
		// iptables leaves its empty tables behind, so they are there before.
		setUp := func(t *testing.T) (Env, string) {
			env := newEnv(t)
			m := fresh()
			made(t, env, &MasqueradeTable{}, m)
			noError(t, m.Remove(ctx, env))
			return env, rulesetOf(t, env.Host)
		}
		for _, mode := range faultModes {
			t.Run(backend+"/create/"+mode.name, func(t *testing.T) {
				t.Parallel()
				env, before := setUp(t)
				for n := 1; ; n++ {
					m := fresh()
					faulty, fired := failing(env, n, mode.after, mode.err)
					err := m.Create(ctx, faulty)
					if !fired() {
						noError(t, err)
						return
					}
					if err == nil {
						t.Fatalf("call %d failed, and Create says success", n)
					}
					if engine.IsPartial(err) {
						noError(t, journaled(t, m).Remove(ctx, env))
					}
					if diff := cmp.Diff(before, rulesetOf(t, env.Host)); diff != "" {
						t.Fatalf("call %d failed, and left:\n%s", n, diff)
					}
				}
			})
			t.Run(backend+"/remove/"+mode.name, func(t *testing.T) {
				t.Parallel()
				env, before := setUp(t)
				for n := 1; ; n++ {
					m := fresh()
					made(t, env, m)
					if n%2 == 0 {
						m = remembered(m) // fewer calls or more: both kinds are tried at each
					}
					faulty, fired := mode.failing(env, n/2+1)
					err := m.Remove(ctx, faulty)
					if !fired() && n%2 == 1 {
						noError(t, err)
						return
					}
					if err == nil && rulesetOf(t, env.Host) != before {
						t.Fatalf("call %d failed, and Remove says success", n)
					}
					noError(t, m.Remove(ctx, env))
					if diff := cmp.Diff(before, rulesetOf(t, env.Host)); diff != "" {
						t.Fatalf("left:\n%s", diff)
					}
				}
			})
		}
	}
}

// A look-up that fails is never read as absent.
func TestCase17MasqueradeObserveNeverGuesses(t *testing.T) {
	t.Parallel()
	env := newEnv(t)
	m := iptablesTwin()
	for _, made := range []bool{false, true} {
		if made {
			noError(t, m.Create(context.Background(), env))
		}
		for _, r := range []Resource{m, remembered(m), &MasqueradeTable{}} {
			for _, mode := range faultModes {
				for n := 1; ; n++ {
					faulty, fired := failing(env, n, mode.after, mode.err)
					state, err := r.Observe(context.Background(), faulty)
					if !fired() {
						break
					}
					if err == nil {
						t.Errorf("%s, call %d fails with %s: Observe says %v", r.Kind(), n, mode.name, state)
					}
				}
			}
		}
	}
}

func TestMasqueradeDrift(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		script string
		detail string
	}{
		"a rule is gone": {"delete rule inet cni_plugins_masquerade masq_checks handle $v6", "no rule masquerades fd00:1::5/64"},
		"a rule is another": {
			"replace rule inet cni_plugins_masquerade masq_checks handle $v4 ip saddr 10.1.2.3 accept comment \"$owner\"",
			"no rule masquerades 10.1.2.3/24",
		},
		"a rule does more": {
			"replace rule inet cni_plugins_masquerade masq_checks handle $v4 ip saddr 10.1.2.3 ip daddr != 10.1.2.0/24 tcp dport 80 masquerade comment \"$owner\"",
			"no rule masquerades 10.1.2.3/24",
		},
		"a rule too many": {
			"add rule inet cni_plugins_masquerade masq_checks ip saddr 10.1.2.9 masquerade comment \"$owner\"", "not as it was made",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := newEnv(t)
			m := iptablesTwin()
			made(t, env, &MasqueradeTable{}, m)
			nftScript(t, env.Host, strings.NewReplacer(
				"$v4", fmt.Sprint(m.Handles[0]), "$v6", fmt.Sprint(m.Handles[1]), "$owner", m.comment(),
			).Replace(tc.script))
			known := &Masquerade{Network: m.Network, Container: m.Container, IfName: m.IfName, Addresses: m.Addresses}
			if s := observe(t, env, known); s.Is != engine.IsDrifted || !strings.Contains(s.Detail, tc.detail) {
				t.Errorf("%+v, want %q", s, tc.detail)
			}
		})
	}
	t.Run("iptables", func(t *testing.T) {
		t.Parallel()
		env := newEnv(t)
		m := iptablesTwin()
		m.Backend = BackendIPTables
		made(t, env, m)
		runIn(t, env.Host, "", "iptables", "-t", "nat", "-D", natChain(m.Network, m.Container), "1")
		if s := observe(t, env, m); s.Is != engine.IsDrifted || !strings.Contains(s.Detail, "-d 10.1.2.0/24 -j ACCEPT") {
			t.Errorf("%+v", s)
		}
		more := *m
		more.Addresses = append(prefixes("10.1.2.7/24"), m.Addresses...)
		if s := observe(t, env, &more); s.Is != engine.IsDrifted || !strings.Contains(s.Detail, "no rule masquerades 10.1.2.7") {
			t.Errorf("%+v", s)
		}
	})
	t.Run("table", func(t *testing.T) {
		t.Parallel()
		env := newEnv(t)
		made(t, env, &MasqueradeTable{})
		nftScript(t, env.Host, "flush chain inet cni_plugins_masquerade postrouting")
		wantState(t, env, &MasqueradeTable{}, engine.IsDrifted)
		made(t, env, &MasqueradeTable{})
		wantState(t, env, &MasqueradeTable{}, engine.IsPresent)
	})
}

// A late DEL of a container takes no other's rules, though it had the same
// address (case 12's kind).
func TestMasqueradeLateDELLeavesTheNextOwner(t *testing.T) {
	t.Parallel()
	for _, backend := range backends {
		t.Run(backend, func(t *testing.T) {
			t.Parallel()
			env := newEnv(t)
			a, b := iptablesTwin(), iptablesTwin()
			a.Backend, b.Backend, b.Container = backend, backend, "ctr2"
			made(t, env, &MasqueradeTable{}, a)
			old := journaled(t, a)
			noError(t, a.Remove(context.Background(), env))
			made(t, env, b)
			for _, late := range []Resource{old, remembered(a)} {
				noError(t, late.Remove(context.Background(), env))
				wantState(t, env, b, engine.IsPresent)
			}
		})
	}
}

func TestCase27MasqueradeOfTwoInterfaces(t *testing.T) {
	t.Parallel()
	for _, backend := range backends {
		for _, legacy := range []bool{false, true} {
			if legacy && backend == BackendNftables {
				continue
			}
			t.Run(fmt.Sprintf("%s/legacy %v", backend, legacy), func(t *testing.T) {
				t.Parallel()
				env := newEnv(t)
				if legacy {
					// The container's chain is there in that variant, so it is used.
					for _, tool := range []string{"iptables", "ip6tables"} {
						runIn(t, env.Host, "", tool+"-legacy", "-t", "nat", "-w", "30", "-N", "CNI-5145007e2a8415ce07579739")
					}
				}
				eth0, eth1 := iptablesTwin(), iptablesTwin()
				eth1.IfName, eth1.Addresses = "eth1", prefixes("10.7.2.4/24", "fd00:1::6/64")
				eth0.Backend, eth1.Backend = backend, backend
				made(t, env, &MasqueradeTable{}, eth0, eth1)
				wantState(t, env, eth0, engine.IsPresent)
				wantState(t, env, eth1, engine.IsPresent)
				noError(t, remembered(eth1).Remove(context.Background(), env))
				wantState(t, env, eth0, engine.IsPresent)
				wantState(t, env, eth1, engine.IsAbsent)
				noError(t, remembered(eth1).Remove(context.Background(), env))
				wantState(t, env, eth0, engine.IsPresent)
				noError(t, remembered(eth0).Remove(context.Background(), env))
				wantNoChain(t, env)
			})
		}
	}
}

// In the table of another life the handles are others'.
func TestMasqueradeHandlesAreHints(t *testing.T) {
	t.Parallel()
	env := newEnv(t)
	a, b := iptablesTwin(), iptablesTwin()
	b.Container = "ctr2"
	// The first time in a boot the kernel may load modules, and begin anew with
	// other handles.
	made(t, env, &MasqueradeTable{}, iptablesTwin())
	nftScript(t, env.Host, "flush ruleset")
	made(t, env, &MasqueradeTable{}, a)
	nftScript(t, env.Host, "flush ruleset")
	made(t, env, b) // which makes the table anew
	if !slices.Equal(a.Handles, b.Handles) {
		t.Fatalf("handles %v and %v: the test tests nothing", a.Handles, b.Handles)
	}
	wantState(t, env, &MasqueradeTable{}, engine.IsPresent)
	wantState(t, env, a, engine.IsAbsent)
	noError(t, a.Remove(context.Background(), env))
	wantState(t, env, b, engine.IsPresent)
	// After a reload of the rule set the rules have other handles.
	dump := runIn(t, env.Host, "", "nft", "list", "ruleset")
	nftScript(t, env.Host, "add table inet x\ntable inet cni_plugins_masquerade {\n}\nflush ruleset\n"+dump)
	wantState(t, env, b, engine.IsPresent)
	noError(t, b.Remove(context.Background(), env))
	wantState(t, env, b, engine.IsAbsent)
}

// DEL's calls do not depend on the others' rules, and no process is forked,
// nor at a second DEL.
func TestRule17MasqueradeFlatCost(t *testing.T) {
	t.Parallel()
	env := newEnv(t)
	made(t, env, &MasqueradeTable{})
	for i := range 50 {
		other := iptablesTwin()
		other.Container = fmt.Sprint("other", i)
		made(t, env, other)
	}
	m := iptablesTwin()
	ops := opsOf(env, func(env Env) { noError(t, m.Create(context.Background(), env)) })
	if want := []string{"nft.commit"}; !slices.Equal(ops, want) {
		t.Errorf("Create makes the calls %v, want %v", ops, want)
	}
	ops = opsOf(env, func(env Env) { noError(t, m.Remove(context.Background(), env)) })
	if want := []string{"nft.rule", "nft.rule", "nft.commit"}; !slices.Equal(ops, want) {
		t.Errorf("Remove makes the calls %v, want %v", ops, want)
	}
	ops = opsOf(env, func(env Env) { noError(t, remembered(m).Remove(context.Background(), env)) })
	want := []string{"nft.rules", "nft.chain", "iptables.chain", "nft.chain", "iptables.chain"}
	if !slices.Equal(ops, want) {
		t.Errorf("a second Remove makes the calls %v, want %v", ops, want)
	}
	ops = opsOf(env, func(env Env) {
		if used, err := (&MasqueradeTable{}).InUse(context.Background(), env); !used || err != nil {
			t.Errorf("InUse: %v, %v", used, err)
		}
	})
	if len(ops) != 4 {
		t.Errorf("InUse makes the calls %v", ops)
	}
}

func TestRule8MasqueradeWithoutNftables(t *testing.T) {
	t.Parallel()
	env := newEnv(t)
	for _, errno := range []unix.Errno{unix.EOPNOTSUPP, unix.EPROTONOSUPPORT, unix.EAFNOSUPPORT} {
		without := Env{Host: env.Host.WithFaults(func(op kernel.Op) error {
			if strings.HasPrefix(op.Name, "nft.") {
				return errno
			}
			return nil
		}), Container: env.Container}
		for _, r := range []Resource{
			iptablesTwin(), remembered(iptablesTwin()), &Masquerade{Handles: []uint64{7}}, &MasqueradeTable{},
			testSpoofCheck(), &SpoofCheckTable{},
		} {
			wantState(t, without, r, engine.IsAbsent)
			noError(t, r.Remove(context.Background(), without))
			if s, ok := r.(engine.Shared[Env]); ok {
				if used, err := s.InUse(context.Background(), without); used || err != nil {
					t.Errorf("%s: in use %v, %v", r.Kind(), used, err)
				}
			}
			if m, ok := r.(*Masquerade); ok && len(m.Handles) > 0 {
				continue // nothing to create
			}
			if m, ok := r.(*Masquerade); ok && m.Addresses == nil {
				continue
			}
			if err := r.Create(context.Background(), without); !kernel.Unsupported(err) {
				t.Errorf("%s: Create: %v", r.Kind(), err)
			}
		}
		if _, _, err := iptablesTwin().Sweep(context.Background(), without, Sweep{Network: "mynet", Force: true}); err != nil {
			t.Errorf("Sweep: %v", err)
		}
		if err := iptablesTwin().Ready(context.Background(), without); !kernel.Unsupported(err) {
			t.Errorf("Ready: %v", err)
		}
	}
	noError(t, iptablesTwin().Ready(context.Background(), env))
	noError(t, (&Masquerade{Backend: BackendIPTables}).Ready(context.Background(), env))
}
