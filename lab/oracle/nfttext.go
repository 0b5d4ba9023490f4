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

// parseRuleset reads what `nft list ruleset` prints: blocks in blocks, one thing
// a line, long ones broken.
func parseRuleset(out string) ([]nftItem, error) {
	var items []nftItem
	var table, block string // what is open
	head := -1              // of the open block, in items
	for line := range logicalLines(out) {
		switch {
		case line == "" || (table == "" && strings.HasPrefix(line, "#")):
		case line == "}" && block != "":
			block, head = "", -1
		case line == "}" && table != "":
			table = ""
		case strings.HasSuffix(line, " {") && table == "":
			table, _ = strings.CutPrefix(strings.TrimSuffix(line, " {"), "table ")
			items = append(items, nftItem{sort: "table", where: table})
			head = len(items) - 1
		case strings.HasSuffix(line, " {") && block == "":
			block = strings.TrimSuffix(line, " {")
			sort, name, _ := strings.Cut(block, " ")
			items = append(items, nftItem{sort: sort, where: table + " " + name})
			head = len(items) - 1
		case table == "":
			return nil, fmt.Errorf("what is %q?", line)
		case strings.HasPrefix(block, "chain ") && !isHeader(line):
			_, name, _ := strings.Cut(block, " ")
			items = append(items, nftItem{where: table + " " + name, text: sortSets(line), rule: true})
		case strings.HasPrefix(line, "elements = {"):
			of := items[head]
			for _, e := range elements(line) {
				items = append(items, nftItem{sort: "element", where: of.where, text: e})
			}
		default:
			if head < 0 {
				head = slices.IndexFunc(items, func(i nftItem) bool { return i.sort == "table" && i.where == table })
			}
			items[head].value = strings.TrimSpace(items[head].value + " " + line)
		}
	}
	if table != "" {
		return nil, fmt.Errorf("table %s does not end", table)
	}
	return items, nil
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
