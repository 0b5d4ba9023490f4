package main

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// A mutant is one wrong version of the code, and the tests of which at least one
// must fail on it.
type mutant struct {
	name string
	file string // what it changes, relative to the root
	pkgs []string
	// tests are the names of top-level tests.
	tests    []string
	old, new string // whole lines
}

// readTable reads every table in dir, in the form that README.md tells.
func readTable(dir string) ([]mutant, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.mutants"))
	if err != nil {
		return nil, err
	}
	var all []mutant
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		some, err := parseTable(string(text))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		all = append(all, some...)
	}
	return all, nil
}

func parseTable(text string) ([]mutant, error) {
	var all []mutant
	lines := bufio.NewScanner(strings.NewReader(text))
	for n := 1; lines.Scan(); n++ {
		line := lines.Text()
		if name, ok := strings.CutPrefix(line, "== "); ok {
			all = append(all, mutant{name: name})
			continue
		}
		if line == "" || line[0] == '#' {
			continue
		}
		if len(all) == 0 {
			return nil, fmt.Errorf("line %d: %q comes before the first mutant", n, line)
		}
		if err := all[len(all)-1].read(line); err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
	}
	for _, m := range all {
		if m.file == "" || len(m.tests) == 0 || len(m.pkgs) == 0 || m.old == m.new {
			return nil, fmt.Errorf("%q lacks a file, tests or a change", m.name)
		}
	}
	return all, lines.Err()
}

func (m *mutant) read(line string) error {
	if file, ok := strings.CutPrefix(line, "file "); ok {
		m.file = file
		return nil
	}
	if tests, ok := strings.CutPrefix(line, "test "); ok {
		words := strings.Fields(tests)
		if !slices.Contains(m.pkgs, words[0]) {
			m.pkgs = append(m.pkgs, words[0])
		}
		m.tests = append(m.tests, words[1:]...)
		return nil
	}
	body := line[1:] + "\n"
	switch line[0] {
	case ' ':
		m.old, m.new = m.old+body, m.new+body
	case '-':
		m.old += body
	case '+':
		m.new += body
	default:
		return fmt.Errorf("%q is no part of a mutant", line)
	}
	return nil
}

// apply gives the mutant's file as it makes it.
func (m *mutant) apply(root string) (string, error) {
	text, err := os.ReadFile(filepath.Join(root, m.file))
	if err != nil {
		return "", fmt.Errorf("%s: %w", m.name, err)
	}
	if n := strings.Count("\n"+string(text), "\n"+m.old); n != 1 {
		return "", fmt.Errorf("%s: what it changes is in %s %d times, want once", m.name, m.file, n)
	}
	return strings.Replace("\n"+string(text), "\n"+m.old, "\n"+m.new, 1)[1:], nil
}
