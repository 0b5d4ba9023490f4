package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

const (
	// buildTag is set for tests that need the virtual machine's kernel.
	buildTag = "vmtest"
	// mark in a package's comment has its tests run in the virtual machine.
	mark = "//fairlead:vmtest"
	// testTimeout is go test's -timeout, for one package: it ends what hangs, and
	// an emulated machine on a busy one must not come near it.
	testTimeout = "60m"
)

// testRooms are the rooms whose tests all run in the virtual machine: those that
// talk to the kernel. Elsewhere a package says so by the mark. What does not
// depend on the kernel would only be slower there, some ten times.
func testRooms() []string { return []string{"kernel", "resource"} }

// testMain is `vm test`: go test itself, with the test binaries run in one
// machine. Its -exec starts this program as client of the machine.
func testMain(ctx context.Context, args []string) (int, error) {
	flags, packages := splitTestArgs(args)
	if len(packages) == 0 {
		var err error
		if packages, err = discover(ctx); err != nil {
			return 1, err
		}
	}
	self, err := os.Executable()
	if err != nil {
		return exitMachine, err
	}
	dir, err := os.MkdirTemp("", "fairlead-vm-")
	if err != nil {
		return exitMachine, err
	}
	defer os.RemoveAll(dir)
	config, err := defaultMachine(ctx, os.Getenv)
	if err != nil {
		return exitMachine, err
	}
	began := time.Now()
	m, err := boot(ctx, config)
	if err != nil {
		return exitMachine, err
	}
	defer m.close()
	socket := filepath.Join(dir, "socket")
	s, err := serve(m, socket)
	if err != nil {
		return exitMachine, err
	}
	defer s.close()

	t := &tally{out: os.Stdout, verbose: hasVerbose(flags)}
	err = goTest(ctx, t, []string{
		"-json", "-count=1", "-vet=off", "-tags=" + buildTag, "-timeout=" + testTimeout,
		"-exec=" + quote(self) + " client " + quote(socket),
	}, flags, packages)
	fmt.Printf("vmtest: %s in %s\n", t.summary(), time.Since(began).Round(100*time.Millisecond))
	select {
	case <-m.down:
		return exitMachine, m.err
	default:
	}
	if verr := t.verdict(err); verr != nil {
		return 1, verr
	}
	return 0, nil
}

// goTest runs go test and feeds its events to t.
func goTest(ctx context.Context, t *tally, fixed, flags, packages []string) error {
	args := append([]string{"test"}, fixed...)
	args = append(args, flags...)
	cmd := exec.CommandContext(ctx, "go", append(args, packages...)...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 10 * time.Second
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	readErr := t.read(out)
	return errors.Join(readErr, cmd.Wait())
}

// splitTestArgs tells go test's flags from packages: packages come last, and
// begin with a letter, a dot or a slash. Flags must be of the form -name=value.
func splitTestArgs(args []string) (flags, packages []string) {
	for i, a := range args {
		if !strings.HasPrefix(a, "-") {
			return args[:i], args[i:]
		}
	}
	return args, nil
}

func hasVerbose(flags []string) bool {
	for _, f := range flags {
		if f == "-v" || f == "-v=true" || f == "--v" {
			return true
		}
	}
	return false
}

// quote makes s one argument for go's -exec.
func quote(s string) string { return "'" + s + "'" }

// listed is what is used of go list's answer.
type listed struct {
	Dir                       string
	ImportPath                string
	GoFiles                   []string
	TestGoFiles, XTestGoFiles []string
	Module                    struct{ Dir string }
}

// discover lists the packages whose tests run in the virtual machine.
func discover(ctx context.Context) ([]string, error) {
	cmd := exec.CommandContext(ctx, "go", "list", "-e", "-tags="+buildTag,
		"-json=Dir,ImportPath,GoFiles,TestGoFiles,XTestGoFiles,Module", "./...")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	var found []string
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, err
		}
		if len(p.TestGoFiles)+len(p.XTestGoFiles) == 0 {
			continue
		}
		in, err := p.belongs()
		if err != nil {
			return nil, err
		}
		if in {
			found = append(found, p.ImportPath)
		}
	}
	if len(found) == 0 {
		return nil, errors.New("no package has tests for the virtual machine")
	}
	return found, nil
}

func (p listed) belongs() (bool, error) {
	rel, err := filepath.Rel(p.Module.Dir, p.Dir)
	if err != nil {
		return false, err
	}
	room, _, _ := strings.Cut(filepath.ToSlash(rel), "/")
	for _, r := range testRooms() {
		if room == r {
			return true, nil
		}
	}
	var files []string
	for _, list := range [][]string{p.GoFiles, p.TestGoFiles, p.XTestGoFiles} {
		files = append(files, list...)
	}
	for _, name := range files {
		marked, err := hasMark(filepath.Join(p.Dir, name))
		if marked || err != nil {
			return marked, err
		}
	}
	return false, nil
}

// hasMark says whether a line of the file before its package clause is the mark.
func hasMark(file string) (bool, error) {
	f, err := os.Open(file)
	if err != nil {
		return false, err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		switch line := lines.Text(); {
		case line == mark:
			return true, nil
		case strings.HasPrefix(line, "package "):
			return false, nil
		}
	}
	return false, lines.Err()
}
