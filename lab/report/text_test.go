package report

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-net/fairlead/lab/campaign"
)

// golden compares with a file in testdata; FAIRLEAD_UPDATE_GOLDEN=1 in the
// environment writes it anew.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if os.Getenv("FAIRLEAD_UPDATE_GOLDEN") != "" {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}

func text(t *testing.T, write func(io.Writer) error) string {
	t.Helper()
	var b bytes.Buffer
	if err := write(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestText(t *testing.T) {
	t.Parallel()
	second := good("reference")
	second.Conflist = "other"
	sampled := sample("reference")
	sampled.Planned = 100
	for name, c := range map[string]struct {
		results []campaign.Result
		o       Options
	}{
		"one.txt":     {results: []campaign.Result{sample("reference")}},
		"several.txt": {results: []campaign.Result{sampled, second}, o: Options{Worst: 1}},
		"narrow.txt":  {results: []campaign.Result{sample("reference")}, o: Options{Width: 60, Worst: 2}},
		"good.txt":    {results: []campaign.Result{good("fairlead")}},
		"colour.txt":  {results: []campaign.Result{sample("reference")}, o: Options{Colour: true, Worst: -1}},
		"none.txt":    {},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := text(t, func(w io.Writer) error { return Text(w, c.results, c.o) })
			if !c.o.Colour && strings.Contains(got, "\x1b") {
				t.Errorf("an escape sequence came through:\n%q", got)
			}
			golden(t, name, got)
		})
	}
}

// Many failures of the same sort are told once, and those told are bounded.
func TestWorstIsBounded(t *testing.T) {
	t.Parallel()
	r := sample("reference")
	all := r.Cells
	for range 1000 {
		r.Cells = append(r.Cells, all...)
	}
	if lines := strings.Count(worst([]campaign.Result{r}, Options{}), "\n"); lines > 60 {
		t.Errorf("%d lines", lines)
	}
	for i := range r.Cells {
		c := r.Cells[i]
		c.Steps = append([]campaign.Step(nil), c.Steps...)
		for range 50 {
			c.Steps[0].Found = append(c.Steps[0].Found, campaign.Finding{Verdict: campaign.Leak, Text: time.Duration(i).String()})
		}
		c.Verdict = campaign.Leak
		r.Cells[i] = c
	}
	if lines := strings.Count(worst([]campaign.Result{r}, Options{}), "\n"); lines > 150 {
		t.Errorf("%d lines", lines)
	}
}

func TestCompareText(t *testing.T) {
	t.Parallel()
	only := good("fairlead")
	only.Conflist = "alone"
	a, b := []campaign.Result{good("fairlead"), only}, []campaign.Result{sample("reference")}
	golden(t, "compare.txt", text(t, func(w io.Writer) error { return CompareText(w, a, b, Options{Worst: 2}) }))
	b = []campaign.Result{sample("fairlead")}
	golden(t, "compare-same.txt", text(t, func(w io.Writer) error { return CompareText(w, b, b, Options{}) }))
}

func TestJSON(t *testing.T) {
	t.Parallel()
	results := []campaign.Result{sample("reference"), good("fairlead")}
	got := text(t, func(w io.Writer) error { return JSON(w, results) })
	golden(t, "results.json", got)
	var doc Document
	if err := json.Unmarshal([]byte(got), &doc); err != nil {
		t.Fatal(err)
	}
	if doc.Version != FormatVersion || doc.Runs != 14 || doc.Counts.Bad() != 5 || len(doc.Results) != 2 {
		t.Errorf("version %d, runs %d, counts %v, %d results", doc.Version, doc.Runs, doc.Counts, len(doc.Results))
	}
	for i, n := range doc.Results {
		if diff := cmp.Diff(results[i].Cells, n.Cells); diff != "" {
			t.Errorf("cells of %s (-want +got):\n%s", n.Suite, diff)
		}
	}
}

// Cells of an older campaign, whose points were others, are left out of all.
func TestForeignCells(t *testing.T) {
	t.Parallel()
	r := sample("reference")
	r.Cells = append(r.Cells, campaign.Cell{Point: 99, Fault: "EIO", Verdict: campaign.Damage}, campaign.Cell{Point: -1})
	results := []campaign.Result{r}
	for name, write := range map[string]func(io.Writer, []campaign.Result) error{
		"text": func(w io.Writer, r []campaign.Result) error { return Text(w, r, Options{}) },
		"json": JSON, "page": Page,
		"compare": func(w io.Writer, r []campaign.Result) error { return ComparePage(w, r, r) },
	} {
		with := text(t, func(w io.Writer) error { return write(w, results) })
		without := text(t, func(w io.Writer) error { return write(w, []campaign.Result{sample("reference")}) })
		if with != without {
			t.Errorf("%s: not the same as without them", name)
		}
	}
}
