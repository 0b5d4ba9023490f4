package report

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"io"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/fairlead-net/fairlead/lab/campaign"
)

// parsePage reads a page as a browser does.
func parsePage(t *testing.T, page string) *html.Node {
	t.Helper()
	doc, err := html.Parse(strings.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

func elements(doc *html.Node, tag string) (all []*html.Node) {
	for n := range doc.Descendants() {
		if n.Type == html.ElementNode && n.Data == tag {
			all = append(all, n)
		}
	}
	return all
}

func attribute(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

func inside(n *html.Node) string {
	var b strings.Builder
	for d := range n.Descendants() {
		if d.Type == html.TextNode {
			b.WriteString(d.Data)
		}
	}
	return b.String()
}

// data is what the page's script reads.
func data(t *testing.T, doc *html.Node) (d pageData) {
	t.Helper()
	for _, s := range elements(doc, "script") {
		if attribute(s, "id") == "data" {
			if err := json.Unmarshal([]byte(inside(s)), &d); err != nil {
				t.Fatalf("data: %v", err)
			}
			return d
		}
	}
	t.Fatal("no data")
	return d
}

func pages(t *testing.T) map[string]string {
	t.Helper()
	bad := sample(nasty)
	bad.Kernel, bad.Version, bad.Conflist = nasty, nasty, nasty
	a, b := []campaign.Result{bad}, []campaign.Result{good("fairlead")}
	return map[string]string{
		"page":    text(t, func(w io.Writer) error { return Page(w, a) }),
		"compare": text(t, func(w io.Writer) error { return ComparePage(w, a, b) }),
		"empty":   text(t, func(w io.Writer) error { return Page(w, nil) }),
	}
}

// Whatever plugins say stays data: the page has the elements that the template
// has, and no others.
func TestPageIsWhole(t *testing.T) {
	t.Parallel()
	for name, page := range pages(t) {
		doc := parsePage(t, page)
		if scripts := elements(doc, "script"); len(scripts) != 2 {
			t.Errorf("%s: %d scripts", name, len(scripts))
		}
		for _, tag := range []string{"img", "link", "iframe", "object", "a"} {
			if all := elements(doc, tag); len(all) > 0 {
				t.Errorf("%s: %d elements %s", name, len(all), tag)
			}
		}
		for n := range doc.Descendants() {
			for _, a := range n.Attr {
				if a.Key == "src" || a.Key == "href" || strings.HasPrefix(a.Key, "on") {
					t.Errorf("%s: %s has %s=%q", name, n.Data, a.Key, a.Val)
				}
			}
		}
		for _, part := range []string{"ZgotmplZ", "@import", "url(", "json: error"} {
			if strings.Contains(page, part) {
				t.Errorf("%s: has %q", name, part)
			}
		}
		balanced(t, name, page)
		data(t, doc)
	}
}

// balanced fails when an element is not closed, or closed twice.
func balanced(t *testing.T, name, page string) {
	t.Helper()
	void := []string{"meta", "br", "input"}
	var open []string
	z := html.NewTokenizer(strings.NewReader(page))
	for {
		switch z.Next() {
		case html.ErrorToken:
			if len(open) > 0 {
				t.Errorf("%s: left open: %v", name, open)
			}
			return
		case html.StartTagToken:
			if tag, _ := z.TagName(); !slices.Contains(void, string(tag)) {
				open = append(open, string(tag))
			}
		case html.EndTagToken:
			tag, _ := z.TagName()
			if len(open) == 0 || open[len(open)-1] != string(tag) {
				t.Fatalf("%s: </%s> within %v", name, tag, open)
			}
			open = open[:len(open)-1]
		default:
		}
	}
}

func TestPageKeepsTexts(t *testing.T) {
	t.Parallel()
	d := data(t, parsePage(t, pages(t)["page"]))
	for _, want := range []string{nasty, "openat " + nasty, "ADD failed: " + nasty} {
		if !slices.Contains(d.Texts, want) {
			t.Errorf("%q is not among the texts", want)
		}
	}
	if d.Networks[0].Name != nasty || len(d.Networks[0].Sides[0].Cells) != 8 {
		t.Errorf("network %q with %d cells", d.Networks[0].Name, len(d.Networks[0].Sides[0].Cells))
	}
}

// The policy lets the page's own script run: its hash is that of the script as a
// browser sees it.
func TestPagePolicy(t *testing.T) {
	t.Parallel()
	for name, page := range pages(t) {
		doc := parsePage(t, page)
		sum := sha256.Sum256([]byte(inside(elements(doc, "script")[1])))
		want := "script-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
		policy := ""
		for _, m := range elements(doc, "meta") {
			if attribute(m, "http-equiv") != "" {
				policy = attribute(m, "content")
			}
		}
		if !strings.Contains(policy, "default-src 'none'") || !strings.Contains(policy, want) {
			t.Errorf("%s: policy %q has not %s", name, policy, want)
		}
	}
}

func TestPageCompares(t *testing.T) {
	t.Parallel()
	only := good("fairlead")
	only.Conflist = "alone"
	page := text(t, func(w io.Writer) error {
		return ComparePage(w, []campaign.Result{sample("reference")}, []campaign.Result{good("fairlead"), only})
	})
	d := data(t, parsePage(t, page))
	if len(d.Suites) != 2 || len(d.Networks) != 2 {
		t.Fatalf("%d suites, %d networks", len(d.Suites), len(d.Networks))
	}
	n := d.Networks[0]
	if len(n.Points) != 5 || len(n.Sides[0].Has) != 4 || len(n.Sides[1].Has) != 4 || len(n.Faults) != 4 {
		t.Errorf("%d points, %d and %d had, %d faults", len(n.Points), len(n.Sides[0].Has), len(n.Sides[1].Has), len(n.Faults))
	}
	if len(n.Sides[0].Cells) != 8 || len(n.Sides[1].Cells) != 6 {
		t.Errorf("%d and %d cells", len(n.Sides[0].Cells), len(n.Sides[1].Cells))
	}
	if d.Networks[1].Sides[0] != nil || d.Networks[1].Sides[1] == nil {
		t.Errorf("the second network is not of the second suite alone")
	}
	// A point's event in the trace leads to the row that both share.
	for side, s := range n.Sides {
		for _, e := range s.Traces[0].Events {
			if row := e[3]; row >= 0 && n.Points[row][3] != e[2] {
				t.Errorf("side %d: %q leads to %q", side, d.Texts[e[2]], d.Texts[n.Points[row][3]])
			}
		}
	}
}
