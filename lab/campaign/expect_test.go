package campaign

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestExpectation: what an expectation says and is not so is told, and nothing
// else.
func TestExpectation(t *testing.T) {
	t.Parallel()
	e, err := parseExpectation([]byte("# a comment\n+ host: link veth*: up\n= host: link br0: *\n= host: sysctl forward: 1\n= host: file last: *\n- host: link old*\n"))
	if err != nil {
		t.Fatal(err)
	}
	if got := e.differences(verbAdd, of()); len(got) > 0 {
		t.Errorf("as it should be: %q", got)
	}
	m := of()
	m.before.add(fact{kind: "link", where: "host", name: "old0"}, "up")
	m.before.add(fact{kind: "link", where: "host", name: "gone0"}, "up")
	m.rest[verbDel].add(fact{kind: "nft", where: "host", name: "rule"}, "x")
	m.rest[verbDel][fact{kind: "sysctl", where: "host", name: "forward"}] = held{1, map[string]bool{"2": true}}
	delete(m.added, fact{kind: "link", where: "host", name: "veth*"})
	want := []string{
		"after a clean ADD is not there: host: link veth*: up",
		"after a clean DEL is gone: host: link gone0",
		"after a clean DEL stays: host: nft rule: x",
		"after a clean DEL stays: host: sysctl forward: 2",
	}
	if got := e.differences(verbAdd, m); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if got := (*Expectation)(nil).differences(verbAdd, m); len(got) > 0 {
		t.Errorf("without an expectation: %q", got)
	}
	for _, text := range []string{"host: link", "+", "? x", "*"} {
		if _, err := parseExpectation([]byte(text)); err == nil {
			t.Errorf("%q is read", text)
		}
	}
}

// TestSteadyMistake: what a plugin does wrong each time, without any fault, is in
// no run's verdict, and is found.
func TestSteadyMistake(t *testing.T) {
	t.Parallel()
	dir := buildFaulty(t)
	for manner, want := range map[string][]string{
		"sound": nil,
		"steady": {
			"after a clean ADD is not there: lab-subject: link eth0: veth *up *",
			`after a clean DEL stays: host: file /run/faulty: "{\"Container\":\"lab-subject\",\"Netns\":\"/run/netns/lab-subject\"}"`,
		},
	} {
		o := faulty(t, dir, manner)
		o.Verbs, o.Faults, o.Out = []string{verbAdd}, []string{"renamed", "EIO"}, ""
		var err error
		if o.Expect, err = parseExpectation([]byte("+ host: link faulty0: veth *up *\n+ lab-subject: link eth0: veth *up *\n= host: sysctl *")); err != nil {
			t.Fatal(err)
		}
		r, err := Run(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(r.Steady, want) {
			t.Errorf("%s: %q, want %q", manner, r.Steady, want)
		}
		for _, c := range r.Cells {
			if c.Verdict.Bad() {
				t.Errorf("%s, %s, %s: %s", manner, r.Points[c.Point].Name(), c.Fault, c.Verdict)
			}
		}
	}
}

// TestNetworksHaveExpectations: each that runs without a virtual machine.
func TestNetworksHaveExpectations(t *testing.T) {
	t.Parallel()
	all, err := filepath.Glob("../../test/campaign/*.conf*")
	if err != nil || len(all) == 0 {
		t.Fatal(all, err)
	}
	for _, path := range all {
		e, err := LoadExpectation(path)
		if err != nil || e == nil {
			t.Errorf("%s: %v, %v", path, e, err)
			continue
		}
		if len(e.there) == 0 && !strings.Contains(path, "static") {
			t.Errorf("%s: nothing is there after ADD", path)
		}
	}
	if e, err := LoadExpectation("testdata/none.conflist"); e != nil || err != nil {
		t.Errorf("of none: %v, %v", e, err)
	}
}
