package main

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

const root = "../.."

// TestEveryMutantApplies: what a mutant changes is in the code, once, and the
// tests that have to notice are there.
func TestEveryMutantApplies(t *testing.T) {
	t.Parallel()
	all, err := readTable(".")
	if err != nil || len(all) == 0 {
		t.Fatal(len(all), err)
	}
	names := map[string]bool{}
	for _, m := range all {
		if _, err := m.apply(root); err != nil {
			t.Error(err)
		}
		if names[m.name] {
			t.Errorf("two mutants are called %q", m.name)
		}
		names[m.name] = true
		declared := map[string]bool{}
		for _, pkg := range m.pkgs {
			testsIn(t, filepath.Join(root, pkg), declared)
		}
		for _, test := range m.tests {
			if !declared[test] {
				t.Errorf("%s: %s is not in %v", m.name, test, m.pkgs)
			}
		}
	}
}

func testsIn(t *testing.T, dir string, into map[string]bool) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range regexp.MustCompile(`(?m)^func (Test\w+)\(`).FindAllStringSubmatch(string(text), -1) {
			into[f[1]] = true
		}
	}
}

func TestParseTable(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, text string }{
		{"nothing before the first", "file a.go\n"},
		{"a file", "== x\ntest ./a TestA\n-b\n+c\n"},
		{"tests", "== x\nfile a.go\n-b\n+c\n"},
		{"a change", "== x\nfile a.go\ntest ./a TestA\n b\n"},
		{"known lines", "== x\nfile a.go\ntest ./a TestA\n-b\n+c\nwhat\n"},
	} {
		if _, err := parseTable(c.text); err == nil {
			t.Errorf("%s: it is not asked for", c.name)
		}
	}
}
