package report

import "github.com/fairlead-net/fairlead/lab/campaign"

// A Row is what the runs of one verb of one plugin came to.
type Row struct {
	Network string `json:"network"`
	Plugin  string `json:"plugin"`
	Verb    string `json:"verb"`
	Points  int    `json:"points"` // that the verb's course has
	Runs    int    `json:"runs"`   // that were made
	Counts  Counts `json:"counts"`
}

// add takes another's numbers in.
func (r *Row) add(other Row) {
	r.Points += other.Points
	r.Runs += other.Runs
	for v, n := range other.Counts {
		r.Counts[v] += n
	}
}

// Rows are a result's rows: plugins as they first come in the trace, and of
// each its verbs.
func Rows(r campaign.Result) []Row {
	type key struct{ plugin, verb string }
	var plugins, verbs []string
	rows := map[key]*Row{}
	seen := map[string]bool{}
	for _, p := range r.Points {
		if !seen["plugin "+p.Plugin] {
			plugins = append(plugins, p.Plugin)
		}
		if !seen["verb "+p.Verb] {
			verbs = append(verbs, p.Verb)
		}
		seen["plugin "+p.Plugin], seen["verb "+p.Verb] = true, true
		k := key{p.Plugin, p.Verb}
		if rows[k] == nil {
			rows[k] = &Row{Network: r.Conflist, Plugin: p.Plugin, Verb: p.Verb, Counts: noCounts()}
		}
		rows[k].Points++
	}
	for _, c := range cellsOf(r) {
		p := r.Points[c.Point]
		row := rows[key{p.Plugin, p.Verb}]
		row.Runs++
		row.Counts[c.Verdict]++
	}
	var all []Row
	for _, plugin := range plugins {
		for _, verb := range verbs {
			if row := rows[key{plugin, verb}]; row != nil {
				all = append(all, *row)
			}
		}
	}
	return all
}

// total adds rows up.
func total(rows []Row) Row {
	t := Row{Counts: noCounts()}
	for _, row := range rows {
		t.add(row)
	}
	return t
}

// rowsOf are the rows of several results.
func rowsOf(results []campaign.Result) []Row {
	var all []Row
	for _, r := range results {
		all = append(all, Rows(r)...)
	}
	return all
}

// cellsOf are the cells that belong to a point. Others are of an older campaign
// in the same directory, whose points were not these.
func cellsOf(r campaign.Result) []campaign.Cell {
	for _, c := range r.Cells {
		if c.Point < 0 || c.Point >= len(r.Points) {
			return known(r)
		}
	}
	return r.Cells
}

func known(r campaign.Result) []campaign.Cell {
	var cells []campaign.Cell
	for _, c := range r.Cells {
		if c.Point >= 0 && c.Point < len(r.Points) {
			cells = append(cells, c)
		}
	}
	return cells
}
