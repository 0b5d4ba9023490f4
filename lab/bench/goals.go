package bench

import (
	"time"
)

// flat is how much more a median at many leases may be than at none and still
// count as the same, on a machine that does other things too.
const flat = 1.25

// goal bounds Fairlead's median of one operation in one scenario.
type goal struct {
	scenario string
	op       operation
	text     string
	// limit derives the bound from other medians; false when one is missing.
	limit func(medians) (time.Duration, bool)
}

// medians looks a median up; false when it was not measured.
type medians func(scenario string, op operation, candidate string) (time.Duration, bool)

// goals is what the project wants to reach.
func goals() []goal {
	list := []goal{
		{"bridge", opAdd, "at most 0.4 of the reference", timesOf(0.4, "bridge", opAdd, nameReference)},
		{"bridge", opDel, "at most the floor + one process start + 2 ms", aboveFloor("bridge", opDel, 2*time.Millisecond)},
	}
	for _, s := range scenarios() {
		if s.child() {
			list = append(list,
				goal{s.name, opAdd, "at most 0.6 of the reference", timesOf(0.6, s.name, opAdd, nameReference)},
				goal{s.name, opDel, "at most the reference", timesOf(1, s.name, opDel, nameReference)})
		}
	}
	for _, plugin := range []string{"bridge", "host-local"} {
		for _, leases := range []string{"/1000", "/10000"} {
			for _, op := range []operation{opAdd, opDel, opDelAgain} {
				list = append(list, goal{plugin + leases, op, "at most 1.25 of that without leases",
					timesOf(flat, plugin, op, nameFairlead)})
			}
		}
	}
	for _, s := range scenarios() {
		if s.ops[0] == opVersion {
			list = append(list, goal{s.name, opVersion, "at most 1.8 of the empty program", timesOf(1.8, s.name, opVersion, nameEmpty)})
		}
	}
	return list
}

func timesOf(factor float64, scenario string, op operation, candidate string) func(medians) (time.Duration, bool) {
	return func(m medians) (time.Duration, bool) {
		base, ok := m(scenario, op, candidate)
		return time.Duration(factor * float64(base)), ok
	}
}

func aboveFloor(scenario string, op operation, more time.Duration) func(medians) (time.Duration, bool) {
	return func(m medians) (time.Duration, bool) {
		base, ok := m(scenario, op, nameFloor)
		start, ok2 := m(scenario, op, nameEmpty)
		return base + start + more, ok && ok2
	}
}
