package bench

import (
	"time"
)

// results are what a run has measured, in the order it did.
type results struct {
	options Options
	rows    []row
}

// row is one operation of one scenario.
type row struct {
	scenario scenario
	op       operation
	entries  []entry
	reach    *verdict // nil: no goal is set
}

// entry is one candidate in a row.
type entry struct {
	candidate string
	summary   summary
}

// verdict holds a goal against what was measured.
type verdict struct {
	text   string
	limit  time.Duration
	judged bool // what it compares was all measured
	met    bool
}

func newResults(o Options) *results { return &results{options: o} }

// add takes what the contestants' calls took; those with an error are left out.
func (r *results) add(s scenario, entered []*contestant) {
	for _, op := range s.ops {
		w := row{scenario: s, op: op}
		for _, c := range entered {
			if c.err != nil {
				continue
			}
			if len(c.own[op]) > 0 {
				w.entries = append(w.entries, entry{nameFloor, summarize(c.own[op])})
			}
			w.entries = append(w.entries, entry{c.name(), summarize(c.samples[op])})
		}
		r.rows = append(r.rows, w)
	}
}

func (w row) find(candidate string) (summary, bool) {
	for _, e := range w.entries {
		if e.candidate == candidate {
			return e.summary, true
		}
	}
	return summary{}, false
}

// ratio is the candidate's median over the other's; false when one is missing.
func (w row) ratio(candidate, other string) (float64, bool) {
	a, ok := w.find(candidate)
	b, ok2 := w.find(other)
	if !ok || !ok2 {
		return 0, false
	}
	return float64(a.median) / float64(b.median), true
}

func (r *results) median(scenario string, op operation, candidate string) (time.Duration, bool) {
	for _, w := range r.rows {
		if w.scenario.name == scenario && w.op == op {
			s, ok := w.find(candidate)
			return s.median, ok
		}
	}
	return 0, false
}

// judge gives each row that a goal is set for its verdict.
func (r *results) judge(list []goal) {
	for i := range r.rows {
		w := &r.rows[i]
		for _, g := range list {
			if g.scenario != w.scenario.name || g.op != w.op {
				continue
			}
			v := &verdict{text: g.text}
			limit, ok := g.limit(r.median)
			own, ok2 := w.find(nameFairlead)
			if ok {
				v.limit = limit
			}
			v.judged = ok && ok2
			v.met = v.judged && own.median <= limit
			w.reach = v
		}
	}
}
