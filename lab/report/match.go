package report

import (
	"slices"

	"github.com/fairlead-net/fairlead/lab/campaign"
)

// A pair is a network of one suite beside that of another, or alone: sides are
// one, or two of which one may be missing.
type pair struct {
	Name   string
	Sides  []*campaign.Result
	Points []match
	Faults []string
}

// A match is a point and where each side has it; -1 where it has not.
type match struct {
	Point campaign.Point
	At    []int
}

// alone are results by themselves.
func alone(results []campaign.Result) []pair {
	var all []pair
	for i := range results {
		p := pair{Name: results[i].Conflist, Sides: []*campaign.Result{&results[i]}, Faults: results[i].Faults}
		for k, point := range results[i].Points {
			p.Points = append(p.Points, match{Point: point, At: []int{k}})
		}
		all = append(all, p)
	}
	return all
}

// beside matches networks by name: those of a, then those that only b has.
func beside(a, b []campaign.Result) []pair {
	var all []pair
	used := map[int]bool{}
	for i := range a {
		p := pair{Name: a[i].Conflist, Sides: []*campaign.Result{&a[i], nil}}
		for k := range b {
			if !used[k] && b[k].Conflist == a[i].Conflist {
				used[k] = true
				p.Sides[1] = &b[k]
				break
			}
		}
		all = append(all, p)
	}
	for k := range b {
		if !used[k] {
			all = append(all, pair{Name: b[k].Conflist, Sides: []*campaign.Result{nil, &b[k]}})
		}
	}
	for i := range all {
		all[i].match()
	}
	return all
}

// match finds which points of the sides are one. What the second side has more
// comes after what it has before it, within its verb.
func (p *pair) match() {
	var left, right []campaign.Point
	if p.Sides[0] != nil {
		left, p.Faults = p.Sides[0].Points, slices.Clone(p.Sides[0].Faults)
	}
	if p.Sides[1] != nil {
		right = p.Sides[1].Points
		p.Faults = merge(p.Faults, p.Sides[1].Faults)
	}
	partner := partners(left, right)
	after := map[int][]int{} // of a place in left, -1 for the beginning: places in right
	last := -1
	for k, point := range right {
		if i := partner[k]; i >= 0 {
			last = i
			continue
		}
		if last < 0 || left[last].Verb != point.Verb {
			last = before(left, point.Verb, last)
		}
		after[last] = append(after[last], k)
	}
	mine := map[int]int{}
	for k, i := range partner {
		if i >= 0 {
			mine[i] = k
		}
	}
	put := func(places []int) {
		for _, k := range places {
			p.Points = append(p.Points, match{Point: right[k], At: []int{-1, k}})
		}
	}
	put(after[-1])
	for i, point := range left {
		at := []int{i, -1}
		if k, ok := mine[i]; ok {
			at[1] = k
		}
		p.Points = append(p.Points, match{Point: point, At: at})
		put(after[i])
	}
}

// before is the place before a verb's points; where it has none, where one was.
func before(points []campaign.Point, verb string, otherwise int) int {
	if i := slices.IndexFunc(points, func(p campaign.Point) bool { return p.Verb == verb }); i >= 0 {
		return i - 1
	}
	if otherwise < 0 {
		return len(points) - 1
	}
	for otherwise+1 < len(points) && points[otherwise+1].Verb == points[otherwise].Verb {
		otherwise++
	}
	return otherwise
}

// partners tells for each point of right its like in left, or -1: first the very
// same point, then one of another program of the same plugin that asks the same.
func partners(left, right []campaign.Point) []int {
	partner := make([]int, len(right))
	for k := range partner {
		partner[k] = -1
	}
	taken := map[int]bool{}
	for _, exact := range []bool{true, false} {
		key := func(p campaign.Point) campaign.Point {
			if !exact {
				p.Program = ""
			}
			return p
		}
		free := map[campaign.Point][]int{}
		for i, p := range left {
			if !taken[i] {
				free[key(p)] = append(free[key(p)], i)
			}
		}
		for k, p := range right {
			if at := free[key(p)]; partner[k] < 0 && len(at) > 0 {
				partner[k], taken[at[0]] = at[0], true
				free[key(p)] = at[1:]
			}
		}
	}
	return partner
}

// merge adds to a list what only another has, each after what it comes after
// there.
func merge(a, b []string) []string {
	all := slices.Clone(a)
	at := 0
	for _, s := range b {
		if i := slices.Index(all, s); i >= 0 {
			at = i + 1
			continue
		}
		all = slices.Insert(all, at, s)
		at++
	}
	return all
}

// A meeting is a point and a fault that both sides ran.
type meeting struct {
	pair pair
	at   match
	cell [2]campaign.Cell
}

// meetings are all of them, in the order of points and faults.
func meetings(pairs []pair) []meeting {
	type key struct {
		point int
		fault string
	}
	var all []meeting
	for _, p := range pairs {
		if p.Sides[0] == nil || p.Sides[1] == nil {
			continue
		}
		var cells [2]map[key]campaign.Cell
		for side, r := range p.Sides {
			cells[side] = map[key]campaign.Cell{}
			for _, c := range cellsOf(*r) {
				cells[side][key{c.Point, c.Fault}] = c
			}
		}
		for _, m := range p.Points {
			for _, fault := range p.Faults {
				a, in := cells[0][key{m.At[0], fault}]
				b, too := cells[1][key{m.At[1], fault}]
				if in && too {
					all = append(all, meeting{pair: p, at: m, cell: [2]campaign.Cell{a, b}})
				}
			}
		}
	}
	return all
}
