package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fairlead-net/fairlead/lab/campaign"
)

// A failure is the cells of one network that came to the same: in the same verb
// of the same plugin, the same things were found.
type failure struct {
	result campaign.Result
	cells  []campaign.Cell // the first speaks for all
}

// How much of one failure is told.
const (
	manyFailures = 10
	manyFindings = 4
	manyAlike    = 3
)

// failures are all that is bad, the worst first, else in the order of the cells.
func failures(results []campaign.Result) []*failure {
	var all []*failure
	for _, r := range results {
		like := map[string]*failure{}
		for _, c := range cellsOf(r) {
			if !c.Verdict.Bad() {
				continue
			}
			key := likeness(r, c)
			if like[key] == nil {
				like[key] = &failure{result: r}
				all = append(all, like[key])
			}
			like[key].cells = append(like[key].cells, c)
		}
	}
	slices.SortStableFunc(all, func(a, b *failure) int {
		return rank(b.cells[0].Verdict) - rank(a.cells[0].Verdict)
	})
	return all
}

// likeness is the same for cells that show one fault of a plugin.
func likeness(r campaign.Result, c campaign.Cell) string {
	p := r.Points[c.Point]
	var b strings.Builder
	fmt.Fprintf(&b, "%q %q %q", c.Verdict, p.Verb, p.Plugin)
	for _, s := range c.Steps {
		for _, f := range s.Found {
			fmt.Fprintf(&b, " %q %q %q", s.Call, f.Verdict, f.Text)
		}
	}
	return b.String()
}

// worst tells the worst failures in words.
func worst(results []campaign.Result, o Options) string {
	all := failures(results)
	if len(all) == 0 {
		runs := total(rowsOf(results)).Runs
		if runs == 0 {
			return "\nNothing was run.\n"
		}
		return fmt.Sprintf("\nIn %s no leak, no damage, no lie, and every point was reached.\n", count(runs, "run"))
	}
	most := o.Worst
	if most == 0 {
		most = manyFailures
	}
	shown := all[:min(max(most, 0), len(all))]
	runs := 0
	for _, f := range all {
		runs += len(f.cells)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "\n%s, in %s", count(runs, "bad run"), count(len(all), "way"))
	if len(shown) == 0 {
		b.WriteString(".\n")
		return b.String()
	}
	if len(shown) < len(all) {
		fmt.Fprintf(&b, "; the worst %d", len(shown))
	}
	b.WriteString(":\n")
	for _, f := range shown {
		b.WriteString("\n" + f.tell(len(results) > 1, o))
	}
	return b.String()
}

// tell is one failure in a few lines.
func (f *failure) tell(several bool, o Options) string {
	c := f.cells[0]
	p := f.result.Points[c.Point]
	var b strings.Builder
	line := func(format string, args ...any) {
		b.WriteString(cut(printable(fmt.Sprintf(format, args...)), o.Width) + "\n")
	}
	what := fmt.Sprintf("%s of %s", p.Verb, p.Plugin)
	if several {
		what += " in " + f.result.Conflist
	}
	b.WriteString(o.bad(strings.ToUpper(string(c.Verdict))) + " ")
	line("%s", what)
	line("  at     %s: %s, the %s time", by(p), p.Text, times(p.Occurrence))
	fault := c.Fault
	if words := faultWords(f.result, fault); words != fault {
		fault += ": " + words
	}
	line("  fault  %s", fault)
	left := manyFindings
	for i, s := range c.Steps {
		if i > 0 && len(s.Found) == 0 {
			continue
		}
		if s.Error == "" {
			line("  %s said success", s.Call)
		} else {
			line("  %s failed: %s", s.Call, s.Error)
		}
		for _, found := range s.Found[:min(left, len(s.Found))] {
			line("    %s: %s", found.Verdict, found.Text)
		}
		if more := len(s.Found) - left; more > 0 {
			line("    and %d more", more)
		}
		left = max(left-len(s.Found), 0)
	}
	f.alike(line)
	return b.String()
}

// alike names where else the same came out.
func (f *failure) alike(line func(string, ...any)) {
	rest := f.cells[1:]
	if len(rest) == 0 {
		return
	}
	line("  the same in %s:", count(len(rest), "more run"))
	for _, c := range rest[:min(manyAlike, len(rest))] {
		p := f.result.Points[c.Point]
		line("    %s at %s: %s #%d", c.Fault, by(p), p.Text, p.Occurrence)
	}
	if len(rest) > manyAlike {
		line("    …")
	}
}
