package resource

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-net/fairlead/attachment"
	"github.com/fairlead-net/fairlead/engine"
)

const referenceSpoofCheck = `
table bridge nat {
	chain PREROUTING {
		type filter hook prerouting priority -300; policy accept;
	}
	chain cni-br-iface-ctr1-eth0 {
	}
	chain cni-br-iface-ctr1-eth0-mac {
	}
}
add rule bridge nat PREROUTING iifname "veth0" jump cni-br-iface-ctr1-eth0 comment "macspoofchk-ctr1-eth0"
add rule bridge nat cni-br-iface-ctr1-eth0 jump cni-br-iface-ctr1-eth0-mac comment "macspoofchk-ctr1-eth0"
add rule bridge nat cni-br-iface-ctr1-eth0-mac ether saddr 0a:58:0a:00:00:05 return comment "macspoofchk-ctr1-eth0"
add rule bridge nat cni-br-iface-ctr1-eth0-mac drop comment "macspoofchk-ctr1-eth0"
`

func testSpoofCheck() *SpoofCheck {
	return NewSpoofCheck(attachment.ID{Network: "n", Container: "ctr1", IfName: "eth0"}, "veth0", "0a:58:0a:00:00:05")
}

// forgetful is what a process without a journal knows of s.
func forgetful(s *SpoofCheck) *SpoofCheck {
	return &SpoofCheck{Container: s.Container, IfName: s.IfName}
}

func TestRule13SpoofCheckIsWhatTheReferenceWrites(t *testing.T) {
	t.Parallel()
	ours, theirs := newEnv(t), newEnv(t)
	nftScript(t, theirs.Host, referenceSpoofCheck)
	made(t, ours, &SpoofCheckTable{}, testSpoofCheck())
	if diff := cmp.Diff(rulesetOf(t, theirs.Host), rulesetOf(t, ours.Host)); diff != "" {
		t.Errorf("(-theirs +ours):\n%s", diff)
	}
	programs := func(env Env) string {
		all := programsOf(t, env.Host)
		return all[:strings.Index(all, "table bridge")]
	}
	if diff := cmp.Diff(programs(theirs), programs(ours)); diff != "" {
		t.Errorf("programs (-theirs +ours):\n%s", diff)
	}
}

func TestRule13SpoofCheckOfTheReferenceIsRemoved(t *testing.T) {
	t.Parallel()
	for name, more := range map[string]string{
		"": "",
		// The reference adds the jump again if its ADD is called again.
		"twice": `add rule bridge nat PREROUTING iifname "veth0" jump cni-br-iface-ctr1-eth0 comment "macspoofchk-ctr1-eth0"`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := newEnv(t)
			s := testSpoofCheck()
			nftScript(t, env.Host, referenceSpoofCheck)
			wantState(t, env, s, engine.IsPresent)
			nftScript(t, env.Host, more)
			made(t, env, &SpoofCheckTable{}) // as it is
			noError(t, forgetful(s).Remove(context.Background(), env))
			wantState(t, env, s, engine.IsAbsent)
			// The table is not ours to remove.
			noError(t, (&SpoofCheckTable{}).Remove(context.Background(), env))
			wantState(t, env, &SpoofCheckTable{}, engine.IsPresent)
		})
	}
}

func TestSpoofCheckLife(t *testing.T) {
	t.Parallel()
	for name, again := range map[string]func(t *testing.T, s *SpoofCheck) Resource{
		"journal": func(t *testing.T, s *SpoofCheck) Resource { return journaled(t, s) },
		"plan":    func(_ *testing.T, s *SpoofCheck) Resource { return forgetful(s) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := context.Background()
			env := newEnv(t)
			wantState(t, env, testSpoofCheck(), engine.IsAbsent)
			wantState(t, env, &SpoofCheckTable{}, engine.IsAbsent)
			s := testSpoofCheck()
			made(t, env, &SpoofCheckTable{}, s)
			wantState(t, env, s, engine.IsPresent)
			wantState(t, env, &SpoofCheckTable{}, engine.IsPresent)
			after := rulesetOf(t, env.Host)
			made(t, env, s) // what a crash left is made anew
			if diff := cmp.Diff(after, rulesetOf(t, env.Host)); diff != "" {
				t.Errorf("made again (-once +twice):\n%s", diff)
			}
			if used, err := (&SpoofCheckTable{}).InUse(ctx, env); !used || err != nil {
				t.Errorf("table in use: %v, %v", used, err)
			}
			r := again(t, s)
			for range 2 {
				noError(t, r.Remove(ctx, env))
				wantState(t, env, r, engine.IsAbsent)
			}
			noError(t, (&SpoofCheckTable{}).Remove(ctx, env))
			if rest := rulesetOf(t, env.Host); rest != "" {
				t.Errorf("left: %s", rest)
			}
		})
	}
	if err := (&SpoofCheck{Container: "c", IfName: "eth0"}).Create(context.Background(), newEnv(t)); err == nil {
		t.Error("a check of nothing was made")
	}
}

func TestSpoofCheckFaults(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for _, mode := range faultModes {
		t.Run("create/"+mode.name, func(t *testing.T) {
			t.Parallel()
			for _, table := range []bool{true, false} {
				for n := 1; ; n++ {
					env := newEnv(t)
					if table {
						made(t, env, &SpoofCheckTable{})
					}
					s := testSpoofCheck()
					faulty, fired := failing(env, n, mode.after, mode.err)
					err := s.Create(ctx, faulty)
					if !fired() {
						noError(t, err)
						break
					}
					if engine.IsPartial(err) {
						noError(t, journaled(t, s).Remove(ctx, env))
					}
					if err == nil {
						t.Fatalf("call %d failed, and Create says success", n)
					}
					wantState(t, env, s, engine.IsAbsent)
				}
			}
		})
		t.Run("remove/"+mode.name, func(t *testing.T) {
			t.Parallel()
			env := newEnv(t)
			made(t, env, &SpoofCheckTable{})
			before := rulesetOf(t, env.Host)
			for n := 1; ; n++ {
				s := testSpoofCheck()
				made(t, env, s)
				faulty, fired := failing(env, n, mode.after, mode.err)
				err := s.Remove(ctx, faulty)
				if !fired() {
					noError(t, err)
					return
				}
				if err == nil && rulesetOf(t, env.Host) != before {
					t.Fatalf("call %d failed, and Remove says success", n)
				}
				noError(t, s.Remove(ctx, env))
				if diff := cmp.Diff(before, rulesetOf(t, env.Host)); diff != "" {
					t.Fatalf("left:\n%s", diff)
				}
			}
		})
		t.Run("observe/"+mode.name, func(t *testing.T) {
			t.Parallel()
			env := newEnv(t)
			s := testSpoofCheck()
			made(t, env, &SpoofCheckTable{}, s)
			for _, r := range []Resource{s, forgetful(s), &SpoofCheckTable{}} {
				for n := 1; ; n++ {
					faulty, fired := failing(env, n, mode.after, mode.err)
					state, err := r.Observe(ctx, faulty)
					if !fired() {
						break
					}
					if err == nil {
						t.Errorf("%s, call %d: Observe says %v", r.Kind(), n, state)
					}
				}
			}
		})
	}
}

func TestSpoofCheckDrift(t *testing.T) {
	t.Parallel()
	for name, script := range map[string]string{
		"no jump":         "flush chain bridge nat PREROUTING",
		"another port":    "flush chain bridge nat PREROUTING\nadd rule bridge nat PREROUTING iifname veth9 jump cni-br-iface-ctr1-eth0 comment \"macspoofchk-ctr1-eth0\"",
		"no drop":         "flush chain bridge nat cni-br-iface-ctr1-eth0-mac",
		"another address": "flush chain bridge nat cni-br-iface-ctr1-eth0-mac\nadd rule bridge nat cni-br-iface-ctr1-eth0-mac ether saddr 0a:58:0a:00:00:06 return comment \"macspoofchk-ctr1-eth0\"\nadd rule bridge nat cni-br-iface-ctr1-eth0-mac drop comment \"macspoofchk-ctr1-eth0\"",
		"let through":     "insert rule bridge nat cni-br-iface-ctr1-eth0 accept",
		"no address":      "flush chain bridge nat cni-br-iface-ctr1-eth0\ndelete chain bridge nat cni-br-iface-ctr1-eth0-mac",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := newEnv(t)
			s := testSpoofCheck()
			made(t, env, &SpoofCheckTable{}, s)
			nftScript(t, env.Host, script)
			wantState(t, env, s, engine.IsDrifted)
			noError(t, s.Remove(context.Background(), env))
			wantState(t, env, s, engine.IsAbsent)
		})
	}
	t.Run("table", func(t *testing.T) {
		t.Parallel()
		env := newEnv(t)
		nftScript(t, env.Host, "table bridge nat {\nchain PREROUTING {\ntype filter hook prerouting priority 5;\n}\n}\n")
		wantState(t, env, &SpoofCheckTable{}, engine.IsDrifted)
		if err := (&SpoofCheckTable{}).Create(context.Background(), env); !engine.IsConflict(err) {
			t.Errorf("Create: %v, want a conflict", err)
		}
	})
}

// The rule set may have been flushed since the table was made, and in the
// table of another life the handles are others'.
func TestSpoofCheckHandleIsAHint(t *testing.T) {
	t.Parallel()
	env := newEnv(t)
	a, b := testSpoofCheck(), testSpoofCheck()
	b.Container, b.Link = "ctr2", "veth1"
	made(t, env, &SpoofCheckTable{}, a)
	nftScript(t, env.Host, "flush ruleset")
	made(t, env, b)
	if a.Handle != b.Handle {
		t.Fatalf("handles %d and %d: the test tests nothing", a.Handle, b.Handle)
	}
	noError(t, a.Remove(context.Background(), env))
	wantState(t, env, b, engine.IsPresent)
}

func TestRule17SpoofCheckFlatCost(t *testing.T) {
	t.Parallel()
	env := newEnv(t)
	made(t, env, &SpoofCheckTable{})
	for i := range 100 {
		s := testSpoofCheck()
		s.Container = fmt.Sprint("other", i)
		made(t, env, s)
	}
	s := testSpoofCheck()
	steps := []struct {
		run  func(env Env) error
		want []string
	}{
		{func(env Env) error { return s.Create(context.Background(), env) }, []string{"nft.commit"}},
		{func(env Env) error { return s.Remove(context.Background(), env) }, []string{"nft.chain", "nft.chain", "nft.rule", "nft.commit"}},
		{func(env Env) error { return forgetful(s).Remove(context.Background(), env) }, []string{"nft.chain", "nft.chain"}},
	}
	for _, step := range steps {
		if ops := opsOf(env, func(env Env) { noError(t, step.run(env)) }); !slices.Equal(ops, step.want) {
			t.Errorf("the calls are %v, want %v", ops, step.want)
		}
	}
}

func TestSpoofCheckLongNames(t *testing.T) {
	t.Parallel()
	env := newEnv(t)
	made(t, env, &SpoofCheckTable{})
	a, b := testSpoofCheck(), testSpoofCheck()
	a.Container, b.Container = strings.Repeat("x", 200)+"a", strings.Repeat("x", 200)+"b"
	made(t, env, a, b)
	noError(t, a.Remove(context.Background(), env))
	wantState(t, env, a, engine.IsAbsent)
	wantState(t, env, b, engine.IsPresent)
}

func TestSpoofCheckManyAtOnce(t *testing.T) {
	t.Parallel()
	manyAtOnce(t, &SpoofCheckTable{}, func(container string) (s, other Resource) {
		made := testSpoofCheck()
		made.Container = container
		return made, forgetful(made)
	})
}
