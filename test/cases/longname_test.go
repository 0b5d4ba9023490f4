package cases

import (
	"strings"
	"testing"
)

// TestLongContainerID: where a name is too long for a file there is no such
// file; and with as long an ID as there may be, all works.
func TestLongContainerID(t *testing.T) {
	t.Parallel()
	for _, most := range []int{244, 245, 246, 255} {
		s := newScene(t, network{})
		before := s.h.Snapshot()
		a := s.inList("tuning", "mtu", 1400)
		a.Container = strings.Repeat("c", most)
		r := a.MustAdd(t)
		s.healthy(a, r)
		a.MustDel(t)
		a.MustDel(t) // goes by the plan
		o := a.Itself().WithConfig("mtu", 70000, "prevResult", r).Call("ADD")
		if o.OK() {
			t.Error("an MTU of 70000")
		}
		a.MustDel(t)
		s.h.DeleteNetns(a.Netns)
		s.cleanSoon(before)
		if left := keeps(s.h.Snapshot()); len(left) > 0 {
			t.Errorf("kept: %v", left)
		}
	}
}
