package bench

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
)

// startupRuns is how often a plugin is started; a package's cost is the least of
// them, which is the one with the least noise.
const startupRuns = 15

// initCost is what the runtime tells of one package's initialisation.
type initCost struct {
	pkg           string
	at, clock     float64 // milliseconds since the process began, and of its own
	bytes, allocs int
}

// profileStartup prints, for each plugin binary of Fairlead (or of the reference
// plugins, if there is none) what its packages' initialisation costs, the
// dearest first, and beside it the same total for the empty program.
func profileStartup(ctx context.Context, w io.Writer, b *binaries) error {
	dir := cmp.Or(b.fairlead, b.reference)
	base, err := initCosts(ctx, b.empty)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "the empty program: %s\n", totals(base))
	var seen []os.FileInfo
	for _, name := range pluginNames() {
		path := filepath.Join(dir, name)
		info, err := os.Stat(path)
		if err != nil {
			return err
		}
		if slices.ContainsFunc(seen, func(o os.FileInfo) bool { return os.SameFile(o, info) }) {
			continue
		}
		seen = append(seen, info)
		costs, err := initCosts(ctx, path)
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "\n%s: %s\n", path, totals(costs))
		if err := writeCosts(w, costs); err != nil {
			return err
		}
	}
	return nil
}

// initCosts starts the program a number of times, asking a plugin for its VERSION.
func initCosts(ctx context.Context, path string) ([]initCost, error) {
	least := map[string]initCost{}
	for range startupRuns {
		var trace bytes.Buffer
		cmd := exec.CommandContext(ctx, path)
		cmd.Env = []string{"GODEBUG=inittrace=1", "CNI_COMMAND=VERSION", "PATH=" + os.Getenv("PATH")}
		cmd.Stdin = strings.NewReader(fmt.Sprintf(`{"cniVersion": %q}`, cniVersion))
		cmd.Stderr = &trace
		if err := cmd.Run(); err != nil {
			return nil, fmt.Errorf("%s: %w: %s", path, err, trace.Bytes())
		}
		for line := range strings.Lines(trace.String()) {
			c, ok := parseInit(line)
			if !ok {
				continue
			}
			if old, had := least[c.pkg]; had {
				c.clock, c.at = min(c.clock, old.clock), min(c.at, old.at)
			}
			least[c.pkg] = c
		}
	}
	costs := make([]initCost, 0, len(least))
	for _, c := range least {
		costs = append(costs, c)
	}
	slices.SortFunc(costs, func(a, b initCost) int {
		return cmp.Or(cmp.Compare(b.clock, a.clock), cmp.Compare(b.allocs, a.allocs), cmp.Compare(a.pkg, b.pkg))
	})
	return costs, nil
}

// parseInit reads a line as "init net @0.90 ms, 0.012 ms clock, 376 bytes, 9 allocs".
func parseInit(line string) (c initCost, ok bool) {
	n, err := fmt.Sscanf(line, "init %s @%f ms, %f ms clock, %d bytes, %d allocs", &c.pkg, &c.at, &c.clock, &c.bytes, &c.allocs)
	return c, err == nil && n == 5
}

func totals(costs []initCost) string {
	var clock, last float64
	allocs := 0
	for _, c := range costs {
		clock += c.clock
		allocs += c.allocs
		last = max(last, c.at+c.clock)
	}
	return fmt.Sprintf("%d packages initialise in %.3f ms with %d allocations; main begins %.2f ms after the runtime",
		len(costs), clock, allocs, last)
}

func writeCosts(w io.Writer, costs []initCost) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "MS\tAT MS\tBYTES\tALLOCS\t  PACKAGE")
	for _, c := range costs {
		fmt.Fprintf(t, "%.3f\t%.2f\t%d\t%d\t  %s\n", c.clock, c.at, c.bytes, c.allocs, c.pkg)
	}
	return t.Flush()
}
