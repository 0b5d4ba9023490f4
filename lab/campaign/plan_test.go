package campaign

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// somePlan has points of different sorts.
func somePlan(points int) ([]Point, []cellPlan) {
	sorts := []sort{sortWrite, sortGet, sortUnlink, sortMake, sortReceive}
	var all []Point
	places := map[Point]place{}
	for i := range points {
		p := Point{Verb: verbDel, Plugin: "x", Program: "x", Text: fmt.Sprintf("call %d", i), Occurrence: 1}
		all = append(all, p)
		places[p] = place{sort: sorts[i%len(sorts)]}
	}
	return all, plan(all, places)
}

func TestPlanIsInOrder(t *testing.T) {
	t.Parallel()
	points, cells := somePlan(10)
	column := FaultNames()
	for i, c := range cells {
		if c.at != points[c.point] {
			t.Errorf("cell %d is at %s, and its number is that of %s", i, c.at.Name(), points[c.point].Name())
		}
		if i == 0 {
			continue
		}
		b := cells[i-1]
		if c.point < b.point || c.point == b.point && slices.Index(column, c.fault.Name) <= slices.Index(column, b.fault.Name) {
			t.Errorf("cell %d is before the one before", i)
		}
	}
}

func TestSample(t *testing.T) {
	t.Parallel()
	points, cells := somePlan(40)
	for _, count := range []int{1, 7, len(points), len(points) + 3, len(cells) - 1, len(cells), len(cells) + 10} {
		got := sample(cells, count)
		if want := min(count, len(cells)); len(got) != want {
			t.Errorf("of %d cells, %d asked for: %d", len(cells), count, len(got))
		}
		if again := sample(cells, count); !slices.EqualFunc(got, again, func(a, b cellPlan) bool { return a.point == b.point && a.fault.Name == b.fault.Name }) {
			t.Errorf("%d: another sample the second time", count)
		}
		at := map[int]bool{}
		for _, c := range got {
			at[c.point] = true
		}
		if len(at) != min(count, len(points)) {
			t.Errorf("%d cells are of %d points", count, len(at))
		}
	}
	kinds := map[string]bool{}
	for _, c := range sample(cells, len(points)) {
		kinds[c.fault.Name] = true
	}
	if len(kinds) < 8 {
		t.Errorf("a sample has only the faults %v", kinds)
	}
}

func TestChoose(t *testing.T) {
	t.Parallel()
	points, cells := somePlan(10)
	for _, c := range []struct {
		o    Options
		want int
		says string
	}{
		{Options{}, len(cells), ""},
		{Options{Point: points[1].Name(), Faults: []string{"ENOBUFS", "EACCES"}}, 2, ""},
		{Options{Faults: []string{"EWHAT"}}, 0, `no fault is called "EWHAT"`},
		{Options{Point: "DEL x call 3 #7"}, 0, "there are\n  DEL x call 3 #1"},
		{Options{Point: "nowhere"}, 0, "trace --points"},
	} {
		got, err := c.o.choose(cells)
		if c.says == "" && (err != nil || len(got) != c.want) || c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says)) {
			t.Errorf("%+v: %d cells, %v", c.o, len(got), err)
		}
	}
}

// TestSampleHasBeginnings: some of what can be otherwise before a verb is in each
// sample, and the number of cells is as asked.
func TestSampleHasBeginnings(t *testing.T) {
	t.Parallel()
	points, _ := somePlan(400)
	places := map[Point]place{}
	for _, p := range points {
		places[p] = place{sort: sortUnlink}
	}
	begin := Point{Verb: verbDel, Plugin: "x", Program: "x", Text: beginText, Occurrence: 1}
	var worlds []string
	for _, f := range sceneFaults() {
		worlds = append(worlds, f.Name)
	}
	places[begin] = place{sort: sortBegin, scenes: worlds}
	got := sample(plan(append([]Point{begin}, points...), places), 40)
	first := 0
	for _, c := range got {
		if c.begins() {
			first++
		}
	}
	if len(got) != 40 || first != 10 {
		t.Errorf("%d cells, %d of them at the beginning", len(got), first)
	}
}
