package bench

import (
	"context"
	"errors"
	"io"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-net/fairlead/kernel"
)

func TestSummarize(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		times []time.Duration
		want  summary
	}{
		{"one", []time.Duration{7}, summary{1, 7, 7, 7, 7}},
		{"two", []time.Duration{4, 2}, summary{2, 3, 2, 4, 4}},
		{"ten", []time.Duration{10, 9, 8, 7, 6, 5, 4, 3, 2, 1}, summary{10, 5, 1, 9, 10}},
		{"eleven", []time.Duration{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}, summary{11, 6, 1, 10, 11}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, summarize(tt.times), cmp.AllowUnexported(summary{})); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestParseInit(t *testing.T) {
	t.Parallel()
	tests := []struct {
		line string
		want initCost
		ok   bool
	}{
		{"init net/http @1.9 ms, 0.12 ms clock, 4376 bytes, 19 allocs\n", initCost{"net/http", 1.9, 0.12, 4376, 19}, true},
		{"init runtime @0.077 ms, 0.053 ms clock, 0 bytes, 0 allocs", initCost{"runtime", 0.077, 0.053, 0, 0}, true},
		{"initialising", initCost{}, false},
		{"init net @x", initCost{pkg: "net"}, false},
		{"", initCost{}, false},
	}
	for _, tt := range tests {
		got, ok := parseInit(tt.line)
		if ok != tt.ok || got != tt.want {
			t.Errorf("parseInit(%q) = %v, %t; want %v, %t", tt.line, got, ok, tt.want, tt.ok)
		}
	}
}

func TestGoals(t *testing.T) {
	t.Parallel()
	at := func(d time.Duration) summary { return summary{n: 1, median: d} }
	three := func(reference, fairlead, floor, empty time.Duration) []entry {
		return []entry{{nameReference, at(reference)}, {nameFairlead, at(fairlead)}, {nameFloor, at(floor)}, {nameEmpty, at(empty)}}
	}
	const ms = time.Millisecond
	r := &results{rows: []row{
		{scenario: scenario{name: "bridge"}, op: opAdd, entries: three(10*ms, 4*ms, 1*ms, 1*ms)},
		{scenario: scenario{name: "bridge"}, op: opDel, entries: three(35*ms, 24*ms, 20*ms, 1*ms)},
		{scenario: scenario{name: "host-local"}, op: opAdd, entries: three(4*ms, 2*ms, 1*ms, 1*ms)},
		{scenario: scenario{name: "host-local/1000"}, op: opAdd, entries: three(15*ms, 2*ms, 1*ms, 1*ms)},
		{scenario: scenario{name: "version/bridge"}, op: opVersion, entries: three(2*ms, 0, 0, 1*ms)[:1]},
		{scenario: scenario{name: "loopback"}, op: opAdd, entries: three(2*ms, 2*ms, 1*ms, 1*ms)},
	}}
	r.judge(goals())
	want := []string{
		"at most 0.4 of the reference: 4.00; met",
		"at most the floor + one process start + 2 ms: 23.00; NOT MET",
		"",
		"at most 1.25 of that without leases: 2.50; met",
		"at most 1.8 of the empty program: not measured",
		"",
	}
	var got []string
	for _, w := range r.rows {
		got = append(got, w.reach.String())
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestGoalsNameScenarios fails when a goal is set for what is never measured.
func TestGoalsNameScenarios(t *testing.T) {
	t.Parallel()
	measured := map[string]bool{}
	for _, s := range scenarios() {
		for _, op := range s.ops {
			measured[s.name+" "+string(op)] = true
		}
	}
	for _, g := range goals() {
		if !measured[g.scenario+" "+string(g.op)] {
			t.Errorf("no scenario measures %s %s", g.scenario, g.op)
		}
	}
}

func TestLeaseAddress(t *testing.T) {
	t.Parallel()
	for i, want := range map[int]string{0: "10.88.0.2", 253: "10.88.0.255", 254: "10.88.1.0", 10_000: "10.88.39.18"} {
		if got := leaseAddress(i).String(); got != want {
			t.Errorf("leaseAddress(%d) = %s, want %s", i, got, want)
		}
	}
}

// TestFloor runs the floor through every scenario that has one, on the real
// kernel: measureAll holds what it brings about against what a plugin must.
func TestFloor(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	b := &binaries{floor: filepath.Join(dir, "floor"), empty: filepath.Join(dir, "empty")}
	for _, path := range []string{b.floor, b.empty} {
		if err := buildTool(t.Context(), path); err != nil {
			t.Fatal(err)
		}
	}
	var list []scenario
	for _, s := range scenarios() {
		if s.floor != nil && s.leases == 0 {
			list = append(list, s)
		}
	}
	o := Options{N: 2, Warmup: 2, Progress: io.Discard}
	r, errs := measureAll(t.Context(), list, []candidate{floor{b.floor}, empty{b.empty}}, o)
	for _, err := range errs {
		t.Error(err)
	}
	if len(r.rows) == 0 {
		t.Error("nothing was measured")
	}
	for _, w := range r.rows {
		for _, name := range []string{nameFloor, nameProcess, nameEmpty} {
			if s, ok := w.find(name); !ok || s.n != o.N || s.median <= 0 {
				t.Errorf("%s %s %s: %+v", w.scenario.name, w.op, name, s)
			}
		}
	}
}

// TestErrorsAreReported: a call that fails is an error, and its candidate has no numbers.
func TestErrorsAreReported(t *testing.T) {
	t.Parallel()
	list, err := choose(regexp.MustCompile("^loopback$"))
	if err != nil {
		t.Fatal(err)
	}
	o := Options{N: 1, Warmup: 1, Progress: io.Discard}
	r, errs := measureAll(t.Context(), list, []candidate{plugins{nameReference, t.TempDir()}}, o)
	if len(errs) != 1 || !strings.Contains(errs[0].Error(), "loopback: reference: ADD number 0") {
		t.Errorf("errors: %v", errs)
	}
	for _, w := range r.rows {
		if len(w.entries) != 0 {
			t.Errorf("%s has numbers: %v", w.op, w.entries)
		}
	}
}

// TestStops: a run that is called off ends, and says so.
func TestStops(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithCancel(t.Context())
	stop()
	r, errs := measureAll(ctx, scenarios(), nil, Options{N: 1, Warmup: 1, Progress: io.Discard})
	if err := errors.Join(errs...); !errors.Is(err, context.Canceled) || len(r.rows) != 0 {
		t.Errorf("%v, %d rows", err, len(r.rows))
	}
}

// unknownKind is in no kernel.
type unknownKind struct{ kernel.DummyKind }

func (unknownKind) Kind() string { return "no-such-kind" }

func TestKernelLacks(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		s     scenario
		lacks bool
	}{
		{scenario{}, false},
		{scenario{kind: kernel.BridgeKind{}}, false},
		{scenario{kind: kernel.MacvlanKind{}, master: true}, false},
		{scenario{kind: unknownKind{}}, true},
	} {
		if got, err := kernelLacks(c.s); err != nil || got != c.lacks {
			t.Errorf("%v: %t, %v", c.s.kind, got, err)
		}
	}
}

func TestRunRefuses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		o    Options
		says string
	}{
		{Options{N: 1}, "at least 1"},
		{Options{N: 1, Warmup: 1, Only: regexp.MustCompile("^no such$")}, "no scenario matches"},
	} {
		if err := Run(t.Context(), c.o, io.Discard); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%+v: %v", c.o, err)
		}
	}
}

func TestList(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	if err := List(regexp.MustCompile("^ptp$"), &out); err != nil {
		t.Fatal(err)
	}
	if got, want := out.String(), "ptp                ptp with host-local\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
