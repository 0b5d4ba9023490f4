package campaign

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

// world is facts from lines: "where kind name value", the value "-" for none.
func world(lines ...string) facts {
	all := facts{}
	for _, l := range lines {
		f := strings.Fields(l)
		all.add(fact{kind: f[1], where: f[0], name: f[2]}, f[3])
	}
	return all
}

// of is the measure of a network that makes veth, a rule, a lease and a bridge,
// which stays, and turns forwarding on.
func of() measure {
	m := measure{rest: map[string]facts{}}
	for range 2 {
		m.start(world("host link eth0 up", "host sysctl forward 0"))
		m.see(step{verb: verbAdd, claim: claimAdded}, world("host link eth0 up", "host sysctl forward 1", "host link br0 up", "host link veth* up", "host nft rule x", "host file last 3"))
		m.see(step{verb: verbDel, claim: claimRemoved}, world("host link eth0 up", "host sysctl forward 1", "host link br0 up", "host file last 3"))
	}
	return m
}

func TestJudge(t *testing.T) {
	t.Parallel()
	rest := []string{"host link eth0 up", "host sysctl forward 1", "host link br0 up", "host file last 7"}
	add, del := step{name: "ADD under fault", verb: verbAdd, claim: claimAdded}, step{name: "DEL", verb: verbDel, claim: claimRemoved}
	kept := step{name: "GC under fault", verb: verbDel, claim: claimRemoved, named: true}
	for name, c := range map[string]struct {
		step   step
		broken bool
		err    error
		now    facts
		want   []Finding
	}{
		"all well":                    {del, false, nil, world(rest...), nil},
		"well before the first ADD":   {del, false, nil, world("host link eth0 up", "host sysctl forward 0"), nil},
		"broken DEL failed":           {del, true, errors.New("EIO"), nil, nil},
		"DEL failed":                  {del, false, errors.New("EIO"), nil, []Finding{{Damage, "DEL fails, without fault: EIO"}}},
		"leak":                        {del, false, nil, world(append(rest, "host nft rule x")...), []Finding{{Leak, "left: host: nft rule: x"}}},
		"lie of DEL":                  {del, true, nil, world(append(rest, "host nft rule x")...), []Finding{{Lie, "left: host: nft rule: x"}}},
		"GC that names what it keeps": {kept, true, nil, world(append(rest, "host nft rule x")...), nil},
		"named, and without fault":    {kept, false, nil, world(append(rest, "host nft rule x")...), []Finding{{Leak, "left: host: nft rule: x"}}},
		"what its plugin alone sees":  {del, true, nil, world(append(rest, "host file /d/.x 1", "host file /d/locks/y 1")...), nil},
		"that, and without fault":     {del, false, nil, world(append(rest, "host file /d/.x 1")...), []Finding{{Leak, "left: host: file /d/.x: 1"}}},
		"second of what stays":        {del, false, nil, world(append(rest, "host link br0 up")...), []Finding{{Leak, "left: host: link br0: up"}}},
		"gone":                        {del, false, nil, world(rest[1:]...), []Finding{{Damage, "gone: host: link eth0: up"}}},
		"changed":                     {del, false, nil, world(append(rest[1:], "host link eth0 down")...), []Finding{{Damage, "changed: host: link eth0: down, was up"}}},
		"lie of ADD":                  {add, true, nil, world("host link eth0 up", "host sysctl forward 1", "host link br0 up", "host link veth* up", "host file last 3"), []Finding{{Lie, "missing: host: nft rule: x"}}},
		"ADD made it another way":     {add, true, nil, world("host link eth0 up", "host sysctl forward 1", "host link br0 down", "host link veth* up", "host nft rule x", "host file last 3"), []Finding{{Lie, "wrong: host: link br0: down, want up"}}},
		"ADD whose rest DEL will see": {add, true, nil, world("host link eth0 up", "host sysctl forward 1", "host link br0 up", "host link veth* up", "host nft rule x", "host file last 3", "host file tmp x"), nil},
	} {
		got := newJudge(of()).step(c.step, c.broken, c.err, c.now)
		if !slices.Equal(got.Found, c.want) {
			t.Errorf("%s: %q, want %q", name, got.Found, c.want)
		}
	}
}

// TestMovedDevice is not on the host while the container has it.
func TestMovedDevice(t *testing.T) {
	t.Parallel()
	m := measure{rest: map[string]facts{}, flaws: map[string]error{"DEL again": errors.New("no such link")}}
	m.start(world("host link nic0 up"))
	m.see(step{verb: verbAdd, claim: claimAdded}, world("c link eth0 up"))
	m.see(step{verb: verbDel, claim: claimRemoved}, world("host link nic0 up"))
	add, del := step{verb: verbAdd, claim: claimAdded}, step{verb: verbDel, claim: claimRemoved}
	j := newJudge(m)
	if got := j.step(add, true, nil, world("c link eth0 up")); len(got.Found) > 0 {
		t.Errorf("after ADD: %v", got.Found)
	}
	if got := j.step(step{name: "DEL again", claim: claimRemoved}, false, errors.New("no such link"), nil); len(got.Found) > 0 || got.Error == "" {
		t.Errorf("what always fails: %+v", got)
	}
	if got := j.step(del, false, nil, world()); len(got.Found) != 1 || got.Found[0].Verdict != Damage {
		t.Errorf("after DEL: %v", got.Found)
	}
}

func TestFindingsAreToldOnce(t *testing.T) {
	t.Parallel()
	j := newJudge(of())
	now := world("host link eth0 up", "host link veth* up")
	del := step{name: "DEL", verb: verbDel, claim: claimRemoved}
	for i, want := range []int{2, 0} { // forwarding is gone too
		if got := j.step(del, false, nil, now); len(got.Found) != want {
			t.Errorf("time %d: %v", i, got.Found)
		}
	}
}

func TestConclude(t *testing.T) {
	t.Parallel()
	failed := Step{Error: "EIO"}
	for _, c := range []struct {
		steps []Step
		want  Verdict
	}{
		{[]Step{{}, {}}, Clean},
		{[]Step{failed, {}}, Error},
		{[]Step{failed, {Found: []Finding{{Leak, "x"}}}}, Leak},
		{[]Step{{Found: []Finding{{Lie, "x"}}}, {Found: []Finding{{Leak, "x"}}}}, Leak},
		{[]Step{{Found: []Finding{{Unreached, "x"}}}, {}}, Unreached},
		{[]Step{{Found: []Finding{{Leak, "x"}}}, {Found: []Finding{{Damage, "x"}}}}, Damage},
	} {
		if got := conclude(c.steps); got != c.want {
			t.Errorf("%+v: %s, want %s", c.steps, got, c.want)
		}
	}
}
