package bench

import (
	"encoding/json"
	"io"
)

// document is the form of --json. Times are in milliseconds.
type document struct {
	Machine   machine   `json:"machine"`
	Reference string    `json:"reference"`
	N         int       `json:"n"`
	Warmup    int       `json:"warmup"`
	Rows      []rowJSON `json:"rows"`
}

type rowJSON struct {
	Scenario string      `json:"scenario"`
	About    string      `json:"about"`
	Call     operation   `json:"call"`
	Leases   int         `json:"leases"`
	Entries  []entryJSON `json:"candidates"`
	Reach    *reachJSON  `json:"reach,omitempty"`
}

type entryJSON struct {
	Candidate   string   `json:"candidate"`
	N           int      `json:"n"`
	Median      float64  `json:"median"`
	Min         float64  `json:"min"`
	P90         float64  `json:"p90"`
	Max         float64  `json:"max"`
	OfReference *float64 `json:"ofReference,omitempty"`
	OfFloor     *float64 `json:"ofFloor,omitempty"`
	OfEmpty     *float64 `json:"ofEmpty,omitempty"`
}

type reachJSON struct {
	Goal  string   `json:"goal"`
	Limit *float64 `json:"limit,omitempty"`
	Met   *bool    `json:"met,omitempty"` // absent: not measured
}

func (r *results) writeJSON(w io.Writer) error {
	d := document{Machine: thisMachine(), Reference: referenceVersion, N: r.options.N, Warmup: r.options.Warmup, Rows: []rowJSON{}}
	for _, row := range r.rows {
		d.Rows = append(d.Rows, row.json())
	}
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(d)
}

func (w row) json() rowJSON {
	j := rowJSON{Scenario: w.scenario.name, About: w.scenario.about, Call: w.op, Leases: w.scenario.leases,
		Entries: []entryJSON{}, Reach: w.reach.json()}
	for _, e := range w.entries {
		s := e.summary
		j.Entries = append(j.Entries, entryJSON{
			Candidate: e.candidate, N: s.n,
			Median: milliseconds(s.median), Min: milliseconds(s.min), P90: milliseconds(s.p90), Max: milliseconds(s.max),
			OfReference: w.ratioPtr(e.candidate, nameReference),
			OfFloor:     w.ratioPtr(e.candidate, nameFloor),
			OfEmpty:     w.ratioPtr(e.candidate, nameEmpty),
		})
	}
	return j
}

func (w row) ratioPtr(candidate, other string) *float64 {
	if r, ok := w.ratio(candidate, other); ok {
		return &r
	}
	return nil
}

func (v *verdict) json() *reachJSON {
	if v == nil {
		return nil
	}
	j := &reachJSON{Goal: v.text}
	if v.limit != 0 {
		limit := milliseconds(v.limit)
		j.Limit = &limit
	}
	if v.judged {
		j.Met = &v.met
	}
	return j
}
