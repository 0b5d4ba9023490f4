package bench

import (
	"fmt"
	"io"
	"text/tabwriter"
	"time"
)

// writeTables prints every series and then, to be seen last, the comparison.
func (r *results) writeTables(w io.Writer) error {
	for _, f := range []func(io.Writer) error{r.writeConditions, r.writeSeries, r.writeComparison, r.writeNotes} {
		if err := f(w); err != nil {
			return err
		}
		fmt.Fprintln(w)
	}
	return nil
}

func (r *results) writeConditions(w io.Writer) error {
	m := thisMachine()
	_, err := fmt.Fprintf(w, "Linux %s, %s, %d CPUs, %s; %d calls of each sort after %d to warm up; times in ms\n",
		m.Kernel, m.Arch, m.CPUs, m.Go, r.options.N, r.options.Warmup)
	return err
}

func (r *results) writeSeries(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "SCENARIO\tCALL\tCANDIDATE\tMEDIAN\tMIN\tP90\tMAX\tOF REFERENCE\tOF FLOOR\tOF EMPTY\t")
	for _, row := range r.rows {
		for _, e := range row.entries {
			s := e.summary
			fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t\n", row.scenario.name, row.op, e.candidate,
				ms(s.median), ms(s.min), ms(s.p90), ms(s.max),
				row.ratioText(e.candidate, nameReference), row.ratioText(e.candidate, nameFloor), row.ratioText(e.candidate, nameEmpty))
		}
	}
	return t.Flush()
}

func (r *results) writeComparison(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "SCENARIO\tCALL\tREFERENCE\tFAIRLEAD\tFLOOR\tEMPTY\tFAIRLEAD/REFERENCE\tREACH\t")
	for _, row := range r.rows {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t\n", row.scenario.name, row.op,
			row.medianText(nameReference), row.medianText(nameFairlead), row.medianText(nameFloor), row.medianText(nameEmpty),
			row.ratioText(nameFairlead, nameReference), row.reach)
	}
	return t.Flush()
}

func (r *results) writeNotes(w io.Writer) error {
	_, err := fmt.Fprintf(w, `REFERENCE  containernetworking/plugins %s
FLOOR      the kernel calls that the result needs and nothing else, made by a static Go process; its start and
           end are left out, and counted in "floor process" (masquerading: an element of a set; host-local:
           the lease's file, unlocked; no floor: no kernel call is needed)
EMPTY      a static Go program that does nothing: one process start
DEL again  the same DEL once more, as runtimes do: it finds nothing
Leases in /NUMBER are there before, of other containers, in the reference's layout. Fairlead takes an
unknown lease directory into its index at the first call, which is one of those to warm up: what
is compared is the steady state. In scenarios without a number the directory is empty.
`, referenceVersion)
	return err
}

// String is the verdict in one cell; nil has nothing to say.
func (v *verdict) String() string {
	switch {
	case v == nil:
		return ""
	case v.limit == 0:
		return v.text + ": not measured"
	case !v.judged:
		return fmt.Sprintf("%s: %s; not measured", v.text, ms(v.limit))
	case v.met:
		return fmt.Sprintf("%s: %s; met", v.text, ms(v.limit))
	}
	return fmt.Sprintf("%s: %s; NOT MET", v.text, ms(v.limit))
}

func (w row) medianText(candidate string) string {
	if s, ok := w.find(candidate); ok {
		return ms(s.median)
	}
	return "-"
}

func (w row) ratioText(candidate, other string) string {
	if r, ok := w.ratio(candidate, other); ok {
		return fmt.Sprintf("%.2f", r)
	}
	return "-"
}

// ms is a time in milliseconds, without the unit.
func ms(d time.Duration) string {
	return fmt.Sprintf("%.2f", milliseconds(d))
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
