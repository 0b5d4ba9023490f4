package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
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
func obtain(ctx context.Context, o Options) (_ *binaries, err error) {
	b := &binaries{}
	defer func() {
		if err != nil {
			b.cleanUp()
		}
	}()
	if b.scratch, err = os.MkdirTemp("", "fairlead-bench-"); err != nil {
		return nil, err
	}
	if b.reference, err = obtainReference(ctx, o.Cache, o.Progress); err != nil {
		return nil, err
	}
	if b.fairlead, err = findFairlead(o.Fairlead, b.scratch, o.Progress); err != nil {
		return nil, err
	}
	if err := b.findTools(ctx, o.Tools); err != nil {
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
func (b *binaries) findTools(ctx context.Context, dir string) (err error) {
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
			err = buildTool(ctx, path)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// buildTool builds floor or empty, by the name of the file.
func buildTool(ctx context.Context, path string) error {
	err := goCommand(ctx, nil, "build", "-o", path, "github.com/fairlead-net/fairlead/lab/bench/"+filepath.Base(path))
	if err != nil {
		return fmt.Errorf("build the programs to compare with (outside of a checkout, the tools must be given): %w", err)
	}
	return nil
}

func (b *binaries) cleanUp() { _ = os.RemoveAll(b.scratch) }

// hiddenInHosts says whether path is one that a host has nothing of.
func hiddenInHosts(path string) bool {
	return strings.HasPrefix(path, "/run/") || strings.HasPrefix(path, "/var/lib/")
}

// obtainReference installs the reference plugins below cache, unless they are
// there, and returns their directory. It is complete when it is there at all.
func obtainReference(ctx context.Context, cache string, progress io.Writer) (string, error) {
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
	fmt.Fprintln(progress, "bench: installing the reference plugins", referenceVersion)
	err = goCommand(ctx, []string{"GOBIN=" + part}, "install",
		"github.com/containernetworking/plugins/plugins/...@"+referenceVersion)
	if err != nil {
		return "", err
	}
	if err := os.Chmod(part, 0o755); err != nil {
		return "", err
	}
	return dir, os.Rename(part, dir)
}

func goCommand(ctx context.Context, env []string, args ...string) error {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Env = append(append(os.Environ(), "CGO_ENABLED=0"), env...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go %s: %w\n%s", strings.Join(args, " "), err, out)
	}
	return nil
}

// findFairlead returns a directory with Fairlead's plugins by name: dir itself
// or, if that holds only the one binary, a directory of links to it below
// scratch. It returns "" when dir has neither.
func findFairlead(dir, scratch string, progress io.Writer) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	if _, err := os.Stat(filepath.Join(dir, "bridge")); err == nil {
		return dir, nil
	}
	binary := filepath.Join(dir, "fairlead")
	if _, err := os.Stat(binary); errors.Is(err, os.ErrNotExist) {
		fmt.Fprintf(progress, "bench: no %s and no plugins beside it: Fairlead is left out (make build)\n", binary)
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
