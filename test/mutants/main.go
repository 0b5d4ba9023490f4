// Command mutants breaks the code in one place at a time, and runs the tests that
// must notice. README.md says how to add one.
//
// What may enter: tables of mutants, and what runs them. What may not: a test of
// the product.
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// enough is how many of 100 mutants have to be noticed.
const enough = 95

func main() {
	if err := run("test/mutants", os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

// run tries the mutants whose name has one of the words in it, or all.
func run(dir string, words []string) error {
	all, err := readTable(dir)
	if err != nil {
		return err
	}
	killed, tried := 0, 0
	for _, m := range all {
		if !m.named(words) {
			continue
		}
		tried++
		by, err := m.try(".")
		switch {
		case err != nil:
			return fmt.Errorf("%s: %w", m.name, err)
		case by == "":
			fmt.Printf("SURVIVED  %s (%s)\n", m.name, m.file)
		default:
			killed++
			fmt.Printf("killed    %s, by %s\n", m.name, by)
		}
	}
	fmt.Printf("%d of %d mutants killed\n", killed, tried)
	if tried == 0 {
		return errors.New("no mutant has such a name")
	}
	if killed*100 < tried*enough {
		return fmt.Errorf("fewer than %d %% are noticed by the tests", enough)
	}
	return nil
}

func (m *mutant) named(words []string) bool {
	for _, w := range words {
		if strings.Contains(m.name, w) {
			return true
		}
	}
	return len(words) == 0
}

// try runs the tests on the mutant, and gives the name of one that failed; ""
// where none did. The tree itself is not touched: the go command sees the
// changed file in place of the other.
func (m *mutant) try(root string) (killedBy string, err error) {
	text, err := m.apply(root)
	if err != nil {
		return "", err
	}
	tmp, err := os.MkdirTemp("", "mutant-*")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(tmp)
	overlay, err := writeOverlay(root, tmp, m.file, text)
	if err != nil {
		return "", err
	}
	env := append(os.Environ(), "GOFLAGS=-buildvcs=false -overlay="+overlay)
	if strings.Contains(strings.Join(m.pkgs, " "), "./test/") {
		// These suites call the finished plugins.
		if err := m.install(root, tmp, env); err != nil {
			return "", err
		}
		env = append(env, "FAIRLEAD_TEST_PLUGINS="+filepath.Join(tmp, "plugins"))
	}
	args := []string{"test", "-count=1", "-vet=off", "-run", "^(" + strings.Join(m.tests, "|") + ")$"}
	out, err := goCommand(root, env, append(args, m.pkgs...)...)
	for _, test := range m.tests {
		// A test that panics, or one that takes the process with it, is noticed too.
		if strings.Contains(out, "--- FAIL: "+test+" (") || strings.Contains(out, "panic: ") {
			return test, nil
		}
	}
	if err != nil {
		return "", fmt.Errorf("the tests could not be run: %w\n%s", err, out)
	}
	if strings.Contains(out, "no tests to run") {
		return "", fmt.Errorf("there is no such test: %s", strings.Join(m.tests, ", "))
	}
	return "", nil
}

func (m *mutant) install(root, tmp string, env []string) error {
	binary := filepath.Join(tmp, "fairlead")
	if out, err := goCommand(root, append(env, "CGO_ENABLED=0"), "build", "-o", binary, "./cmd/fairlead"); err != nil {
		return fmt.Errorf("build: %w\n%s", err, out)
	}
	if out, err := exec.Command(binary, "install", "--to", filepath.Join(tmp, "plugins")).CombinedOutput(); err != nil {
		return fmt.Errorf("install: %w\n%s", err, out)
	}
	return nil
}

func writeOverlay(root, tmp, file, text string) (string, error) {
	changed := filepath.Join(tmp, "changed.go")
	if err := os.WriteFile(changed, []byte(text), 0o600); err != nil {
		return "", err
	}
	original, err := filepath.Abs(filepath.Join(root, file))
	if err != nil {
		return "", err
	}
	data, err := json.Marshal(map[string]any{"Replace": map[string]string{original: changed}})
	if err != nil {
		return "", err
	}
	overlay := filepath.Join(tmp, "overlay.json")
	return overlay, os.WriteFile(overlay, data, 0o600)
}

func goCommand(dir string, env []string, args ...string) (string, error) {
	c := exec.Command("go", args...)
	c.Dir, c.Env = dir, env
	var out bytes.Buffer
	c.Stdout, c.Stderr = &out, &out
	err := c.Run()
	return out.String(), err
}
