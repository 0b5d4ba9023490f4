package oracle

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// nftItem is one thing in a rule set.
type nftItem struct {
	sort  string // table, chain, set, ...; "" for a rule
	where string // FAMILY TABLE, or FAMILY TABLE CHAIN
	text  string // of a rule or an element
	value string
	rule  bool
}

func (i nftItem) name() string {
	if i.rule {
		return i.where + ": " + i.text
	}
	return strings.TrimSpace(i.sort + " " + i.where + " " + i.text)
}

// ruleset is what has been read of a rule set.
type ruleset struct {
	items        []nftItem
	table, block string // what is open
	head         int    // of what is open, in items
}

// parseRuleset reads what `nft list ruleset` prints: blocks in blocks, one thing
// a line, long ones broken.
func parseRuleset(out string) ([]nftItem, error) {
	var r ruleset
	for line := range logicalLines(out) {
		switch {
		case line == "":
		case r.table == "":
			if err := r.top(line); err != nil {
				return nil, err
			}
		case r.block == "":
			r.inTable(line)
		default:
			r.inBlock(line)
		}
	}
	if r.table != "" {
		return nil, fmt.Errorf("table %s does not end", r.table)
	}
	return r.items, nil
}

func (r *ruleset) top(line string) error {
	name, isTable := strings.CutPrefix(line, "table ")
	name, isBlock := strings.CutSuffix(name, " {")
	switch {
	case strings.HasPrefix(line, "#"):
	case isTable && isBlock:
		r.table = name
		r.open(nftItem{sort: "table", where: name})
	default:
		return fmt.Errorf("what is %q?", line)
	}
	return nil
}

func (r *ruleset) open(i nftItem) {
	r.head = len(r.items)
	r.items = append(r.items, i)
}

func (r *ruleset) inTable(line string) {
	name, isBlock := strings.CutSuffix(line, " {")
	switch {
	case line == "}":
		r.table = ""
	case isBlock:
		r.block = name
		sort, name, _ := strings.Cut(name, " ")
		r.open(nftItem{sort: sort, where: r.table + " " + name})
	default:
		r.describe(line)
	}
}

func (r *ruleset) inBlock(line string) {
	chain, isChain := strings.CutPrefix(r.block, "chain ")
	switch {
	case line == "}":
		r.block = ""
		r.head = slices.IndexFunc(r.items, func(i nftItem) bool { return i.sort == "table" && i.where == r.table })
	case isChain && !isHeader(line):
		r.items = append(r.items, nftItem{where: r.table + " " + chain, text: sortSets(line), rule: true})
	case strings.HasPrefix(line, "elements = {"):
		for _, e := range elements(line) {
			r.items = append(r.items, nftItem{sort: "element", where: r.items[r.head].where, text: e})
		}
	default:
		r.describe(line)
	}
}

// describe adds a line to what is told of what is open.
func (r *ruleset) describe(line string) {
	of := &r.items[r.head]
	of.value = strings.TrimSpace(of.value + " " + line)
}

// isHeader is true for a line of a chain that is no rule.
func isHeader(line string) bool {
	return (strings.HasPrefix(line, "type ") && strings.Contains(line, " hook ")) ||
		strings.HasPrefix(line, "comment ") || line == "policy accept;" || line == "policy drop;"
}

// logicalLines joins the lines of what is broken between braces, but for those
// that open a block.
func logicalLines(out string) func(func(string) bool) {
	return func(yield func(string) bool) {
		joined := ""
		for line := range strings.Lines(out) {
			joined = strings.TrimSpace(joined + " " + strings.TrimSpace(line))
			if open := depth(joined); open > 0 && !opensBlock(joined) {
				continue
			}
			if !yield(joined) {
				return
			}
			joined = ""
		}
		if joined != "" {
			yield(joined)
		}
	}
}

func opensBlock(line string) bool {
	first, _, _ := strings.Cut(line, " ")
	return strings.HasSuffix(line, " {") && slices.Contains(blocks(), first)
}

func blocks() []string {
	return []string{"table", "chain", "set", "map", "flowtable", "counter", "quota", "limit", "ct", "synproxy", "secmark", "tunnel"}
}

// outside calls f for each byte that is not within quotes.
func outside(s string, f func(at int, c byte)) {
	quoted := false
	for i := range len(s) {
		if s[i] == '"' {
			quoted = !quoted
		} else if !quoted {
			f(i, s[i])
		}
	}
}

// depth is how many braces are open at the end.
func depth(s string) int {
	n := 0
	outside(s, func(_ int, c byte) {
		switch c {
		case '{':
			n++
		case '}':
			n--
		}
	})
	return n
}

// elements are those of a set: no two alike, in no order that means anything.
func elements(line string) []string {
	line = strings.TrimSuffix(strings.TrimPrefix(line, "elements = {"), "}")
	all := split(line)
	for n, e := range all {
		all[n] = counting().ReplaceAllString(e, "")
	}
	return all
}

// counting is what an element tells of time.
func counting() *regexp.Regexp { return regexp.MustCompile(` expires \S+`) }

// split splits at commas that are not within quotes or braces.
func split(s string) []string {
	var parts []string
	from, open := 0, 0
	outside(s, func(at int, c byte) {
		switch c {
		case '{':
			open++
		case '}':
			open--
		case ',':
			if open == 0 {
				parts = append(parts, strings.TrimSpace(s[from:at]))
				from = at + 1
			}
		}
	})
	return append(parts, strings.TrimSpace(s[from:]))
}

// sortSets sorts the sets in a rule, which the kernel gives in any order.
func sortSets(rule string) string {
	start, end := -1, -1
	outside(rule, func(at int, c byte) {
		switch {
		case c == '{' && start < 0:
			start = at
		case c == '}' && start >= 0 && end < 0:
			end = at
		}
	})
	if end < 0 {
		return rule
	}
	parts := split(rule[start+1 : end])
	slices.Sort(parts)
	return rule[:start] + "{ " + strings.Join(parts, ", ") + " }" + sortSets(rule[end+1:])
}
