package main

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

func TestTally(t *testing.T) {
	t.Parallel()
	ok := []event{
		{Action: "start", Package: "p"},
		{Action: "run", Package: "p", Test: "TestA"},
		{Action: "output", Package: "p", Test: "TestA", Output: "=== RUN   TestA\n"},
		{Action: "output", Package: "p", Test: "TestA", Output: "    a_test.go:1: chatter\n"},
		{Action: "output", Package: "p", Test: "TestA", Output: "--- PASS: TestA (0.00s)\n"},
		{Action: "pass", Package: "p", Test: "TestA"},
		{Action: "output", Package: "p", Output: "PASS\n"},
		{Action: "output", Package: "p", Output: "ok  \tp\t0.1s\n"},
		{Action: "pass", Package: "p"},
	}
	bad := []event{
		{Action: "output", Package: "q", Test: "TestB", Output: "=== RUN   TestB\n"},
		{Action: "output", Package: "q", Test: "TestB/sub", Output: "    b_test.go:2: wrong\n"},
		{Action: "output", Package: "q", Test: "TestB/sub", Output: "    --- FAIL: TestB/sub (0.00s)\n"},
		{Action: "fail", Package: "q", Test: "TestB/sub"},
		{Action: "output", Package: "q", Test: "TestB", Output: "--- FAIL: TestB (0.00s)\n"},
		{Action: "fail", Package: "q", Test: "TestB"},
		{Action: "output", Package: "q", Output: "FAIL\n"},
		{Action: "output", Package: "q", Output: "FAIL\tq\t0.1s\n"},
		{Action: "fail", Package: "q"},
	}
	skip := []event{
		{Action: "output", Package: "r", Test: "TestC", Output: "--- SKIP: TestC (0.00s)\n"},
		{Action: "skip", Package: "r", Test: "TestC"},
		{Action: "output", Package: "r", Output: "ok  \tr\t0.1s\n"},
		{Action: "pass", Package: "r"},
	}
	none := []event{
		{Action: "output", Package: "s", Output: "ok  \ts\t0.1s [no tests to run]\n"},
		{Action: "pass", Package: "s"},
	}
	broken := []event{
		{Action: "build-output", ImportPath: "u", Output: "u.go:1: syntax error\n"},
		{Action: "build-fail", ImportPath: "u"},
		{Action: "output", Package: "u", Output: "FAIL\tu [build failed]\n"},
		{Action: "fail", Package: "u"},
	}
	panicked := []event{
		{Action: "output", Package: "v", Test: "TestD", Output: "panic: oh\n"},
		{Action: "output", Package: "v", Output: "FAIL\tv\t0.1s\n"},
		{Action: "fail", Package: "v"},
	}
	for _, c := range []struct {
		name   string
		events [][]event
		goTest error
		want   string // printed
		fails  string // the verdict; "" when all is well
	}{
		{"a pass prints one line", [][]event{ok}, nil, "ok  \tp\t0.1s\n", ""},
		{"a failure prints what it said", [][]event{ok, bad}, errors.New("exit status 1"),
			"ok  \tp\t0.1s\n--- FAIL: TestB (0.00s)\n    b_test.go:2: wrong\n    --- FAIL: TestB/sub (0.00s)\nFAIL\nFAIL\tq\t0.1s\n", "tests failed"},
		{"a skip fails", [][]event{ok, skip}, nil,
			"ok  \tp\t0.1s\n--- SKIP: TestC (0.00s)\nok  \tr\t0.1s\n", "tests were skipped"},
		{"no test ran", [][]event{none}, nil, "ok  \ts\t0.1s [no tests to run]\n", "no test ran"},
		{"nothing at all", nil, nil, "", "no test ran"},
		{"a build failure", [][]event{ok, broken}, errors.New("exit status 1"),
			"ok  \tp\t0.1s\nu.go:1: syntax error\nFAIL\tu [build failed]\n", "tests failed"},
		{"a panic", [][]event{panicked}, errors.New("exit status 1"), "panic: oh\nFAIL\tv\t0.1s\n", "tests failed"},
		{"an end in the middle", [][]event{ok, bad[:2]}, nil, "ok  \tp\t0.1s\n", "did not finish"},
		{"go test itself fails", [][]event{ok}, errors.New("exit status 2"), "ok  \tp\t0.1s\n", "exit status 2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var in, out strings.Builder
			enc := json.NewEncoder(&in)
			for _, events := range c.events {
				for _, e := range events {
					if err := enc.Encode(e); err != nil {
						t.Fatal(err)
					}
				}
			}
			tally := &tally{out: &out}
			if err := tally.read(strings.NewReader(in.String())); err != nil {
				t.Fatal(err)
			}
			if out.String() != c.want {
				t.Errorf("printed:\n%s\nwant:\n%s", out.String(), c.want)
			}
			err := tally.verdict(c.goTest)
			if (err == nil) != (c.fails == "") || err != nil && !strings.Contains(err.Error(), c.fails) {
				t.Errorf("verdict %v, want %q", err, c.fails)
			}
		})
	}
}
