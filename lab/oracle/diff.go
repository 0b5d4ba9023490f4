package oracle

import (
	"fmt"
	"slices"
	"strings"
)

// Changes is how two pictures differ.
type Changes struct {
	Gone, New []Item
	Changed   []Change
}

// A Change is a thing that was there and is there, but not as it was.
type Change struct {
	Item        // as it is
	Was  string // its value before
}

func (c Change) String() string {
	i := c.Item
	i.Value = ""
	return fmt.Sprintf("%s: %s, was %s", i, orNothing(c.Value), orNothing(c.Was))
}

func orNothing(s string) string {
	if s == "" {
		return "(nothing)"
	}
	return s
}

// Empty tells whether there is no difference.
func (c Changes) Empty() bool { return len(c.Gone)+len(c.New)+len(c.Changed) == 0 }

// String is one line for each: "- " what is gone, "+ " what is new, "~ " what has
// changed.
func (c Changes) String() string {
	var b strings.Builder
	for _, i := range c.Gone {
		b.WriteString("- " + i.String() + "\n")
	}
	for _, i := range c.New {
		b.WriteString("+ " + i.String() + "\n")
	}
	for _, i := range c.Changed {
		b.WriteString("~ " + i.String() + "\n")
	}
	return b.String()
}

// Without leaves out the changes that other has too: with the changes that a
// clean run makes, what is left is what a clean run does not do.
func (c Changes) Without(other Changes) Changes {
	return Changes{
		Gone:    subtract(c.Gone, other.Gone),
		New:     subtract(c.New, other.New),
		Changed: subtract(c.Changed, other.Changed),
	}
}

// subtract takes each of b out of a once.
func subtract[T comparable](a, b []T) []T {
	count := map[T]int{}
	for _, x := range b {
		count[x]++
	}
	var left []T
	for _, x := range a {
		if count[x] > 0 {
			count[x]--
			continue
		}
		left = append(left, x)
	}
	return left
}

// thing is what stays the same when a value changes.
type thing struct{ kind, where, name string }

// Diff compares two pictures. Of a namespace that only one of them has, what
// every namespace has is not told.
func Diff(before, after Picture) Changes {
	var c Changes
	was, is := before.things(after), after.things(before)
	for t, olds := range was {
		olds, news := withoutSame(olds, is[t])
		for len(olds) > 0 && len(news) > 0 {
			c.Changed = append(c.Changed, Change{Item: news[0].Item, Was: olds[0].Value})
			olds, news = olds[1:], news[1:]
		}
		for _, f := range olds {
			c.Gone = append(c.Gone, f.Item)
		}
		is[t] = news
	}
	for _, news := range is {
		for _, f := range news {
			c.New = append(c.New, f.Item)
		}
	}
	slices.SortFunc(c.Gone, Item.compare)
	slices.SortFunc(c.New, Item.compare)
	slices.SortFunc(c.Changed, func(a, b Change) int { return a.compare(b.Item) })
	return c
}

// things are the picture's facts by what they are of, without those that follow
// from there being a namespace that other has not.
func (p Picture) things(other Picture) map[thing][]fact {
	known := map[string]bool{}
	for _, f := range other.facts {
		known[f.Where] = true
	}
	m := map[thing][]fact{}
	for _, f := range p.facts {
		if f.native && !known[f.Where] {
			continue
		}
		t := thing{f.Kind, f.Where, f.Name}
		m[t] = append(m[t], f)
	}
	return m
}

// withoutSame takes out of both what is the same, each once.
func withoutSame(olds, news []fact) (gone, come []fact) {
	news = slices.Clone(news)
	for _, o := range olds {
		same := func(n fact) bool {
			return o.Value == n.Value || (o.exact != "" && o.exact == n.exact)
		}
		if i := slices.IndexFunc(news, same); i >= 0 {
			news = slices.Delete(news, i, i+1)
			continue
		}
		gone = append(gone, o)
	}
	return gone, news
}
