package campaign

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// An Expectation is what should be there after an ADD of a network, and what may
// stay after a DEL or a GC: written down by who knows, and not taken from calls
// without fault, which do the same wrong thing each time.
type Expectation struct {
	there []pattern // after ADD: something is like each of these
	stay  []pattern // after DEL and GC: what is new, or another, is like one of these
	lost  []pattern // after DEL: what is gone of before is like one of these
}

// A pattern is a fact and its value in one line, as findings have them, in which
// a star stands for anything.
type pattern struct {
	text string
	like *regexp.Regexp
}

// ExpectationExt is the end of the name of the file beside a network's that has
// its expectation.
const ExpectationExt = ".expect"

// LoadExpectation reads the expectation beside a network's file; nil, if there is
// none. Each of its lines is a pattern of what is there after ADD, after a plus
// sign, of what may stay, after an equals sign, or of what was there before and
// may go, after a minus sign.
func LoadExpectation(network string) (*Expectation, error) {
	path := strings.TrimSuffix(network, filepath.Ext(network)) + ExpectationExt
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("expectation: %w", err)
	}
	e, err := parseExpectation(b)
	if err != nil {
		return nil, fmt.Errorf("expectation %s: %w", path, err)
	}
	return e, nil
}

func parseExpectation(b []byte) (*Expectation, error) {
	e := &Expectation{}
	lines := bufio.NewScanner(bytes.NewReader(b))
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		sign, text, _ := strings.Cut(line, " ")
		p := newPattern(strings.TrimSpace(text))
		switch {
		case text == "":
			return nil, fmt.Errorf("line %d: no pattern in %q", n, line)
		case sign == "+":
			e.there = append(e.there, p)
		case sign == "=":
			e.stay = append(e.stay, p)
		case sign == "-":
			e.lost = append(e.lost, p)
		default:
			return nil, fmt.Errorf("line %d: %q is none of + (there after ADD), = (may stay after DEL) and - (may go)", n, sign)
		}
	}
	return e, lines.Err()
}

func newPattern(text string) pattern {
	parts := strings.Split(text, "*")
	for i := range parts {
		parts[i] = regexp.QuoteMeta(parts[i])
	}
	return pattern{text, regexp.MustCompile("(?s)^" + strings.Join(parts, ".*") + "$")}
}

// line is a fact with one of its values.
func line(k fact, value string) string {
	if value == "" {
		return k.String()
	}
	return k.String() + ": " + value
}

// differences are what a verb without fault makes otherwise than it should.
func (e *Expectation) differences(verb string, m measure) []string {
	if e == nil {
		return nil
	}
	var all []string
	if verb == verbAdd {
		for _, p := range e.there {
			if !p.matches(m.added) {
				all = append(all, "after a clean ADD is not there: "+p.text)
			}
		}
	}
	for _, k := range m.before.sorted() {
		// In the course of GC the container dies, and its namespace is another one.
		if verb != verbGC && m.kept[k].count < m.before[k].count && !anyLike(e.lost, line(k, m.before[k].String())) {
			all = append(all, "after a clean DEL is gone: "+k.String())
		}
	}
	for _, group := range []string{verbDel, verbGC} {
		for _, text := range e.strays(m.rest[group], m.before) {
			all = append(all, fmt.Sprintf("after a clean %s stays: %s", group, text))
		}
	}
	return all
}

// strays are what is there, was not before, and may not be.
func (e *Expectation) strays(rest, before facts) []string {
	var all []string
	for _, k := range rest.sorted() {
		for value := range rest[k].values {
			more := rest[k].count > before[k].count
			if text := line(k, value); (more || !before[k].values[value]) && !anyLike(e.stay, text) {
				all = append(all, text)
			}
		}
	}
	return all
}

func (p pattern) matches(all facts) bool {
	for k, h := range all {
		for value := range h.values {
			if p.like.MatchString(line(k, value)) {
				return true
			}
		}
	}
	return false
}

func anyLike(all []pattern, text string) bool {
	return slices.ContainsFunc(all, func(p pattern) bool { return p.like.MatchString(text) })
}
