package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// event is one of `go test -json`; see `go doc test2json`.
type event struct {
	Action     string
	Package    string
	ImportPath string // instead of Package, in build events
	Test       string
	Output     string
}

// tally prints what go test -json says as go test without -json would have
// said it, and counts.
type tally struct {
	out     io.Writer
	verbose bool

	passed, failed, skipped int
	badPackages             int
	reports                 map[string]*report
}

// report is what one package said, until its end.
type report struct {
	tests map[string]*testReport
	order []string // of tests, as they began
	lines []string // not of a test
}

type testReport struct {
	output strings.Builder
	state  string // pass, fail, skip; "" when it never ended
}

// read takes events until the end of r.
func (t *tally) read(r io.Reader) error {
	t.reports = map[string]*report{}
	dec := json.NewDecoder(r)
	for {
		var e event
		if err := dec.Decode(&e); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("reading go test's events: %w", err)
		}
		t.take(e)
	}
}

func (t *tally) take(e event) {
	if e.Action == "build-output" {
		fmt.Fprint(t.out, e.Output)
	}
	if e.Package == "" {
		return
	}
	r := t.reports[e.Package]
	if r == nil {
		r = &report{tests: map[string]*testReport{}}
		t.reports[e.Package] = r
	}
	switch e.Action {
	case "output":
		r.output(e)
		if t.verbose {
			fmt.Fprint(t.out, e.Output)
		}
	case "pass", "fail", "skip":
		if e.Test != "" {
			r.test(e.Test).state = e.Action
			return
		}
		t.finish(r, e.Action)
		delete(t.reports, e.Package)
	default: // start, run, pause, cont, bench: nothing to print
	}
}

func (r *report) test(name string) *testReport {
	if r.tests[name] == nil {
		r.tests[name] = &testReport{}
		r.order = append(r.order, name)
	}
	return r.tests[name]
}

func (r *report) output(e event) {
	if e.Test == "" {
		r.lines = append(r.lines, e.Output)
		return
	}
	// What only -v prints.
	if !strings.HasPrefix(e.Output, "=== ") {
		r.test(e.Test).output.WriteString(e.Output)
	}
}

// finish counts and prints a package at its end; action is the package's.
func (t *tally) finish(r *report, action string) {
	slices.Sort(r.order) // a test before its subtests
	for _, name := range r.order {
		test := r.tests[name]
		switch test.state {
		case "pass":
			t.passed++
			continue
		case "skip":
			t.skipped++
		default:
			t.failed++
		}
		if !t.verbose {
			fmt.Fprint(t.out, test.output.String())
		}
	}
	if action == "fail" {
		t.badPackages++
	}
	for _, line := range r.lines {
		ordinary := strings.HasPrefix(line, "ok ") || strings.HasPrefix(line, "? ") || strings.HasPrefix(line, "FAIL")
		if !t.verbose && (ordinary || action == "fail") {
			fmt.Fprint(t.out, line)
		}
	}
}

func (t *tally) summary() string {
	return fmt.Sprintf("%d tests passed, %d failed, %d skipped", t.passed, t.failed, t.skipped)
}

// verdict says why the run as a whole failed, nil when it did not; err is go
// test's own. A skipped test is a failure: the virtual machine has everything.
func (t *tally) verdict(err error) error {
	switch {
	case t.failed > 0 || t.badPackages > 0:
		return errors.New("tests failed")
	case len(t.reports) > 0:
		return errors.Join(errors.New("packages did not finish"), err)
	case err != nil:
		return fmt.Errorf("go test: %w", err)
	case t.skipped > 0:
		return errors.New("tests were skipped, where none may be")
	case t.passed == 0:
		return errors.New("no test ran")
	}
	return nil
}
