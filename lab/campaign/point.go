package campaign

import (
	"regexp"
	"strings"
	"sync"
)

// A normaliser makes the text of an event the same in every run. Every run has
// the same container ID, namespace path and addresses, on a host that is as new
// as any other; what is left are the parts that a plugin or the kernel draws.
type normaliser struct {
	rules []rewrite
	// plain are texts with nothing drawn in them: nearly all that a picture has,
	// and the next one again.
	plain sync.Map
}

type rewrite struct {
	drawn *regexp.Regexp
	as    string
}

func newNormaliser() *normaliser {
	n := &normaliser{}
	for _, r := range []struct{ drawn, as string }{
		{`/proc/\d+/task/\d+`, `/proc/*/task/*`},
		{`/proc/\d+`, `/proc/*`},
		{`/fd/\d+`, `/fd/*`},
		{`\b(?:[0-9a-f]{2}:){5}[0-9a-f]{2}\b`, `MAC`},
		{`\b\d{4}-\d\d-\d\dT[0-9:.]+(?:Z|[+-]\d\d:\d\d)`, `TIME`},
		{`\bfe80::[0-9a-f:]+`, `fe80::*`},
		{`\b(veth|tmp|dev)[0-9a-f]{4,}\b`, `$1*`},
		// Hashes of what is drawn, and random ends, as os.CreateTemp makes them.
		{`\b[0-9a-f]{12,}\b`, `*`},
		{`\d{6,}`, `*`},
	} {
		n.rules = append(n.rules, rewrite{regexp.MustCompile(r.drawn), r.as})
	}
	return n
}

func (n *normaliser) normalise(text string) string { return strings.TrimSpace(n.replace(text)) }

// maxPlain is the longest text that is remembered. Longer ones are journals and
// logs, each of which is seen once.
const maxPlain = 80

func (n *normaliser) replace(text string) string {
	if _, ok := n.plain.Load(text); ok {
		return text
	}
	as := text
	for _, r := range n.rules {
		as = r.drawn.ReplaceAllString(as, r.as)
	}
	if as == text && len(text) <= maxPlain {
		n.plain.Store(text, nil)
	}
	return as
}

// beginText is the text of a verb's first point, which is before its first call.
const beginText = "begin"

// pointKey is a Point without its occurrence.
type pointKey struct{ verb, plugin, program, text string }

// A counter numbers the occurrences of what comes by.
type counter struct{ seen map[pointKey]int }

func newCounter() *counter { return &counter{seen: map[pointKey]int{}} }

// next is the point that an event of a verb's course is.
func (c *counter) next(verb, plugin, program, text string) Point {
	k := pointKey{verb, plugin, program, text}
	c.seen[k]++
	return Point{Verb: verb, Plugin: plugin, Program: program, Text: text, Occurrence: c.seen[k]}
}
