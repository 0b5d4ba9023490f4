package resource

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/fairlead-net/fairlead/attachment"
	"github.com/fairlead-net/fairlead/engine"
	"github.com/fairlead-net/fairlead/kernel"
)

func TestMasqueradeTableIsSharedWithOthers(t *testing.T) {
	t.Parallel()
	table := &MasqueradeTable{}
	for name, tc := range map[string]struct {
		script string
		used   bool
	}{
		"as made":                 {"", false},
		"another's rule":          {"add rule inet cni_plugins_masquerade masq_checks accept", true},
		"another chain":           {"add chain inet cni_plugins_masquerade mine", true},
		"a set":                   {"add set inet cni_plugins_masquerade s { type ipv4_addr; }", true},
		"a rule in the base":      {"add rule inet cni_plugins_masquerade postrouting accept", true},
		"another way to the base": {"add chain inet cni_plugins_masquerade a\nadd rule inet cni_plugins_masquerade a goto masq_checks", true},
		"asleep":                  {"add table inet cni_plugins_masquerade { flags dormant; }", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := context.Background()
			env := newEnv(t)
			if used, err := table.InUse(ctx, env); used || err != nil {
				t.Errorf("in use before it is made: %v, %v", used, err)
			}
			made(t, env, table)
			nftScript(t, env.Host, tc.script)
			before := rulesetOf(t, env.Host)
			if used, err := table.InUse(ctx, env); used != tc.used || err != nil {
				t.Errorf("in use: %v, %v", used, err)
			}
			noError(t, table.Remove(ctx, env))
			if tc.used {
				if after := rulesetOf(t, env.Host); after != before {
					t.Errorf("something was removed: %s", cmp.Diff(before, after))
				}
				return
			}
			wantState(t, env, table, engine.IsAbsent)
			noError(t, table.Remove(ctx, env))
		})
	}
}

func TestMasqueradeManyAtOnce(t *testing.T) {
	t.Parallel()
	manyAtOnce(t, &MasqueradeTable{}, func(container string) (m, other Resource) {
		made := iptablesTwin()
		made.Container = container
		return made, remembered(made)
	})
}

// manyAtOnce makes and removes what lives in a table, with the table coming and
// going under them without any lock, as when the reference is at work too. Each
// second one is removed by the other account of it.
func manyAtOnce(t *testing.T, table Resource, state func(container string) (made, other Resource)) {
	t.Helper()
	ctx := context.Background()
	env := newEnv(t)
	stop := make(chan struct{})
	var remover, all sync.WaitGroup
	remover.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				if err := table.Remove(ctx, env); err != nil {
					t.Error(err)
				}
			}
		}
	})
	for i := range 32 {
		all.Go(func() {
			ns, _, err := kernel.Open(env.Host.Path())
			if err != nil {
				t.Error(err)
				return
			}
			defer ns.Close()
			env := Env{Host: ns, Container: env.Container}
			for round := range 3 {
				r, other := state(fmt.Sprintf("c%d-%d", i, round))
				if err := r.Create(ctx, env); err != nil {
					t.Errorf("create: %v", err)
				}
				if s, err := r.Observe(ctx, env); err != nil || s.Is != engine.IsPresent {
					t.Errorf("%v, %v after Create", s, err)
				}
				if round%2 == 0 {
					r = other
				}
				if err := r.Remove(ctx, env); err != nil {
					t.Errorf("remove: %v", err)
				}
			}
		})
	}
	all.Wait()
	close(stop)
	remover.Wait()
	noError(t, table.Remove(ctx, env))
	if rest := rulesetOf(t, env.Host); rest != "" {
		t.Errorf("left: %s", rest)
	}
}

func TestMasqueradeSweep(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for _, backend := range backends {
		t.Run(backend, func(t *testing.T) {
			t.Parallel()
			env := newEnv(t)
			made(t, env, &MasqueradeTable{})
			attach := func(network, container, ifName, addr string) *Masquerade {
				m := NewMasquerade(attachment.ID{Network: network, Container: container, IfName: ifName}, prefixes(addr)...)
				m.Backend = backend
				made(t, env, m)
				return m
			}
			long := strings.Repeat("f", 64)
			valid := attach("a-longer-name", "keep", "eth0", "10.0.0.1/24")
			validLong := attach("a-longer-name", long, "eth0", "10.0.0.2/24")
			stale := attach("a-longer-name", "keep", "eth1", "10.0.0.3/24")
			staleLong := attach("a-longer-name", long, "eth1", "10.0.0.4/24")
			foreign := attach("another", "stale", "eth0", "10.0.0.5/24")
			ids := map[attachment.ID]bool{{Container: "keep", IfName: "eth0"}: true, {Container: long, IfName: "eth0"}: true}

			removed, kept, err := stale.Sweep(ctx, env, Sweep{Network: "a-longer-name", Valid: ids})
			if len(removed) != 0 || len(kept) != 2 || err != nil {
				t.Errorf("without force: removed %q, kept %q, %v", removed, kept, err)
			}
			removed, kept, err = stale.Sweep(ctx, env, Sweep{Network: "a-longer-name", Valid: ids, Force: true})
			if len(removed) != 2 || len(kept) != 0 || err != nil {
				t.Errorf("with force: removed %q, kept %q, %v", removed, kept, err)
			}
			wantState(t, env, stale, engine.IsAbsent)
			for _, m := range []*Masquerade{valid, validLong, foreign} {
				wantState(t, env, m, engine.IsPresent)
			}
			wantState(t, env, staleLong, engine.IsAbsent)
		})
	}
	t.Run("the reference's, by iptables", func(t *testing.T) {
		t.Parallel()
		for _, variant := range []string{"nft", "legacy"} {
			env := newEnv(t)
			referenceIPTables(t, env.Host, variant)
			ids := map[attachment.ID]bool{{Container: "ctr1", IfName: "eth7"}: true} // which interface, it does not say
			removed, kept, err := iptablesTwin().Sweep(ctx, env, Sweep{Network: "mynet", Valid: ids, Force: true})
			if len(removed)+len(kept) != 0 || err != nil {
				t.Errorf("%s: removed %q, kept %q, %v", variant, removed, kept, err)
			}
			removed, kept, err = iptablesTwin().Sweep(ctx, env, Sweep{Network: "mynet", Force: true})
			if len(removed) != 2 || len(kept) != 0 || err != nil {
				t.Errorf("%s: removed %q, kept %q, %v", variant, removed, kept, err)
			}
			wantNoChain(t, env)
		}
	})
}

// Whatever comes and goes beside it, in whatever order: an attachment's
// masquerading is there from its Create to its Remove.
func TestMasqueradeNeverDisturbsAnother(t *testing.T) {
	t.Parallel()
	t.Run(BackendNftables, func(t *testing.T) {
		t.Parallel()
		env := newEnv(t)
		rapid.Check(t, func(rt *rapid.T) {
			draw := func(n int) int { return rapid.IntRange(0, n-1).Draw(rt, "choice") }
			if err := comeAndGo(env, BackendNftables, 1+draw(30), draw); err != nil {
				rt.Fatal(err)
			}
		})
	})
	t.Run(BackendIPTables, func(t *testing.T) { // fewer: each step forks
		t.Parallel()
		env := newEnv(t)
		for seed := range uint64(3) {
			if err := comeAndGo(env, BackendIPTables, 12, rand.New(rand.NewPCG(seed, 0)).IntN); err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
		}
	})
}

// comeAndGo adds and removes attachments, few enough that their names and
// addresses meet, and looks at all that live after each step.
func comeAndGo(env Env, backend string, steps int, draw func(n int) int) error {
	ctx := context.Background()
	live := map[int]*Masquerade{}
	for range steps {
		which := draw(6)
		m := live[which]
		forget := draw(2) == 0
		switch {
		case m != nil:
			if err := removeAndLook(ctx, env, m, forget); err != nil {
				return err
			}
			delete(live, which)
		default:
			id := attachment.ID{Network: "n", Container: fmt.Sprint("c", which/2), IfName: fmt.Sprint("eth", which%2)}
			// Two interfaces of one container have each an address of its own.
			m = NewMasquerade(id, prefixes(fmt.Sprintf("10.0.0.%d/24", 1+2*draw(2)+which%2))...)
			m.Backend = backend
			if forget { // a late DEL
				if err := remembered(m).Remove(ctx, env); err != nil {
					return err
				}
				break
			}
			if err := m.Create(ctx, env); err != nil {
				return err
			}
			live[which] = m
		}
		for _, m := range live {
			if s, err := m.Observe(ctx, env); err != nil || s.Is != engine.IsPresent {
				return fmt.Errorf("%s: %v, %w", m.Key(), s, err)
			}
		}
	}
	for _, m := range live {
		if err := removeAndLook(ctx, env, m, true); err != nil {
			return err
		}
	}
	return nil
}

func removeAndLook(ctx context.Context, env Env, m *Masquerade, forget bool) error {
	if forget {
		m = remembered(m)
	}
	if err := m.Remove(ctx, env); err != nil {
		return err
	}
	if s, err := m.Observe(ctx, env); err != nil || s.Is != engine.IsAbsent {
		return fmt.Errorf("%s after Remove: %v, %w", m.Key(), s, err)
	}
	return nil
}

func BenchmarkMasquerade(b *testing.B) {
	ctx := context.Background()
	for _, others := range []int{0, 100, 1000} {
		host, err := kernel.Create("")
		if err != nil {
			b.Fatal(err)
		}
		env := Env{Host: host}
		run := func(err error) {
			b.Helper()
			if err != nil {
				b.Fatal(err)
			}
		}
		run((&MasqueradeTable{}).Create(ctx, env))
		for i := range others {
			m := iptablesTwin()
			m.Container = fmt.Sprint("other", i)
			run(m.Create(ctx, env))
		}
		b.Run(fmt.Sprintf("others=%d/ADD", others), func(b *testing.B) {
			for b.Loop() {
				m := iptablesTwin()
				run((&MasqueradeTable{}).Create(ctx, env))
				run(m.Create(ctx, env))
				b.StopTimer()
				run(m.Remove(ctx, env))
				b.StartTimer()
			}
		})
		b.Run(fmt.Sprintf("others=%d/DEL", others), func(b *testing.B) {
			for b.Loop() {
				b.StopTimer()
				m := iptablesTwin()
				run(m.Create(ctx, env))
				b.StartTimer()
				run(m.Remove(ctx, env))
				_, err := (&MasqueradeTable{}).InUse(ctx, env)
				run(err)
			}
		})
		b.Run(fmt.Sprintf("others=%d/second DEL", others), func(b *testing.B) {
			for b.Loop() {
				run(remembered(iptablesTwin()).Remove(ctx, env))
			}
		})
		run(host.Close())
	}
}
