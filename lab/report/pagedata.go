package report

import (
	"slices"

	"github.com/fairlead-net/fairlead/lab/campaign"
)

// pageData is what the page's script reads. Most of it are texts that come again
// and again, so that all are in one list, and named by their place there.
type pageData struct {
	Suites   []string      `json:"suites"`
	Outcomes []outcome     `json:"outcomes"`
	Networks []pageNetwork `json:"networks"`
	Texts    []string      `json:"texts"`

	places map[string]int
}

type pageNetwork struct {
	Name   string      `json:"name"`
	Faults []pageFault `json:"faults"`
	Points [][]int     `json:"points"` // verb, plugin, program, text, and a number: the occurrence
	Sides  []*pageSide `json:"sides"`  // as many as suites; null for one that has not this network
}

type pageFault struct {
	Name  string `json:"name"`
	Words string `json:"words"`
}

type pageSide struct {
	About  [][2]string `json:"about"`
	List   any         `json:"list"`
	Traces []pageTrace `json:"traces"`
	Has    []int       `json:"has"` // the points that this side has, as places in Points
	// A cell is [point, fault, outcome, [step …], [line of trace …]], a step [call,
	// error or -1, [outcome, text …]].
	Cells [][]any `json:"cells"`
}

type pageTrace struct {
	Verb   int     `json:"verb"`
	Events [][]int `json:"events"` // plugin, program, text, point or -1
}

func newPageData(names []string, pairs []pair) *pageData {
	d := &pageData{Suites: names, Outcomes: outcomes(), Networks: []pageNetwork{}, Texts: []string{}, places: map[string]int{}}
	for _, p := range pairs {
		d.Networks = append(d.Networks, d.network(p))
	}
	return d
}

// text is the place of a text.
func (d *pageData) text(s string) int {
	at, ok := d.places[s]
	if !ok {
		at = len(d.Texts)
		d.places[s] = at
		d.Texts = append(d.Texts, s)
	}
	return at
}

func (d *pageData) outcome(v campaign.Verdict) int {
	return slices.IndexFunc(d.Outcomes, func(o outcome) bool { return o.Verdict == v })
}

func (d *pageData) network(p pair) pageNetwork {
	n := pageNetwork{Name: p.Name, Points: [][]int{}}
	for _, fault := range p.Faults {
		words := fault
		for _, r := range p.Sides {
			if r != nil && words == fault {
				words = faultWords(*r, fault)
			}
		}
		n.Faults = append(n.Faults, pageFault{Name: fault, Words: words})
	}
	for _, m := range p.Points {
		n.Points = append(n.Points, []int{d.text(m.Point.Verb), d.text(m.Point.Plugin), d.text(m.Point.Program),
			d.text(m.Point.Text), m.Point.Occurrence})
	}
	for side, r := range p.Sides {
		var s *pageSide
		if r != nil {
			s = d.side(p, side, *r)
		}
		n.Sides = append(n.Sides, s)
	}
	return n
}

func (d *pageData) side(p pair, side int, r campaign.Result) *pageSide {
	s := &pageSide{About: about(r), List: r.List, Cells: [][]any{}}
	row := map[int]int{} // of a point of the result: its place among the pair's
	for i, m := range p.Points {
		if m.At[side] >= 0 {
			row[m.At[side]] = i
			s.Has = append(s.Has, i)
		}
	}
	for _, t := range r.Traces {
		trace := pageTrace{Verb: d.text(t.Verb)}
		for _, e := range t.Events {
			at, ok := row[e.Point]
			if !ok {
				at = -1
			}
			trace.Events = append(trace.Events, []int{d.text(e.Plugin), d.text(e.Program), d.text(e.Text), at})
		}
		s.Traces = append(s.Traces, trace)
	}
	for _, c := range cellsOf(r) {
		fault := slices.Index(p.Faults, c.Fault)
		if fault < 0 {
			continue
		}
		s.Cells = append(s.Cells, []any{row[c.Point], fault, d.outcome(c.Verdict), d.steps(c.Steps), d.lines(c.Trace)})
	}
	return s
}

func (d *pageData) steps(steps []campaign.Step) []any {
	all := []any{}
	for _, s := range steps {
		failed := -1
		if s.Error != "" {
			failed = d.text(s.Error)
		}
		found := []int{}
		for _, f := range s.Found {
			found = append(found, d.outcome(f.Verdict), d.text(f.Text))
		}
		all = append(all, []any{d.text(s.Call), failed, found})
	}
	return all
}

func (d *pageData) lines(lines []string) []int {
	all := []int{}
	for _, line := range lines {
		all = append(all, d.text(line))
	}
	return all
}

// about is what is to be known of a campaign, as pairs of name and value.
func about(r campaign.Result) [][2]string {
	all := [][2]string{
		{"plugins", label(r)},
		{"kernel", "Linux " + r.Kernel},
		{"started", r.Started.UTC().Format("2006-01-02 15:04:05 UTC")},
		{"took", elapsed([]campaign.Result{r}).String()},
		{"runs", number(len(cellsOf(r))) + " of " + number(r.Planned)},
	}
	if r.Lab != "" {
		all = slices.Insert(all, 1, [2]string{"fault lab", r.Lab})
	}
	for _, text := range r.Steady {
		all = append(all, [2]string{"steady", text})
	}
	for _, note := range r.Notes {
		all = append(all, [2]string{"note", note})
	}
	return all
}
