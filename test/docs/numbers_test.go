package docs

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// A numbering is a document that gives numbers to what it lists.
type numbering struct {
	word string // as tests have it: TestRule7...
	file string
	item *regexp.Regexp
	last int
}

func numberings() []numbering {
	listed := regexp.MustCompile(`(?m)^(\d+)\. `)
	return []numbering{
		{"Rule", "docs/rules.md", regexp.MustCompile(`(?m)^## (\d+)\. `), 24},
		{"Case", "docs/cases.md", listed, 34},
		{"Spec", "docs/conformance.md", listed, 40},
	}
}

func TestNumbersAreComplete(t *testing.T) {
	t.Parallel()
	for _, n := range numberings() {
		var got []string
		for _, m := range n.item.FindAllStringSubmatch(read(t, n.file), -1) {
			got = append(got, m[1])
		}
		var want []string
		for i := range n.last {
			want = append(want, strconv.Itoa(i+1))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s has the numbers %v, want 1 to %d in order", n.file, got, n.last)
		}
	}
}

// TestNumbersResolve: what the name of a test, or a comment, refers to by
// number can be looked up here.
func TestNumbersResolve(t *testing.T) {
	t.Parallel()
	inName := regexp.MustCompile(`(Rule|Case|Spec)0*(\d+)[A-Z]`)
	inComment := regexp.MustCompile(`//.*\b(rule|case|spec)s? (\d+)\b`)
	seen := 0
	for path, text := range goFiles(t) {
		found := inName.FindAllStringSubmatch(text, -1)
		found = append(found, inComment.FindAllStringSubmatch(text, -1)...)
		for _, m := range found {
			seen++
			if !resolves(m[1], m[2]) {
				t.Errorf("%s: %s %s is in no document", path, m[1], m[2])
			}
		}
	}
	if seen == 0 {
		t.Error("no numbers were found: has the form of their names changed?")
	}
}

func resolves(word, number string) bool {
	i, err := strconv.Atoi(number)
	for _, n := range numberings() {
		if err == nil && strings.EqualFold(n.word, word) {
			return 1 <= i && i <= n.last
		}
	}
	return false
}

// TestNamedTestsExist: a document that names a test names one that is there.
func TestNamedTestsExist(t *testing.T) {
	t.Parallel()
	declared := map[string]bool{}
	function := regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	for _, text := range goFiles(t) {
		for _, m := range function.FindAllStringSubmatch(text, -1) {
			declared[m[1]] = true
		}
	}
	named := regexp.MustCompile("`(Test\\w+)`")
	for path, text := range documents(t) {
		for _, m := range named.FindAllStringSubmatch(text, -1) {
			if !declared[m[1]] {
				t.Errorf("%s names %s, which is no test", path, m[1])
			}
		}
	}
}
