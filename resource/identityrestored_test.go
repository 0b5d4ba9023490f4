package resource

import (
	"context"
	"errors"
	"testing"

	"github.com/fairlead-net/fairlead/engine"
	"github.com/fairlead-net/fairlead/kernel"
)

// renames are what whoever is in the container may do to the names of eth0 and
// of eth1, another link.
func renames() map[string]func(t *testing.T, ns *kernel.Namespace) {
	rename := func(t *testing.T, ns *kernel.Namespace, from, to string) {
		t.Helper()
		set(t, ns, from, kernel.LinkChange{Name: &to})
	}
	return map[string]func(t *testing.T, ns *kernel.Namespace){
		"renamed": func(t *testing.T, ns *kernel.Namespace) { rename(t, ns, "eth0", "mine0") },
		"replaced": func(t *testing.T, ns *kernel.Namespace) {
			rename(t, ns, "eth0", "mine0")
			rename(t, ns, "eth1", "eth0")
		},
		"swapped": func(t *testing.T, ns *kernel.Namespace) {
			rename(t, ns, "eth0", "swap0")
			rename(t, ns, "eth1", "eth0")
			rename(t, ns, "swap0", "eth1")
		},
	}
}

// twoLinks are eth0 and eth1, in the container, down.
func twoLinks(t *testing.T) (env Env, one, two int) {
	t.Helper()
	env = newEnv(t)
	for _, name := range []string{"eth0", "eth1"} {
		noError(t, env.Container.AddLink(kernel.LinkSpec{Name: name, Kind: kernel.VethKind{Peer: kernel.LinkSpec{Name: "x" + name}}}))
	}
	return env, link(t, env.Container, "eth0").Index, link(t, env.Container, "eth1").Index
}

func attributesOf(t *testing.T, ns *kernel.Namespace, index int) map[Attribute]string {
	t.Helper()
	l, ok, err := ns.LinkByIndex(index)
	noError(t, err)
	if !ok {
		t.Fatalf("there is no link %d", index)
	}
	values := map[Attribute]string{}
	for _, a := range Attributes() {
		values[a] = a.of(l)
	}
	return values
}

// TestCase29TunedLinkIsKnownByItsRecord: values go back to the link that had
// them, whatever it is called, and to no other, from the journal or from the
// file.
func TestCase29TunedLinkIsKnownByItsRecord(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for name, rename := range renames() {
		for _, source := range []string{"journal", "file"} {
			t.Run(name+", "+source, func(t *testing.T) {
				t.Parallel()
				env, one, two := twoLinks(t)
				before := attributesOf(t, env.Container, one)
				b := testBackup(t, Attributes()...)
				made(t, env, b)
				plan := []Resource{b}
				for _, a := range Attributes() {
					r := testAttr(a)
					r.Backup = b.Path
					noError(t, create(ctx, env, r))
					plan = append(plan, journaled(t, r))
				}
				rename(t, env.Container)
				// The other link happens to have the values that were set.
				tuned := attributesOf(t, env.Container, one)
				for _, a := range Attributes() {
					change, err := a.change(tuned[a])
					noError(t, err)
					noError(t, env.Container.SetLink(two, change))
				}
				for _, r := range plan {
					wantState(t, env, r, engine.IsPresent)
				}
				if source == "file" {
					plan = []Resource{b}
					for _, a := range Attributes() {
						plan = append(plan, &LinkAttr{On: eth0(), Attr: a, Backup: b.Path})
					}
				}
				noError(t, (&engine.Engine[Env]{}).RemovePlan(ctx, env, engine.Scope{Ref: Sandbox}, plan))
				for a, value := range attributesOf(t, env.Container, one) {
					if value != before[a] {
						t.Errorf("%s is %s, was %s", a.words(), value, before[a])
					}
				}
				for a, value := range attributesOf(t, env.Container, two) {
					if value != tuned[a] {
						t.Errorf("%s of the other link is %s, was %s", a.words(), value, tuned[a])
					}
				}
			})
		}
	}
}

// TestCase29ParameterOfALinkIsKnownByItsRecord is the same for kernel
// parameters.
func TestCase29ParameterOfALinkIsKnownByItsRecord(t *testing.T) {
	t.Parallel()
	const arpFilter, retransTime = "net/ipv4/conf/eth0/arp_filter", "net/ipv4/neigh/eth0/retrans_time_ms"
	at := func(t *testing.T, env Env, index int, s *RestoredSysctl) string {
		t.Helper()
		again := *s
		again.Index = index
		name, ok, err := again.current(env.Container)
		noError(t, err)
		value, there, err := env.Container.Sysctl(name)
		noError(t, err)
		if !ok || !there {
			t.Fatalf("there is no %s", name)
		}
		return value
	}
	for name, rename := range renames() {
		for parameter, value := range map[string]string{arpFilter: "1", retransTime: "800"} {
			t.Run(name+", "+parameter, func(t *testing.T) {
				t.Parallel()
				ctx := context.Background()
				env, one, two := twoLinks(t)
				r := &RestoredSysctl{Name: parameter, Value: value}
				before := at(t, env, one, r)
				noError(t, create(ctx, env, r))
				r = journaled(t, r).(*RestoredSysctl)
				rename(t, env.Container)
				other := *r
				other.Index = two
				otherName, _, err := other.current(env.Container)
				noError(t, err)
				noError(t, env.Container.SetSysctl(otherName, value))
				wantState(t, env, r, engine.IsPresent)
				noError(t, r.Remove(ctx, env))
				if got := at(t, env, one, r); got != before {
					t.Errorf("it is %s, was %s", got, before)
				}
				if got := at(t, env, two, r); got != value {
					t.Errorf("the other link's is %s, was %s", got, value)
				}
				wantState(t, env, r, engine.IsDrifted)
				_, err = env.Container.DelLink(one)
				noError(t, err)
				wantState(t, env, r, engine.IsAbsent)
				noError(t, r.Remove(ctx, env))
				if got := at(t, env, two, r); got != value {
					t.Errorf("the other link's is %s, was %s", got, value)
				}
			})
		}
	}
}

// TestCase29NothingIsInheritedFromAnotherLink: two of one name are no stack.
func TestCase29NothingIsInheritedFromAnotherLink(t *testing.T) {
	t.Parallel()
	env, one, two := twoLinks(t)
	ctx := context.Background()
	attr, parameter := testAttr(AttrMTU), &RestoredSysctl{Name: "net/ipv4/conf/eth0/arp_filter", Value: "1"}
	noError(t, attr.Save(ctx, env))
	noError(t, parameter.Save(ctx, env))
	renames()["swapped"](t, env.Container)
	for _, below := range []engine.Restored[Env]{attr, parameter} {
		above := journaled(t, below).(engine.Restored[Env])
		noError(t, above.Save(ctx, env))
		if err := above.Inherit(below); !errors.Is(err, engine.ErrApart) {
			t.Errorf("%s: %v (links %d and %d)", engine.RefOf(below), err, one, two)
		}
	}
}
