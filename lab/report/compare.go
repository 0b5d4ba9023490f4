package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/fairlead-net/fairlead/lab/campaign"
)

// CompareText writes two suites side by side for people at a terminal: the table
// of Text with a line for each suite, then where they differ at the same point.
func CompareText(w io.Writer, a, b []campaign.Result, o Options) error {
	names := labels(a, b)
	pairs := beside(a, b)
	var out strings.Builder
	out.WriteString(o.bold(cut(names[0]+" beside "+names[1], o.Width)) + "\n\n")
	for i, results := range [][]campaign.Result{a, b} {
		out.WriteString(cut(fmt.Sprintf("%s: %s", names[i], conditions(results)), o.Width) + "\n")
	}
	out.WriteString("\n" + compareTable(pairs, names, o))
	met := meetings(pairs)
	out.WriteString("\n" + agreement(met, names))
	out.WriteString(differences(met, names, o))
	if _, err := io.WriteString(w, out.String()); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	return nil
}

// labels name two suites so that they can be told apart.
func labels(a, b []campaign.Result) []string {
	names := []string{"first", "second"}
	for i, results := range [][]campaign.Result{a, b} {
		if len(results) > 0 && label(results[0]) != "" {
			names[i] = printable(label(results[0]))
		}
	}
	if names[0] == names[1] {
		names[0] += " (first)"
		names[1] += " (second)"
	}
	return names
}

// sideRows are a pair's rows: of each side by plugin and verb, in one order.
func sideRows(p pair) (order []Row, sides []map[string]Row) {
	at := map[string]bool{}
	for _, r := range p.Sides {
		rows := map[string]Row{}
		sides = append(sides, rows)
		if r == nil {
			continue
		}
		for _, row := range Rows(*r) {
			rows[row.key()] = row
			if !at[row.key()] {
				at[row.key()] = true
				order = append(order, row)
			}
		}
	}
	return order, sides
}

func (r Row) key() string { return r.Plugin + "\x00" + r.Verb }

func compareTable(pairs []pair, names []string, o Options) string {
	several := len(pairs) > 1
	lines := [][]field{head(several, true)}
	sums := []Row{{Counts: noCounts()}, {Counts: noCounts()}}
	put := func(name []field, side int, row Row) {
		lines = append(lines, append(append(name, field{text: names[side]}), o.numbers(row)...))
	}
	var last Row
	for _, p := range pairs {
		order, sides := sideRows(p)
		for _, of := range order {
			name := o.names(of, last, several)
			last = of
			for side := range sides {
				row, ok := sides[side][of.key()]
				if !ok {
					continue
				}
				put(name, side, row)
				sums[side].add(row)
				name = make([]field, len(name))
			}
		}
	}
	lines = append(lines, nil)
	name := o.names(Row{Network: "all", Plugin: "all"}, Row{}, several)
	for side := range sums {
		put(name, side, sums[side])
		name = make([]field, len(name))
	}
	return table(lines, len(lines[0])-len(columns()))
}

// agreement counts what the two suites came to where both ran the same.
func agreement(met []meeting, names []string) string {
	n := map[[2]bool]int{}
	for _, m := range met {
		n[[2]bool{m.cell[0].Verdict.Bad(), m.cell[1].Verdict.Bad()}]++
	}
	return fmt.Sprintf("The same fault at the same point in both: %s; both good %s, both bad %s, only %s bad %s, only %s bad %s.\n",
		count(len(met), "run"), number(n[[2]bool{}]), number(n[[2]bool{true, true}]),
		names[0], number(n[[2]bool{true, false}]), names[1], number(n[[2]bool{false, true}]))
}

// differences tells where one is bad and the other not so bad, the worst first.
func differences(met []meeting, names []string, o Options) string {
	var all []meeting
	for _, m := range met {
		if m.cell[0].Verdict != m.cell[1].Verdict && m.worse().Bad() {
			all = append(all, m)
		}
	}
	if len(all) == 0 {
		return ""
	}
	slices.SortStableFunc(all, func(a, b meeting) int { return rank(b.worse()) - rank(a.worse()) })
	most := o.Worst
	if most == 0 {
		most = manyFailures
	}
	var b strings.Builder
	fmt.Fprintf(&b, "\n%s:\n", count(len(all), "difference"))
	for _, m := range all[:min(max(most, 0), len(all))] {
		p := m.at.Point
		line := fmt.Sprintf("  %s: %s, %s at %s: %s #%d", p.Verb, m.pair.Name, m.cell[0].Fault, by(p), p.Text, p.Occurrence)
		b.WriteString(cut(printable(line), o.Width) + "\n")
		for side, c := range m.cell {
			b.WriteString(cut(printable(fmt.Sprintf("    %s: %s", names[side], verdictWords(c))), o.Width) + "\n")
		}
	}
	if more := len(all) - most; more > 0 && most > 0 {
		fmt.Fprintf(&b, "  and %s more\n", number(more))
	}
	return b.String()
}

func (m meeting) worse() campaign.Verdict { return m.cell[0].Verdict.Worse(m.cell[1].Verdict) }

// verdictWords are a cell's verdict and the first thing that speaks for it.
func verdictWords(c campaign.Cell) string {
	for _, s := range c.Steps {
		for _, f := range s.Found {
			if f.Verdict == c.Verdict {
				return fmt.Sprintf("%s after %s: %s", c.Verdict, s.Call, f.Text)
			}
		}
	}
	if len(c.Steps) > 0 && c.Steps[0].Error != "" {
		return fmt.Sprintf("%s: %s", c.Verdict, c.Steps[0].Error)
	}
	return string(c.Verdict)
}
