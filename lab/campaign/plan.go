package campaign

import (
	"fmt"
	"slices"
	"strings"
)

// plan lists all cells of some points, in order.
func plan(points []Point, places map[Point]place) []cellPlan {
	var all []cellPlan
	for i, p := range points {
		for _, f := range faultsAt(places[p]) {
			all = append(all, cellPlan{point: i, at: p, fault: f})
		}
	}
	return all
}

// choose keeps the cells that the user asked for.
func (o Options) choose(all []cellPlan) ([]cellPlan, error) {
	for _, name := range o.Faults {
		if !slices.ContainsFunc(allFaults(), func(f Fault) bool { return f.Name == name }) {
			return nil, fmt.Errorf("no fault is called %q: see --help for those that there are", name)
		}
	}
	chosen := slices.DeleteFunc(slices.Clone(all), func(c cellPlan) bool {
		return len(o.Faults) > 0 && !slices.Contains(o.Faults, c.fault.Name) ||
			o.Point != "" && c.at.Name() != o.Point
	})
	if len(chosen) == 0 && len(all) > 0 {
		return nil, fmt.Errorf("no point and fault is left by --point %q and --faults %q%s", o.Point, o.Faults, near(all, o.Point))
	}
	return chosen, nil
}

// near lists points that have a wanted one's text, to help whoever mistypes.
func near(all []cellPlan, point string) string {
	if point == "" {
		return ""
	}
	last := Point{}
	names := []string{}
	for _, c := range all {
		if c.at != last && len(names) < 10 && strings.Contains(c.at.Name(), strings.SplitN(point, " #", 2)[0]) {
			names = append(names, "\n  "+c.at.Name())
		}
		last = c.at
	}
	if len(names) == 0 {
		return "; run 'fairlead-lab trace --points' for their names"
	}
	return "; there are" + strings.Join(names, "")
}

// sample keeps at most count cells, the same ones each time: one fault for each
// point, another one from point to point, then every k-th of these; and fills up
// with further faults if there is room. Of a quarter of them the fault is at a
// verb's beginning, which is one point, and many things that can be otherwise.
func sample(all []cellPlan, count int) []cellPlan {
	if len(all) <= count {
		return all
	}
	keep := map[int]bool{}
	var byPoint [][]int
	var first []int
	for i, c := range all {
		if c.begins() {
			first = append(first, i)
		}
	}
	quarter := min(count/4, len(first))
	for k := range quarter {
		keep[first[k*len(first)/quarter]] = true
	}
	for i, c := range all {
		if i == 0 || all[i-1].point != c.point {
			byPoint = append(byPoint, nil)
		}
		byPoint[len(byPoint)-1] = append(byPoint[len(byPoint)-1], i)
	}
	for turn := 0; len(keep) < count; turn++ {
		var now []int
		for k, cells := range byPoint {
			if i := cells[(k+turn)%len(cells)]; turn < len(cells) && !keep[i] {
				now = append(now, i)
			}
		}
		room := count - len(keep)
		for k, i := range now {
			// Spread over all of them when not all have room.
			if len(now) <= room || k*room/len(now) != (k+1)*room/len(now) {
				keep[i] = true
			}
		}
	}
	var chosen []cellPlan
	for i, c := range all {
		if keep[i] {
			chosen = append(chosen, c)
		}
	}
	return chosen
}
