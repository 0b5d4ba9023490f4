package report

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/fairlead-net/fairlead/lab/campaign"
)

// FormatVersion is that of Document. It changes when a field is taken away or
// means something else; new ones may come without.
const FormatVersion = 1

// A Document is what JSON writes.
type Document struct {
	Version int       `json:"version"` // FormatVersion
	Runs    int       `json:"runs"`
	Counts  Counts    `json:"counts"` // of all networks together
	Results []Network `json:"results"`
}

// A Network is the result of one network: all fields of a campaign.Result (times
// are RFC 3339, durations nanoseconds), what they add up to, and its cells.
// A cell's point is an index in points.
type Network struct {
	campaign.Result
	Counts Counts          `json:"counts"`
	Rows   []Row           `json:"rows"` // by plugin and verb
	Cells  []campaign.Cell `json:"cells"`
}

// JSON writes results as one Document, indented, always in the same order.
func JSON(w io.Writer, results []campaign.Result) error {
	doc := Document{Version: FormatVersion, Counts: noCounts(), Results: []Network{}}
	for _, r := range results {
		rows := Rows(r)
		sum := total(rows)
		doc.Results = append(doc.Results, Network{Result: r, Counts: sum.Counts, Rows: rows, Cells: cellsOf(r)})
		doc.Runs += sum.Runs
		for v, n := range sum.Counts {
			doc.Counts[v] += n
		}
	}
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	if err := e.Encode(doc); err != nil {
		return fmt.Errorf("report as JSON: %w", err)
	}
	return nil
}
