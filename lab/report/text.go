package report

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/fairlead-net/fairlead/lab/campaign"
)

// Text writes results for people at a terminal: a table of what the runs of each
// plugin and verb came to, then the worst of them in words.
func Text(w io.Writer, results []campaign.Result, o Options) error {
	var b strings.Builder
	b.WriteString(o.bold(cut(heading(results), o.Width)) + "\n\n")
	several := len(results) > 1
	lines := [][]field{head(several, false)}
	rows := rowsOf(results)
	var last Row
	for _, row := range rows {
		lines = append(lines, append(o.names(row, last, several), o.numbers(row)...))
		last = row
	}
	lines = append(lines, nil, append(o.names(Row{Network: "all", Plugin: "all"}, Row{}, several), o.numbers(total(rows))...))
	b.WriteString(table(lines, len(lines[0])-len(columns())))
	for _, r := range results {
		for _, note := range r.Notes {
			b.WriteString("\n" + cut(fmt.Sprintf("Note on %s: %s", printable(r.Conflist), printable(note)), o.Width))
		}
		for _, text := range r.Steady {
			b.WriteString("\n" + o.bad("STEADY") + cut(fmt.Sprintf(" in %s, without any fault: %s", printable(r.Conflist), printable(text)), o.Width))
		}
		if len(r.Notes)+len(r.Steady) > 0 {
			b.WriteString("\n")
		}
	}
	b.WriteString(worst(results, o))
	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	return nil
}

// heading says what ran where.
func heading(results []campaign.Result) string {
	if len(results) == 0 {
		return "no results"
	}
	return printable(label(results[0])) + ", " + conditions(results)
}

// conditions say where, when and how much.
func conditions(results []campaign.Result) string {
	if len(results) == 0 {
		return "no results"
	}
	r := results[0]
	var parts []string
	if r.Lab != "" {
		parts = append(parts, "fault lab "+r.Lab)
	}
	parts = append(parts, "Linux "+r.Kernel, r.Started.UTC().Format("2006-01-02 15:04 UTC"))
	if spent := elapsed(results); spent > 0 {
		parts = append(parts, "took "+spent.String())
	}
	if planned, done := planned(results), total(rowsOf(results)).Runs; planned > done {
		parts = append(parts, fmt.Sprintf("%s of %s runs", number(done), number(planned)))
	}
	return printable(strings.Join(parts, ", "))
}

// label names a suite.
func label(r campaign.Result) string { return strings.TrimSpace(r.Suite + " " + r.Version) }

func elapsed(results []campaign.Result) time.Duration {
	var all time.Duration
	for _, r := range results {
		all += r.Elapsed
	}
	return all.Round(time.Second)
}

func planned(results []campaign.Result) int {
	n := 0
	for _, r := range results {
		n += r.Planned
	}
	return n
}

// columns are the heads of the columns with numbers.
func columns() []string {
	all := []string{"points", "runs"}
	for _, c := range outcomes() {
		all = append(all, c.Title)
	}
	return all
}

func head(several, suites bool) []field {
	var line []field
	if several {
		line = append(line, field{text: "network"})
	}
	line = append(line, field{text: "plugin"}, field{text: "verb"})
	if suites {
		line = append(line, field{text: "suite"})
	}
	for _, c := range columns() {
		line = append(line, field{text: c})
	}
	return line
}

// names are a row's names, without what is as in the row above.
func (o Options) names(row, above Row, several bool) []field {
	network, plugin := printable(row.Network), printable(row.Plugin)
	if row.Network == above.Network && row.Plugin == above.Plugin {
		plugin = ""
	}
	if !several {
		return []field{{text: plugin}, {text: row.Verb}}
	}
	if row.Network == above.Network {
		network = ""
	}
	if network == "all" {
		plugin = ""
	}
	return []field{{text: network}, {text: plugin}, {text: row.Verb}}
}

func (o Options) numbers(row Row) []field {
	line := []field{{text: number(row.Points)}, {text: number(row.Runs)}}
	for _, c := range outcomes() {
		n := row.Counts[c.Verdict]
		f := field{text: number(n)}
		switch {
		case n == 0:
			f.paint = o.faint
		case c.Bad:
			f.paint = o.bad
		}
		line = append(line, f)
	}
	return line
}
