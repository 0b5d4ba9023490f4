package report

import (
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"path"
	"strings"

	"github.com/fairlead-net/fairlead/lab/campaign"
)

//go:embed page
var pageFiles embed.FS

// Page writes results as one HTML page: all that it needs is in it.
func Page(w io.Writer, results []campaign.Result) error {
	names := []string{"no results"}
	if len(results) > 0 {
		names[0] = label(results[0])
	}
	return writePage(w, names, [][]campaign.Result{results}, alone(results))
}

// ComparePage writes the page of two suites side by side.
func ComparePage(w io.Writer, a, b []campaign.Result) error {
	return writePage(w, labels(a, b), [][]campaign.Result{a, b}, beside(a, b))
}

// A pageSuite is a line of the page's header.
type pageSuite struct {
	Name, Lab, Kernel, Started, Elapsed, Points, Runs string
	Short                                             bool
	Counts                                            []pageCount
}

type pageCount struct {
	Verdict campaign.Verdict
	Text    string
	Some    bool
}

func writePage(w io.Writer, names []string, suites [][]campaign.Result, pairs []pair) error {
	style, err := pageParts("style.css")
	if err != nil {
		return err
	}
	script, err := pageParts("data.js", "matrix.js", "summary.js", "panel.js", "main.js")
	if err != nil {
		return err
	}
	sum := sha256.Sum256([]byte(script))
	// Marshal escapes what could end a script element or begin a comment in it.
	data, err := json.Marshal(newPageData(names, pairs))
	if err != nil {
		return fmt.Errorf("report's page: %w", err)
	}
	var heads []pageSuite
	for i, results := range suites {
		heads = append(heads, suiteHead(names[i], results))
	}
	t, err := template.ParseFS(pageFiles, "page/page.html")
	if err != nil {
		return fmt.Errorf("report's page: %w", err)
	}
	// What may run is this script and no other, whatever the data hold.
	err = t.Execute(w, map[string]any{
		"Title":    "Fault lab: " + strings.Join(names, " beside "),
		"Hash":     base64.StdEncoding.EncodeToString(sum[:]),
		"Style":    template.CSS(style),
		"Script":   template.JS(script),
		"Suites":   heads,
		"Outcomes": outcomes(),
		"Data":     template.JS(data),
	})
	if err != nil {
		return fmt.Errorf("report's page: %w", err)
	}
	return nil
}

// pageParts joins embedded files.
func pageParts(names ...string) (string, error) {
	var b strings.Builder
	for _, name := range names {
		text, err := pageFiles.ReadFile(path.Join("page", name))
		if err != nil {
			return "", fmt.Errorf("report's page: %w", err)
		}
		b.WriteString("\n")
		b.Write(text)
	}
	return b.String(), nil
}

func suiteHead(name string, results []campaign.Result) pageSuite {
	sum := total(rowsOf(results))
	s := pageSuite{Name: name, Points: number(sum.Points), Runs: number(sum.Runs), Elapsed: elapsed(results).String()}
	if all := planned(results); all > sum.Runs {
		s.Runs += " of " + number(all)
	}
	for i, r := range results {
		s.Short = s.Short || r.Short
		if i == 0 {
			s.Lab, s.Kernel, s.Started = r.Lab, r.Kernel, r.Started.UTC().Format("2006-01-02 15:04 UTC")
		} else if r.Kernel != results[0].Kernel && !strings.HasSuffix(s.Kernel, " and others") {
			s.Kernel += " and others"
		}
	}
	for _, c := range outcomes() {
		n := sum.Counts[c.Verdict]
		s.Counts = append(s.Counts, pageCount{Verdict: c.Verdict, Text: number(n), Some: n > 0})
	}
	return s
}
