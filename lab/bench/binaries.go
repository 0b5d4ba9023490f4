package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// referenceVersion is the release of the reference plugins that is measured.
const referenceVersion = "v1.10.0"

// binaries says where everything is that can be executed.
type binaries struct {
	reference string // directory of plugins
	fairlead  string // directory of plugins; "" when there are none
	floor     string
	empty     string
	scratch   string // removed at the end
}

// obtain builds or finds all binaries. What is built goes through the go
// command and its cache; the reference plugins are fetched once.
func obtain(o options) (_ *binaries, err error) {
	b := &binaries{}
	defer func() {
		if err != nil {
			b.cleanUp()
		}
	}()
	if b.scratch, err = os.MkdirTemp("", "fairlead-bench-"); err != nil {
		return nil, err
	}
	if b.reference, err = obtainReference(o.cache); err != nil {
		return nil, err
	}
	if b.fairlead, err = findFairlead(o.fairlead, b.scratch); err != nil {
		return nil, err
	}
	if err := b.findTools(o.tools); err != nil {
		return nil, err
	}
	for _, path := range []string{b.reference, b.fairlead, b.scratch} {
		if hiddenInHosts(path) {
			return nil, fmt.Errorf("%s is not seen in a host of the benchmark: keep it outside of /run and /var/lib", path)
		}
	}
	return b, nil
}

// findTools takes floor and empty from dir, or builds them where it is "".
func (b *binaries) findTools(dir string) (err error) {
	in := b.scratch
	if dir != "" {
		if in, err = filepath.Abs(dir); err != nil {
			return err
		}
	}
	b.floor, b.empty = filepath.Join(in, "floor"), filepath.Join(in, "empty")
	for _, path := range []string{b.floor, b.empty} {
		if dir != "" {
			_, err = os.Stat(path)
		} else {
			err = goCommand(nil, "build", "-o", path, "github.com/fairlead-net/fairlead/test/bench/"+filepath.Base(path))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (b *binaries) cleanUp() { _ = os.RemoveAll(b.scratch) }

// cleanUpWhenInterrupted ends the program at a signal, without the files that
// it would leave; the kernel takes care of the rest. A reader of the output
// that has gone is no reason to die, but makes writing fail.
func (b *binaries) cleanUpWhenInterrupted() {
	signal.Ignore(unix.SIGPIPE)
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, unix.SIGINT, unix.SIGTERM)
	<-stop
	b.cleanUp()
	os.Exit(1)
}

// obtainReference installs the reference plugins below cache, unless they are
// there, and returns their directory. It is complete when it is there at all.
func obtainReference(cache string) (string, error) {
	cache, err := filepath.Abs(cache)
	if err != nil {
		return "", err
	}
	dir := filepath.Join(cache, "plugins-"+referenceVersion)
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return "", err
	}
	part, err := os.MkdirTemp(cache, "part-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(part)
	fmt.Fprintln(os.Stderr, "bench: installing the reference plugins", referenceVersion)
	err = goCommand([]string{"GOBIN=" + part}, "install",
		"github.com/containernetworking/plugins/plugins/...@"+referenceVersion)
	if err != nil {
		return "", err
	}
	if err := os.Chmod(part, 0o755); err != nil {
		return "", err
	}
	return dir, os.Rename(part, dir)
}

func goCommand(env []string, args ...string) error {
	cmd := exec.Command("go", args...)
	cmd.Env = append(append(os.Environ(), "CGO_ENABLED=0"), env...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go %s: %w\n%s", strings.Join(args, " "), err, out)
	}
	return nil
}

// findFairlead returns a directory with Fairlead's plugins by name: dir itself
// or, if that holds only the one binary, a directory of links to it below
// scratch. It returns "" when dir has neither.
func findFairlead(dir, scratch string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	if _, err := os.Stat(filepath.Join(dir, "bridge")); err == nil {
		return dir, nil
	}
	binary := filepath.Join(dir, "fairlead")
	if _, err := os.Stat(binary); errors.Is(err, os.ErrNotExist) {
		fmt.Fprintf(os.Stderr, "bench: no %s and no plugins beside it: Fairlead is left out (make build)\n", binary)
		return "", nil
	}
	links := filepath.Join(scratch, "fairlead")
	if err := os.Mkdir(links, 0o755); err != nil {
		return "", err
	}
	for _, name := range pluginNames() {
		if err := os.Symlink(binary, filepath.Join(links, name)); err != nil {
			return "", err
		}
	}
	return links, nil
}

// pluginNames are the plugins that any scenario needs, delegates included.
func pluginNames() []string {
	var names []string
	for _, s := range scenarios() {
		names = append(names, s.plugin)
	}
	slices.Sort(names)
	return slices.Compact(names)
}
